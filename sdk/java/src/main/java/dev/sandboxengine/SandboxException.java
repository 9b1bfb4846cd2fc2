package dev.sandboxengine;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.protobuf.StatusProto;
import java.util.Map;

/** A call that failed. */
public final class SandboxException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Status.Code code;
  private final String reason;
  private final String domain;
  private final transient Map<String, String> metadata;

  private SandboxException(Status.Code code, String message, ErrorInfo info, Throwable cause) {
    super(named(code, info) + ": " + message, cause);
    this.code = code;
    this.reason = info.getReason();
    this.domain = info.getDomain();
    this.metadata = info.getMetadataMap();
  }

  static SandboxException of(StatusException failure) {
    Status status = failure.getStatus();
    return new SandboxException(
        status.getCode(), String.valueOf(status.getDescription()), info(failure), failure);
  }

  static SandboxException interrupted(InterruptedException cause) {
    Thread.currentThread().interrupt();
    return new SandboxException(
        Status.Code.CANCELLED, "the thread was interrupted", ErrorInfo.getDefaultInstance(), cause);
  }

  static SandboxException ended(String message) {
    return new SandboxException(
        Status.Code.ABORTED, message, ErrorInfo.getDefaultInstance(), null);
  }

  private static String named(Status.Code code, ErrorInfo info) {
    return info.getReason().isEmpty() ? code.toString() : info.getReason();
  }

  private static ErrorInfo info(StatusException failure) {
    com.google.rpc.Status told = StatusProto.fromThrowable(failure);
    if (told == null) {
      return ErrorInfo.getDefaultInstance();
    }
    try {
      for (Any detail : told.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          return detail.unpack(ErrorInfo.class);
        }
      }
    } catch (InvalidProtocolBufferException notOne) {
      return ErrorInfo.getDefaultInstance();
    }
    return ErrorInfo.getDefaultInstance();
  }

  /** The gRPC code. */
  public Status.Code code() {
    return code;
  }

  /** A name of errors.proto without ERROR_REASON_; empty where the engine gave none. */
  public String reason() {
    return reason;
  }

  /** Whose reason it is; empty where the engine gave none. */
  public String domain() {
    return domain;
  }

  /** What the reason is about, by name. */
  public Map<String, String> metadata() {
    return metadata == null ? Map.of() : metadata;
  }
}
