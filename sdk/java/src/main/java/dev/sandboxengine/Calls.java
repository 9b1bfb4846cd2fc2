package dev.sandboxengine;

import io.grpc.StatusException;

/** Makes the exceptions of gRPC's stubs the one of this package. */
final class Calls {
  private Calls() {}

  /** A call of a generated stub. */
  interface Call<T> {
    T make() throws StatusException, InterruptedException;
  }

  static <T> T guarded(Call<T> call) {
    try {
      return call.make();
    } catch (StatusException failure) {
      throw SandboxException.of(failure);
    } catch (InterruptedException interrupted) {
      throw SandboxException.interrupted(interrupted);
    }
  }
}
