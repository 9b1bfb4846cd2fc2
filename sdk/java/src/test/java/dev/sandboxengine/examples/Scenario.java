package dev.sandboxengine.examples;

import com.google.protobuf.Duration;
import dev.sandboxengine.Client;
import dev.sandboxengine.Process;
import dev.sandboxengine.Sandbox;
import dev.sandboxengine.SandboxException;
import dev.sandboxengine.v1.CreateSandboxRequest;
import dev.sandboxengine.v1.ExecExit;
import dev.sandboxengine.v1.ExecResponse;
import dev.sandboxengine.v1.ExecStart;
import dev.sandboxengine.v1.ForkSandboxRequest;
import dev.sandboxengine.v1.SandboxState;
import io.grpc.Status;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/** Plays tests/conformance/scenario.yaml and says each step that passed. */
public final class Scenario {
  private static final int PATTERN_SIZE = 1 << 20;
  private static final String PATTERN_SHA256 =
      "f6a34d4c79c3d12c297589206bf216b084347471a53ea5e7fe9a46bd1230f098";
  private static final java.time.Duration PATIENCE = java.time.Duration.ofSeconds(60);

  private final String target;
  private Client client;
  private Sandbox sandbox;

  private Scenario(String target) {
    this.target = target;
    this.client = Client.connect(target);
  }

  /** One step; whatever it throws is what was seen. */
  private interface Step {
    void play() throws Exception;
  }

  public static void main(String[] args) {
    System.exit(new Scenario("unix:" + System.getenv("SANDBOX_GRPC_SOCKET")).play());
  }

  private int play() {
    Map<String, Step> steps = new LinkedHashMap<>();
    steps.put("create", this::create);
    steps.put("live_exec", this::liveExec);
    steps.put("binary", this::binary);
    steps.put("error", this::error);
    steps.put("cancel", this::cancel);
    steps.put("fork", this::fork);
    steps.put("deadline", this::deadline);
    steps.put("reconnect", this::reconnect);
    try {
      for (var step : steps.entrySet()) {
        if (!passes(step.getKey(), step.getValue())) {
          return 1;
        }
        System.out.println("ok " + step.getKey());
      }
    } finally {
      client.close();
    }
    return 0;
  }

  private boolean passes(String name, Step step) {
    try {
      step.play();
      return true;
    } catch (Exception | AssertionError seen) {
      System.out.println("fail " + name + ": " + seen);
      if (sandbox != null) {
        sandbox.destroy();
      }
      return false;
    }
  }

  private static void check(boolean holds, Object seen) {
    if (!holds) {
      throw new AssertionError(seen);
    }
  }

  /** What a call that must fail fails with. */
  private static SandboxException failure(Callable<?> call) throws Exception {
    try {
      call.call();
    } catch (SandboxException failure) {
      return failure;
    }
    throw new AssertionError("a call that must fail did not");
  }

  private static byte[] pattern() {
    byte[] made = new byte[PATTERN_SIZE];
    for (int i = 0; i < made.length; i++) {
      made[i] = (byte) ((i * 31 + (i >> 8)) % 256);
    }
    return made;
  }

  private static ExecStart script(String text, boolean input) {
    return ExecStart.newBuilder().addArgv(text).setShell(true).setInput(input).build();
  }

  private static Duration seconds(long seconds) {
    return Duration.newBuilder().setSeconds(seconds).build();
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static String run(Sandbox box, String script) {
    var result = box.run(script);
    check(result.exit().getCode() == 0, script + " ended with " + result.exit());
    return text(result.out());
  }

  private static void outputUntil(Process process, String wanted) {
    var out = new StringBuilder();
    while (out.length() < wanted.length()) {
      ExecResponse event = process.next();
      check(event != null && !event.hasExit(), "ended before " + wanted);
      out.append(event.getOut().getData().toStringUtf8());
    }
    check(out.toString().equals(wanted), out);
  }

  private void create() {
    var request =
        CreateSandboxRequest.newBuilder()
            .setTemplate("base")
            .setRequestId("java-" + UUID.randomUUID())
            .setTtl(seconds(300))
            .setPoolWait(seconds(120))
            .setClaimRef("conformance")
            .build();
    sandbox = client.create(request);
    check(sandbox.id().startsWith("sb_"), sandbox.id());
    check(sandbox.info().getState() == SandboxState.SANDBOX_STATE_RUNNING, sandbox.info());
    check(sandbox.info().getTemplate().equals("base"), sandbox.info());
    try (Sandbox again = client.create(request)) {
      again.keep();
      check(again.id().equals(sandbox.id()), again.id());
    }
  }

  private void liveExec() throws Exception {
    var start = script("echo first; read line; echo \"got $line\"; echo problem >&2; exit 7", true);
    try (Process process = sandbox.exec(start)) {
      outputUntil(process, "first\n");
      process.write("second\n".getBytes(StandardCharsets.UTF_8));
      process.closeInput();
      var out = new ByteArrayOutputStream();
      var err = new ByteArrayOutputStream();
      ExecExit exit = process.waitFor(out, err);
      check(text(out.toByteArray()).equals("got second\n"), out);
      check(text(err.toByteArray()).equals("problem\n"), err);
      check(exit.getCode() == 7 && exit.getSignal() == 0, exit);
      check(!exit.getTimedOut() && !exit.getTruncated(), exit);
      check(exit.getOutTotal() == 17 && exit.getErrTotal() == 8, exit);
    }
  }

  private void binary() throws Exception {
    byte[] data = pattern();
    var back = new ByteArrayOutputStream();
    var start = ExecStart.newBuilder().addArgv("cat").setInput(true).build();
    try (Process process = sandbox.exec(start)) {
      var writer =
          CompletableFuture.runAsync(
              () -> {
                process.write(data);
                process.closeInput();
              });
      ExecExit exit = process.waitFor(back, null);
      writer.get();
      check(exit.getCode() == 0 && Arrays.equals(back.toByteArray(), data), back.size());
    }
    sandbox.writeFile("/workspace/in/pattern", data);
    String said = run(sandbox, "sha256sum </workspace/in/pattern");
    check(said.startsWith(PATTERN_SHA256), said);
    check(Arrays.equals(sandbox.readFile("/workspace/in/pattern"), data), "read back");
  }

  private void error() throws Exception {
    var missing = failure(() -> sandbox.readFile("/workspace/missing"));
    check(missing.reason().equals("PATH_NOT_FOUND"), missing);
    check(missing.domain().equals("sandbox-engine"), missing.domain());
    var request = CreateSandboxRequest.newBuilder().setTemplate("no-such-template").build();
    var unknown = failure(() -> client.create(request));
    check(unknown.reason().equals("TEMPLATE_NOT_FOUND"), unknown);
    check("no-such-template".equals(unknown.metadata().get("name")), unknown.metadata());
  }

  /** Waits until no process of the sandbox has this command line. */
  private void gone(String first, String rest) {
    String count =
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[%s]%s' || true"
            .formatted(first, rest);
    long until = System.nanoTime() + PATIENCE.toNanos();
    String said = "";
    while (System.nanoTime() < until) {
      said = run(sandbox, count);
      if (said.equals("0\n")) {
        return;
      }
    }
    check(false, "still there: " + said);
  }

  private void cancel() throws Exception {
    try (Process process = sandbox.exec(script("echo up; exec sleep 4321", false))) {
      outputUntil(process, "up\n");
      process.close();
      var ended = failure(() -> process.waitFor(null, null));
      check(ended.code() == Status.Code.CANCELLED, ended);
    }
    gone("s", "leep 4321");
  }

  private void fork() throws Exception {
    run(sandbox, "echo parent >/workspace/who; echo 1 >/dev/shm/memory");
    var request = ForkSandboxRequest.newBuilder().setCount(1).setTtl(seconds(300)).build();
    var children = sandbox.fork(request);
    check(children.size() == 1, children);
    String id = children.get(0).id();
    try (Sandbox child = children.get(0)) {
      check(!id.equals(sandbox.id()), id);
      check(child.info().getParentId().equals(sandbox.id()), child.info());
      run(child, "echo child >/workspace/who");
      run(sandbox, "echo 2 >/dev/shm/memory");
      String seen =
          run(sandbox, "cat /workspace/who")
              + run(child, "cat /workspace/who")
              + run(sandbox, "cat /dev/shm/memory")
              + run(child, "cat /dev/shm/memory");
      check(seen.equals("parent\nchild\n2\n1\n"), seen);
    }
    var gone = failure(() -> client.get(id));
    check(gone.reason().equals("SANDBOX_NOT_FOUND"), gone);
  }

  private void deadline() throws Exception {
    var sleep = ExecStart.newBuilder().addArgv("sleep").addArgv("4322");
    var limit = java.time.Duration.ofSeconds(2);
    var late = failure(() -> sandbox.exec(sleep.build(), limit).waitFor(null, null));
    check(late.code() == Status.Code.DEADLINE_EXCEEDED, late);
    gone("s", "leep 4322");
    try (Process process = sandbox.exec(sleep.setTimeout(seconds(1)).build())) {
      ExecExit exit = process.waitFor(null, null);
      check(exit.getTimedOut(), exit);
    }
  }

  private void reconnect() {
    run(sandbox, "echo kept >/workspace/kept");
    client.close();
    client = Client.connect(target);
    sandbox = client.sandbox(sandbox.id());
    check(client.get(sandbox.id()).getState() == SandboxState.SANDBOX_STATE_RUNNING, "state");
    check(text(sandbox.readFile("/workspace/kept")).equals("kept\n"), "not kept");
    sandbox.destroy();
    sandbox.destroy();
  }
}
