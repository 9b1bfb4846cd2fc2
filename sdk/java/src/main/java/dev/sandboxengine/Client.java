package dev.sandboxengine;

import dev.sandboxengine.v1.CreateSandboxRequest;
import dev.sandboxengine.v1.GetSandboxRequest;
import dev.sandboxengine.v1.GuestServiceGrpc;
import dev.sandboxengine.v1.GuestServiceGrpc.GuestServiceBlockingV2Stub;
import dev.sandboxengine.v1.SandboxServiceGrpc;
import dev.sandboxengine.v1.SandboxServiceGrpc.SandboxServiceBlockingV2Stub;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;

/**
 * One connection to an engine; safe for many threads. Closing it ends every call on it, but no
 * sandbox. What has no method here is on {@link #sandboxes} and {@link #guests}, or one
 * {@code ...Grpc.newBlockingV2Stub(client.channel())} away.
 */
public final class Client implements AutoCloseable {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel connection;
  private final Channel channel;

  private Client(ManagedChannel connection, Channel channel) {
    this.connection = connection;
    this.channel = channel;
  }

  /** A client of {@code unix:/path/of/grpc.sock} or {@code host:port}. The first call dials. */
  public static Client connect(String target) {
    return connect(target, InsecureChannelCredentials.create(), null);
  }

  /**
   * A client over TLS, or with a token.
   *
   * @param token sent as a bearer token with every call, or null
   */
  public static Client connect(String target, ChannelCredentials credentials, String token) {
    ManagedChannel connection = Grpc.newChannelBuilder(target, credentials).build();
    if (token == null) {
      return new Client(connection, connection);
    }
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token);
    var attach = MetadataUtils.newAttachHeadersInterceptor(headers);
    return new Client(connection, ClientInterceptors.intercept(connection, attach));
  }

  /** What the generated stubs are made of. */
  public Channel channel() {
    return channel;
  }

  /** The generated client of sandboxes. */
  public SandboxServiceBlockingV2Stub sandboxes() {
    return SandboxServiceGrpc.newBlockingV2Stub(channel);
  }

  /** The generated client of what runs in them. */
  public GuestServiceBlockingV2Stub guests() {
    return GuestServiceGrpc.newBlockingV2Stub(channel);
  }

  /** Makes a sandbox, which closing destroys. */
  public Sandbox create(CreateSandboxRequest request) {
    var made = Calls.guarded(() -> sandboxes().createSandbox(request));
    return new Sandbox(this, made.getSandbox(), true);
  }

  /** A handle of a sandbox that exists; it costs no call, and closing it destroys nothing. */
  public Sandbox sandbox(String id) {
    var unknown = dev.sandboxengine.v1.Sandbox.newBuilder().setId(id).build();
    return new Sandbox(this, unknown, false);
  }

  /** What the engine says of a sandbox. */
  public dev.sandboxengine.v1.Sandbox get(String id) {
    var request = GetSandboxRequest.newBuilder().setSandboxId(id).build();
    return Calls.guarded(() -> sandboxes().getSandbox(request)).getSandbox();
  }

  @Override
  public void close() {
    connection.shutdownNow();
  }
}
