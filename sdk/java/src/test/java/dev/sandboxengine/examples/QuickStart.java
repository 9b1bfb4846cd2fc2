package dev.sandboxengine.examples;

import com.google.protobuf.Duration;
import dev.sandboxengine.Client;
import dev.sandboxengine.v1.CreateSandboxRequest;
import dev.sandboxengine.v1.ExecStart;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Runs a command in a new sandbox and shows its output as it comes. */
public final class QuickStart {
  private QuickStart() {}

  public static void main(String[] args) throws IOException {
    var request =
        CreateSandboxRequest.newBuilder()
            .setTemplate("base")
            .setPoolWait(Duration.newBuilder().setSeconds(120))
            .build();
    try (var client = Client.connect("unix:" + System.getenv("SANDBOX_GRPC_SOCKET"));
        var sandbox = client.create(request)) {
      sandbox.writeFile("/workspace/name", "world".getBytes(StandardCharsets.UTF_8));
      var start =
          ExecStart.newBuilder()
              .addArgv("echo \"hello $(cat /workspace/name)\"")
              .setShell(true)
              .build();
      var exit = sandbox.exec(start).waitFor(System.out, System.err);
      System.out.println("exit " + exit.getCode());
    }
  }
}
