package dev.sandboxengine;

import static dev.sandboxengine.Calls.guarded;

import com.google.protobuf.ByteString;
import dev.sandboxengine.v1.ExecCloseInput;
import dev.sandboxengine.v1.ExecExit;
import dev.sandboxengine.v1.ExecInput;
import dev.sandboxengine.v1.ExecRequest;
import dev.sandboxengine.v1.ExecResponse;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.io.OutputStream;

/**
 * A command that runs. One thread may read while another writes. Closing it ends the call: a
 * command that still runs is killed.
 */
public final class Process implements AutoCloseable {
  private final BlockingClientCall<ExecRequest, ExecResponse> call;

  Process(BlockingClientCall<ExecRequest, ExecResponse> call) {
    this.call = call;
  }

  /** What comes next: started, output of either kind, the exit; null behind it. */
  public ExecResponse next() {
    return guarded(call::read);
  }

  /** Sends input, in pieces; waits while the command does not read. */
  public void write(byte[] data) {
    for (int at = 0; at < data.length; at += Sandbox.PIECE) {
      var piece = ByteString.copyFrom(data, at, Math.min(Sandbox.PIECE, data.length - at));
      send(ExecRequest.newBuilder().setInput(ExecInput.newBuilder().setData(piece)).build());
    }
  }

  /** Ends the input; output goes on. */
  public void closeInput() {
    var end = ExecCloseInput.getDefaultInstance();
    send(ExecRequest.newBuilder().setCloseInput(end).build());
  }

  private void send(ExecRequest request) {
    if (!guarded(() -> call.write(request))) {
      throw SandboxException.ended("the call has ended; next() says why");
    }
  }

  /** Copies outputs as they come until the command has ended; a null stream drops them. */
  public ExecExit waitFor(OutputStream out, OutputStream err) throws IOException {
    try (this) {
      for (ExecResponse event = next(); event != null; event = next()) {
        switch (event.getMessageCase()) {
          case OUT -> put(out, event.getOut().getData());
          case ERR -> put(err, event.getErr().getData());
          case EXIT -> {
            return event.getExit();
          }
          default -> { }
        }
      }
    }
    throw SandboxException.ended("the command's exit was not told");
  }

  private static void put(OutputStream stream, ByteString data) throws IOException {
    if (stream != null) {
      data.writeTo(stream);
      stream.flush();
    }
  }

  @Override
  public void close() {
    call.cancel("closed by its client", null);
  }
}
