package dev.sandboxengine;

import static dev.sandboxengine.Calls.guarded;

import com.google.protobuf.ByteString;
import dev.sandboxengine.v1.DestroySandboxRequest;
import dev.sandboxengine.v1.ExecExit;
import dev.sandboxengine.v1.ExecRequest;
import dev.sandboxengine.v1.ExecStart;
import dev.sandboxengine.v1.ForkSandboxRequest;
import dev.sandboxengine.v1.ReadFileRequest;
import dev.sandboxengine.v1.ReadFileResponse;
import dev.sandboxengine.v1.WriteFileDone;
import dev.sandboxengine.v1.WriteFileRequest;
import dev.sandboxengine.v1.WriteFileResponse;
import dev.sandboxengine.v1.WriteFileStart;
import io.grpc.stub.BlockingClientCall;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;

/** A handle of one sandbox. Closing it destroys the sandbox where it was made by this client. */
public final class Sandbox implements AutoCloseable {
  /** The most bytes that one message of a file or of input carries. */
  public static final int PIECE = 64 << 10;

  private final Client client;
  private final dev.sandboxengine.v1.Sandbox info;
  private boolean owned;

  Sandbox(Client client, dev.sandboxengine.v1.Sandbox info, boolean owned) {
    this.client = client;
    this.info = info;
    this.owned = owned;
  }

  /** What a command came to, with all it wrote. */
  public record Result(byte[] out, byte[] err, ExecExit exit) {}

  /** Its name. */
  public String id() {
    return info.getId();
  }

  /** What the engine said when it was made; only the id in a handle from Client.sandbox. */
  public dev.sandboxengine.v1.Sandbox info() {
    return info;
  }

  /** Starts a command; {@code start.input} says whether it gets input. */
  public Process exec(ExecStart start) {
    return exec(start, null);
  }

  /**
   * Starts a command.
   *
   * @param deadline of the call, from now, or null; the command is killed when it passes
   */
  public Process exec(ExecStart start, Duration deadline) {
    var guests = client.guests();
    var call = (deadline == null ? guests : guests.withDeadlineAfter(deadline)).exec();
    var whole = start.toBuilder().setSandboxId(id());
    var request = ExecRequest.newBuilder().setStart(whole).build();
    // Where this is not taken, the call has failed already, and reading says why.
    guarded(() -> call.write(request));
    return new Process(call);
  }

  /** Runs a shell script to its end and collects both outputs. */
  public Result run(String script) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    try {
      var start = ExecStart.newBuilder().addArgv(script).setShell(true).build();
      ExecExit exit = exec(start).waitFor(out, err);
      return new Result(out.toByteArray(), err.toByteArray(), exit);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  /** Reads a whole file. */
  public byte[] readFile(String path) {
    var request = ReadFileRequest.newBuilder().setSandboxId(id()).setPath(path).build();
    var call = client.guests().readFile(request);
    ByteString data = ByteString.EMPTY;
    for (ReadFileResponse piece; (piece = guarded(call::read)) != null; ) {
      data = data.concat(piece.getData());
    }
    return data.toByteArray();
  }

  /** Writes a whole file and makes its parents. */
  public void writeFile(String path, byte[] data) {
    var call = client.guests().writeFile();
    var start = WriteFileStart.newBuilder().setSandboxId(id()).setPath(path).setParents(true);
    boolean open = put(call, WriteFileRequest.newBuilder().setStart(start).build());
    for (int at = 0; open && at < data.length; at += PIECE) {
      var piece = ByteString.copyFrom(data, at, Math.min(PIECE, data.length - at));
      open = put(call, WriteFileRequest.newBuilder().setData(piece).build());
    }
    if (open) {
      put(call, WriteFileRequest.newBuilder().setDone(WriteFileDone.getDefaultInstance()).build());
    }
    call.halfClose();
    guarded(call::read);
  }

  private static boolean put(
      BlockingClientCall<WriteFileRequest, WriteFileResponse> call, WriteFileRequest request) {
    return guarded(() -> call.write(request));
  }

  /** Children that begin as copies of this sandbox, memory included; closing destroys each. */
  public List<Sandbox> fork(ForkSandboxRequest request) {
    var whole =
        request.toBuilder().setSandboxId(id()).setCount(Math.max(1, request.getCount())).build();
    var made = guarded(() -> client.sandboxes().forkSandbox(whole));
    return made.getChildrenList().stream()
        .map(child -> new Sandbox(client, child.getSandbox(), true))
        .toList();
  }

  /** Leaves it to its lease: closing the handle does not destroy it any more. */
  public void keep() {
    owned = false;
  }

  /** Destroys it; one that is gone already is no error. */
  public void destroy() {
    var request =
        DestroySandboxRequest.newBuilder().setSandboxId(id()).setAllowMissing(true).build();
    guarded(() -> client.sandboxes().destroySandbox(request));
    owned = false;
  }

  @Override
  public void close() {
    if (owned) {
      destroy();
    }
  }
}
