package dev.sandboxengine.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Commands, files and ports inside a running sandbox.
 * File paths are absolute and stay below /workspace, symbolic links included; commands are
 * not confined.  Cancelling a call, or its deadline, reaches the guest.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class GuestServiceGrpc {

  private GuestServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sandbox.v1.GuestService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ExecRequest,
      dev.sandboxengine.v1.ExecResponse> getExecMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Exec",
      requestType = dev.sandboxengine.v1.ExecRequest.class,
      responseType = dev.sandboxengine.v1.ExecResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ExecRequest,
      dev.sandboxengine.v1.ExecResponse> getExecMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ExecRequest, dev.sandboxengine.v1.ExecResponse> getExecMethod;
    if ((getExecMethod = GuestServiceGrpc.getExecMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getExecMethod = GuestServiceGrpc.getExecMethod) == null) {
          GuestServiceGrpc.getExecMethod = getExecMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ExecRequest, dev.sandboxengine.v1.ExecResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Exec"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ExecRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ExecResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("Exec"))
              .build();
        }
      }
    }
    return getExecMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.AttachExecRequest,
      dev.sandboxengine.v1.AttachExecResponse> getAttachExecMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AttachExec",
      requestType = dev.sandboxengine.v1.AttachExecRequest.class,
      responseType = dev.sandboxengine.v1.AttachExecResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.AttachExecRequest,
      dev.sandboxengine.v1.AttachExecResponse> getAttachExecMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.AttachExecRequest, dev.sandboxengine.v1.AttachExecResponse> getAttachExecMethod;
    if ((getAttachExecMethod = GuestServiceGrpc.getAttachExecMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getAttachExecMethod = GuestServiceGrpc.getAttachExecMethod) == null) {
          GuestServiceGrpc.getAttachExecMethod = getAttachExecMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.AttachExecRequest, dev.sandboxengine.v1.AttachExecResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AttachExec"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.AttachExecRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.AttachExecResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("AttachExec"))
              .build();
        }
      }
    }
    return getAttachExecMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListProcessesRequest,
      dev.sandboxengine.v1.ListProcessesResponse> getListProcessesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListProcesses",
      requestType = dev.sandboxengine.v1.ListProcessesRequest.class,
      responseType = dev.sandboxengine.v1.ListProcessesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListProcessesRequest,
      dev.sandboxengine.v1.ListProcessesResponse> getListProcessesMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListProcessesRequest, dev.sandboxengine.v1.ListProcessesResponse> getListProcessesMethod;
    if ((getListProcessesMethod = GuestServiceGrpc.getListProcessesMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getListProcessesMethod = GuestServiceGrpc.getListProcessesMethod) == null) {
          GuestServiceGrpc.getListProcessesMethod = getListProcessesMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ListProcessesRequest, dev.sandboxengine.v1.ListProcessesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListProcesses"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListProcessesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListProcessesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("ListProcesses"))
              .build();
        }
      }
    }
    return getListProcessesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.SignalProcessRequest,
      dev.sandboxengine.v1.SignalProcessResponse> getSignalProcessMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SignalProcess",
      requestType = dev.sandboxengine.v1.SignalProcessRequest.class,
      responseType = dev.sandboxengine.v1.SignalProcessResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.SignalProcessRequest,
      dev.sandboxengine.v1.SignalProcessResponse> getSignalProcessMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.SignalProcessRequest, dev.sandboxengine.v1.SignalProcessResponse> getSignalProcessMethod;
    if ((getSignalProcessMethod = GuestServiceGrpc.getSignalProcessMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getSignalProcessMethod = GuestServiceGrpc.getSignalProcessMethod) == null) {
          GuestServiceGrpc.getSignalProcessMethod = getSignalProcessMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.SignalProcessRequest, dev.sandboxengine.v1.SignalProcessResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SignalProcess"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.SignalProcessRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.SignalProcessResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("SignalProcess"))
              .build();
        }
      }
    }
    return getSignalProcessMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ReadFileRequest,
      dev.sandboxengine.v1.ReadFileResponse> getReadFileMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReadFile",
      requestType = dev.sandboxengine.v1.ReadFileRequest.class,
      responseType = dev.sandboxengine.v1.ReadFileResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ReadFileRequest,
      dev.sandboxengine.v1.ReadFileResponse> getReadFileMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ReadFileRequest, dev.sandboxengine.v1.ReadFileResponse> getReadFileMethod;
    if ((getReadFileMethod = GuestServiceGrpc.getReadFileMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getReadFileMethod = GuestServiceGrpc.getReadFileMethod) == null) {
          GuestServiceGrpc.getReadFileMethod = getReadFileMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ReadFileRequest, dev.sandboxengine.v1.ReadFileResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReadFile"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ReadFileRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ReadFileResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("ReadFile"))
              .build();
        }
      }
    }
    return getReadFileMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.WriteFileRequest,
      dev.sandboxengine.v1.WriteFileResponse> getWriteFileMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WriteFile",
      requestType = dev.sandboxengine.v1.WriteFileRequest.class,
      responseType = dev.sandboxengine.v1.WriteFileResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.WriteFileRequest,
      dev.sandboxengine.v1.WriteFileResponse> getWriteFileMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.WriteFileRequest, dev.sandboxengine.v1.WriteFileResponse> getWriteFileMethod;
    if ((getWriteFileMethod = GuestServiceGrpc.getWriteFileMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getWriteFileMethod = GuestServiceGrpc.getWriteFileMethod) == null) {
          GuestServiceGrpc.getWriteFileMethod = getWriteFileMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.WriteFileRequest, dev.sandboxengine.v1.WriteFileResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WriteFile"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WriteFileRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WriteFileResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("WriteFile"))
              .build();
        }
      }
    }
    return getWriteFileMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListDirectoryRequest,
      dev.sandboxengine.v1.ListDirectoryResponse> getListDirectoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListDirectory",
      requestType = dev.sandboxengine.v1.ListDirectoryRequest.class,
      responseType = dev.sandboxengine.v1.ListDirectoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListDirectoryRequest,
      dev.sandboxengine.v1.ListDirectoryResponse> getListDirectoryMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListDirectoryRequest, dev.sandboxengine.v1.ListDirectoryResponse> getListDirectoryMethod;
    if ((getListDirectoryMethod = GuestServiceGrpc.getListDirectoryMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getListDirectoryMethod = GuestServiceGrpc.getListDirectoryMethod) == null) {
          GuestServiceGrpc.getListDirectoryMethod = getListDirectoryMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ListDirectoryRequest, dev.sandboxengine.v1.ListDirectoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListDirectory"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListDirectoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListDirectoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("ListDirectory"))
              .build();
        }
      }
    }
    return getListDirectoryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.StatRequest,
      dev.sandboxengine.v1.StatResponse> getStatMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Stat",
      requestType = dev.sandboxengine.v1.StatRequest.class,
      responseType = dev.sandboxengine.v1.StatResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.StatRequest,
      dev.sandboxengine.v1.StatResponse> getStatMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.StatRequest, dev.sandboxengine.v1.StatResponse> getStatMethod;
    if ((getStatMethod = GuestServiceGrpc.getStatMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getStatMethod = GuestServiceGrpc.getStatMethod) == null) {
          GuestServiceGrpc.getStatMethod = getStatMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.StatRequest, dev.sandboxengine.v1.StatResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Stat"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.StatRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.StatResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("Stat"))
              .build();
        }
      }
    }
    return getStatMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.MakeDirectoryRequest,
      dev.sandboxengine.v1.MakeDirectoryResponse> getMakeDirectoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "MakeDirectory",
      requestType = dev.sandboxengine.v1.MakeDirectoryRequest.class,
      responseType = dev.sandboxengine.v1.MakeDirectoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.MakeDirectoryRequest,
      dev.sandboxengine.v1.MakeDirectoryResponse> getMakeDirectoryMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.MakeDirectoryRequest, dev.sandboxengine.v1.MakeDirectoryResponse> getMakeDirectoryMethod;
    if ((getMakeDirectoryMethod = GuestServiceGrpc.getMakeDirectoryMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getMakeDirectoryMethod = GuestServiceGrpc.getMakeDirectoryMethod) == null) {
          GuestServiceGrpc.getMakeDirectoryMethod = getMakeDirectoryMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.MakeDirectoryRequest, dev.sandboxengine.v1.MakeDirectoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "MakeDirectory"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.MakeDirectoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.MakeDirectoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("MakeDirectory"))
              .build();
        }
      }
    }
    return getMakeDirectoryMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.RemoveRequest,
      dev.sandboxengine.v1.RemoveResponse> getRemoveMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Remove",
      requestType = dev.sandboxengine.v1.RemoveRequest.class,
      responseType = dev.sandboxengine.v1.RemoveResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.RemoveRequest,
      dev.sandboxengine.v1.RemoveResponse> getRemoveMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.RemoveRequest, dev.sandboxengine.v1.RemoveResponse> getRemoveMethod;
    if ((getRemoveMethod = GuestServiceGrpc.getRemoveMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getRemoveMethod = GuestServiceGrpc.getRemoveMethod) == null) {
          GuestServiceGrpc.getRemoveMethod = getRemoveMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.RemoveRequest, dev.sandboxengine.v1.RemoveResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Remove"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RemoveRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RemoveResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("Remove"))
              .build();
        }
      }
    }
    return getRemoveMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenameRequest,
      dev.sandboxengine.v1.RenameResponse> getRenameMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Rename",
      requestType = dev.sandboxengine.v1.RenameRequest.class,
      responseType = dev.sandboxengine.v1.RenameResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenameRequest,
      dev.sandboxengine.v1.RenameResponse> getRenameMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenameRequest, dev.sandboxengine.v1.RenameResponse> getRenameMethod;
    if ((getRenameMethod = GuestServiceGrpc.getRenameMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getRenameMethod = GuestServiceGrpc.getRenameMethod) == null) {
          GuestServiceGrpc.getRenameMethod = getRenameMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.RenameRequest, dev.sandboxengine.v1.RenameResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Rename"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RenameRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RenameResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("Rename"))
              .build();
        }
      }
    }
    return getRenameMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.WatchRequest,
      dev.sandboxengine.v1.WatchResponse> getWatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Watch",
      requestType = dev.sandboxengine.v1.WatchRequest.class,
      responseType = dev.sandboxengine.v1.WatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.WatchRequest,
      dev.sandboxengine.v1.WatchResponse> getWatchMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.WatchRequest, dev.sandboxengine.v1.WatchResponse> getWatchMethod;
    if ((getWatchMethod = GuestServiceGrpc.getWatchMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getWatchMethod = GuestServiceGrpc.getWatchMethod) == null) {
          GuestServiceGrpc.getWatchMethod = getWatchMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.WatchRequest, dev.sandboxengine.v1.WatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Watch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("Watch"))
              .build();
        }
      }
    }
    return getWatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ForwardPortRequest,
      dev.sandboxengine.v1.ForwardPortResponse> getForwardPortMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ForwardPort",
      requestType = dev.sandboxengine.v1.ForwardPortRequest.class,
      responseType = dev.sandboxengine.v1.ForwardPortResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ForwardPortRequest,
      dev.sandboxengine.v1.ForwardPortResponse> getForwardPortMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ForwardPortRequest, dev.sandboxengine.v1.ForwardPortResponse> getForwardPortMethod;
    if ((getForwardPortMethod = GuestServiceGrpc.getForwardPortMethod) == null) {
      synchronized (GuestServiceGrpc.class) {
        if ((getForwardPortMethod = GuestServiceGrpc.getForwardPortMethod) == null) {
          GuestServiceGrpc.getForwardPortMethod = getForwardPortMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ForwardPortRequest, dev.sandboxengine.v1.ForwardPortResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ForwardPort"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ForwardPortRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ForwardPortResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GuestServiceMethodDescriptorSupplier("ForwardPort"))
              .build();
        }
      }
    }
    return getForwardPortMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static GuestServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GuestServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GuestServiceStub>() {
        @java.lang.Override
        public GuestServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GuestServiceStub(channel, callOptions);
        }
      };
    return GuestServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static GuestServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GuestServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GuestServiceBlockingV2Stub>() {
        @java.lang.Override
        public GuestServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GuestServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return GuestServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static GuestServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GuestServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GuestServiceBlockingStub>() {
        @java.lang.Override
        public GuestServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GuestServiceBlockingStub(channel, callOptions);
        }
      };
    return GuestServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static GuestServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GuestServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GuestServiceFutureStub>() {
        @java.lang.Override
        public GuestServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GuestServiceFutureStub(channel, callOptions);
        }
      };
    return GuestServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Commands, files and ports inside a running sandbox.
   * File paths are absolute and stay below /workspace, symbolic links included; commands are
   * not confined.  Cancelling a call, or its deadline, reaches the guest.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Runs a command with live streams.  The command and everything it started are killed
     * when the stream ends early, unless it is detached.  Closing the request stream ends the
     * command's input, as `ExecCloseInput` does.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ExecRequest> exec(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ExecResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getExecMethod(), responseObserver);
    }

    /**
     * <pre>
     * Continues with a detached command from byte offsets, without a gap or a repeat.  The end of
     * the stream, and of its requests, leaves the command as it is; while the stream is there,
     * it paces the command.  One stream is attached at a time: the next takes over.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachExecRequest> attachExec(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachExecResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getAttachExecMethod(), responseObserver);
    }

    /**
     * <pre>
     * The commands the agent started and still knows of.
     * </pre>
     */
    default void listProcesses(dev.sandboxengine.v1.ListProcessesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListProcessesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListProcessesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends a signal to a command and all it started; a success where it has exited.
     * </pre>
     */
    default void signalProcess(dev.sandboxengine.v1.SignalProcessRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SignalProcessResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSignalProcessMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads a file.
     * </pre>
     */
    default void readFile(dev.sandboxengine.v1.ReadFileRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ReadFileResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReadFileMethod(), responseObserver);
    }

    /**
     * <pre>
     * Writes a file; a replaced file is replaced at the end, as a whole.  A stream that ends
     * without `done` was cut, and leaves the file as it was.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WriteFileRequest> writeFile(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WriteFileResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getWriteFileMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists a directory.
     * </pre>
     */
    default void listDirectory(dev.sandboxengine.v1.ListDirectoryRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListDirectoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListDirectoryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Describes a path; a final symbolic link is not followed.
     * </pre>
     */
    default void stat(dev.sandboxengine.v1.StatRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.StatResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStatMethod(), responseObserver);
    }

    /**
     * <pre>
     * Makes a directory.
     * </pre>
     */
    default void makeDirectory(dev.sandboxengine.v1.MakeDirectoryRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.MakeDirectoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getMakeDirectoryMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a file or directory; never the root nor the workspace itself.
     * </pre>
     */
    default void remove(dev.sandboxengine.v1.RemoveRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RemoveResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRemoveMethod(), responseObserver);
    }

    /**
     * <pre>
     * Moves a file or directory within the workspace, as rename(2) does: a file that is there is
     * replaced, a directory that holds something is not.
     * </pre>
     */
    default void rename(dev.sandboxengine.v1.RenameRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenameResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenameMethod(), responseObserver);
    }

    /**
     * <pre>
     * Tells changes below a path until cancelled.
     * </pre>
     */
    default void watch(dev.sandboxengine.v1.WatchRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * Relays bytes to a port on the guest's loopback.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForwardPortRequest> forwardPort(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForwardPortResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getForwardPortMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service GuestService.
   * <pre>
   * Commands, files and ports inside a running sandbox.
   * File paths are absolute and stay below /workspace, symbolic links included; commands are
   * not confined.  Cancelling a call, or its deadline, reaches the guest.
   * </pre>
   */
  public static abstract class GuestServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return GuestServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service GuestService.
   * <pre>
   * Commands, files and ports inside a running sandbox.
   * File paths are absolute and stay below /workspace, symbolic links included; commands are
   * not confined.  Cancelling a call, or its deadline, reaches the guest.
   * </pre>
   */
  public static final class GuestServiceStub
      extends io.grpc.stub.AbstractAsyncStub<GuestServiceStub> {
    private GuestServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GuestServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GuestServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Runs a command with live streams.  The command and everything it started are killed
     * when the stream ends early, unless it is detached.  Closing the request stream ends the
     * command's input, as `ExecCloseInput` does.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ExecRequest> exec(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ExecResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getExecMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Continues with a detached command from byte offsets, without a gap or a repeat.  The end of
     * the stream, and of its requests, leaves the command as it is; while the stream is there,
     * it paces the command.  One stream is attached at a time: the next takes over.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachExecRequest> attachExec(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachExecResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getAttachExecMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * The commands the agent started and still knows of.
     * </pre>
     */
    public void listProcesses(dev.sandboxengine.v1.ListProcessesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListProcessesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListProcessesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends a signal to a command and all it started; a success where it has exited.
     * </pre>
     */
    public void signalProcess(dev.sandboxengine.v1.SignalProcessRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SignalProcessResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSignalProcessMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads a file.
     * </pre>
     */
    public void readFile(dev.sandboxengine.v1.ReadFileRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ReadFileResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getReadFileMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Writes a file; a replaced file is replaced at the end, as a whole.  A stream that ends
     * without `done` was cut, and leaves the file as it was.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WriteFileRequest> writeFile(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WriteFileResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncClientStreamingCall(
          getChannel().newCall(getWriteFileMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Lists a directory.
     * </pre>
     */
    public void listDirectory(dev.sandboxengine.v1.ListDirectoryRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListDirectoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListDirectoryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Describes a path; a final symbolic link is not followed.
     * </pre>
     */
    public void stat(dev.sandboxengine.v1.StatRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.StatResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStatMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Makes a directory.
     * </pre>
     */
    public void makeDirectory(dev.sandboxengine.v1.MakeDirectoryRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.MakeDirectoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getMakeDirectoryMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a file or directory; never the root nor the workspace itself.
     * </pre>
     */
    public void remove(dev.sandboxengine.v1.RemoveRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RemoveResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRemoveMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Moves a file or directory within the workspace, as rename(2) does: a file that is there is
     * replaced, a directory that holds something is not.
     * </pre>
     */
    public void rename(dev.sandboxengine.v1.RenameRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenameResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenameMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Tells changes below a path until cancelled.
     * </pre>
     */
    public void watch(dev.sandboxengine.v1.WatchRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Relays bytes to a port on the guest's loopback.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForwardPortRequest> forwardPort(
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForwardPortResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getForwardPortMethod(), getCallOptions()), responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service GuestService.
   * <pre>
   * Commands, files and ports inside a running sandbox.
   * File paths are absolute and stay below /workspace, symbolic links included; commands are
   * not confined.  Cancelling a call, or its deadline, reaches the guest.
   * </pre>
   */
  public static final class GuestServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<GuestServiceBlockingV2Stub> {
    private GuestServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GuestServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GuestServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Runs a command with live streams.  The command and everything it started are killed
     * when the stream ends early, unless it is detached.  Closing the request stream ends the
     * command's input, as `ExecCloseInput` does.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.sandboxengine.v1.ExecRequest, dev.sandboxengine.v1.ExecResponse>
        exec() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getExecMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Continues with a detached command from byte offsets, without a gap or a repeat.  The end of
     * the stream, and of its requests, leaves the command as it is; while the stream is there,
     * it paces the command.  One stream is attached at a time: the next takes over.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.sandboxengine.v1.AttachExecRequest, dev.sandboxengine.v1.AttachExecResponse>
        attachExec() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getAttachExecMethod(), getCallOptions());
    }

    /**
     * <pre>
     * The commands the agent started and still knows of.
     * </pre>
     */
    public dev.sandboxengine.v1.ListProcessesResponse listProcesses(dev.sandboxengine.v1.ListProcessesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListProcessesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends a signal to a command and all it started; a success where it has exited.
     * </pre>
     */
    public dev.sandboxengine.v1.SignalProcessResponse signalProcess(dev.sandboxengine.v1.SignalProcessRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSignalProcessMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a file.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sandboxengine.v1.ReadFileResponse>
        readFile(dev.sandboxengine.v1.ReadFileRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getReadFileMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Writes a file; a replaced file is replaced at the end, as a whole.  A stream that ends
     * without `done` was cut, and leaves the file as it was.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.sandboxengine.v1.WriteFileRequest, dev.sandboxengine.v1.WriteFileResponse>
        writeFile() {
      return io.grpc.stub.ClientCalls.blockingClientStreamingCall(
          getChannel(), getWriteFileMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Lists a directory.
     * </pre>
     */
    public dev.sandboxengine.v1.ListDirectoryResponse listDirectory(dev.sandboxengine.v1.ListDirectoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListDirectoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Describes a path; a final symbolic link is not followed.
     * </pre>
     */
    public dev.sandboxengine.v1.StatResponse stat(dev.sandboxengine.v1.StatRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStatMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes a directory.
     * </pre>
     */
    public dev.sandboxengine.v1.MakeDirectoryResponse makeDirectory(dev.sandboxengine.v1.MakeDirectoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getMakeDirectoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a file or directory; never the root nor the workspace itself.
     * </pre>
     */
    public dev.sandboxengine.v1.RemoveResponse remove(dev.sandboxengine.v1.RemoveRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRemoveMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Moves a file or directory within the workspace, as rename(2) does: a file that is there is
     * replaced, a directory that holds something is not.
     * </pre>
     */
    public dev.sandboxengine.v1.RenameResponse rename(dev.sandboxengine.v1.RenameRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRenameMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells changes below a path until cancelled.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sandboxengine.v1.WatchResponse>
        watch(dev.sandboxengine.v1.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Relays bytes to a port on the guest's loopback.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.sandboxengine.v1.ForwardPortRequest, dev.sandboxengine.v1.ForwardPortResponse>
        forwardPort() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getForwardPortMethod(), getCallOptions());
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service GuestService.
   * <pre>
   * Commands, files and ports inside a running sandbox.
   * File paths are absolute and stay below /workspace, symbolic links included; commands are
   * not confined.  Cancelling a call, or its deadline, reaches the guest.
   * </pre>
   */
  public static final class GuestServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<GuestServiceBlockingStub> {
    private GuestServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GuestServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GuestServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * The commands the agent started and still knows of.
     * </pre>
     */
    public dev.sandboxengine.v1.ListProcessesResponse listProcesses(dev.sandboxengine.v1.ListProcessesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListProcessesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends a signal to a command and all it started; a success where it has exited.
     * </pre>
     */
    public dev.sandboxengine.v1.SignalProcessResponse signalProcess(dev.sandboxengine.v1.SignalProcessRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSignalProcessMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a file.
     * </pre>
     */
    public java.util.Iterator<dev.sandboxengine.v1.ReadFileResponse> readFile(
        dev.sandboxengine.v1.ReadFileRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getReadFileMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists a directory.
     * </pre>
     */
    public dev.sandboxengine.v1.ListDirectoryResponse listDirectory(dev.sandboxengine.v1.ListDirectoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListDirectoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Describes a path; a final symbolic link is not followed.
     * </pre>
     */
    public dev.sandboxengine.v1.StatResponse stat(dev.sandboxengine.v1.StatRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStatMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes a directory.
     * </pre>
     */
    public dev.sandboxengine.v1.MakeDirectoryResponse makeDirectory(dev.sandboxengine.v1.MakeDirectoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getMakeDirectoryMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a file or directory; never the root nor the workspace itself.
     * </pre>
     */
    public dev.sandboxengine.v1.RemoveResponse remove(dev.sandboxengine.v1.RemoveRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRemoveMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Moves a file or directory within the workspace, as rename(2) does: a file that is there is
     * replaced, a directory that holds something is not.
     * </pre>
     */
    public dev.sandboxengine.v1.RenameResponse rename(dev.sandboxengine.v1.RenameRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenameMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells changes below a path until cancelled.
     * </pre>
     */
    public java.util.Iterator<dev.sandboxengine.v1.WatchResponse> watch(
        dev.sandboxengine.v1.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service GuestService.
   * <pre>
   * Commands, files and ports inside a running sandbox.
   * File paths are absolute and stay below /workspace, symbolic links included; commands are
   * not confined.  Cancelling a call, or its deadline, reaches the guest.
   * </pre>
   */
  public static final class GuestServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<GuestServiceFutureStub> {
    private GuestServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GuestServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GuestServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * The commands the agent started and still knows of.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ListProcessesResponse> listProcesses(
        dev.sandboxengine.v1.ListProcessesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListProcessesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sends a signal to a command and all it started; a success where it has exited.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.SignalProcessResponse> signalProcess(
        dev.sandboxengine.v1.SignalProcessRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSignalProcessMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists a directory.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ListDirectoryResponse> listDirectory(
        dev.sandboxengine.v1.ListDirectoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListDirectoryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Describes a path; a final symbolic link is not followed.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.StatResponse> stat(
        dev.sandboxengine.v1.StatRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStatMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Makes a directory.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.MakeDirectoryResponse> makeDirectory(
        dev.sandboxengine.v1.MakeDirectoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getMakeDirectoryMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a file or directory; never the root nor the workspace itself.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.RemoveResponse> remove(
        dev.sandboxengine.v1.RemoveRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRemoveMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Moves a file or directory within the workspace, as rename(2) does: a file that is there is
     * replaced, a directory that holds something is not.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.RenameResponse> rename(
        dev.sandboxengine.v1.RenameRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenameMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_PROCESSES = 0;
  private static final int METHODID_SIGNAL_PROCESS = 1;
  private static final int METHODID_READ_FILE = 2;
  private static final int METHODID_LIST_DIRECTORY = 3;
  private static final int METHODID_STAT = 4;
  private static final int METHODID_MAKE_DIRECTORY = 5;
  private static final int METHODID_REMOVE = 6;
  private static final int METHODID_RENAME = 7;
  private static final int METHODID_WATCH = 8;
  private static final int METHODID_EXEC = 9;
  private static final int METHODID_ATTACH_EXEC = 10;
  private static final int METHODID_WRITE_FILE = 11;
  private static final int METHODID_FORWARD_PORT = 12;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_LIST_PROCESSES:
          serviceImpl.listProcesses((dev.sandboxengine.v1.ListProcessesRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListProcessesResponse>) responseObserver);
          break;
        case METHODID_SIGNAL_PROCESS:
          serviceImpl.signalProcess((dev.sandboxengine.v1.SignalProcessRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SignalProcessResponse>) responseObserver);
          break;
        case METHODID_READ_FILE:
          serviceImpl.readFile((dev.sandboxengine.v1.ReadFileRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ReadFileResponse>) responseObserver);
          break;
        case METHODID_LIST_DIRECTORY:
          serviceImpl.listDirectory((dev.sandboxengine.v1.ListDirectoryRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListDirectoryResponse>) responseObserver);
          break;
        case METHODID_STAT:
          serviceImpl.stat((dev.sandboxengine.v1.StatRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.StatResponse>) responseObserver);
          break;
        case METHODID_MAKE_DIRECTORY:
          serviceImpl.makeDirectory((dev.sandboxengine.v1.MakeDirectoryRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.MakeDirectoryResponse>) responseObserver);
          break;
        case METHODID_REMOVE:
          serviceImpl.remove((dev.sandboxengine.v1.RemoveRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RemoveResponse>) responseObserver);
          break;
        case METHODID_RENAME:
          serviceImpl.rename((dev.sandboxengine.v1.RenameRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenameResponse>) responseObserver);
          break;
        case METHODID_WATCH:
          serviceImpl.watch((dev.sandboxengine.v1.WatchRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WatchResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_EXEC:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.exec(
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ExecResponse>) responseObserver);
        case METHODID_ATTACH_EXEC:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.attachExec(
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachExecResponse>) responseObserver);
        case METHODID_WRITE_FILE:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.writeFile(
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WriteFileResponse>) responseObserver);
        case METHODID_FORWARD_PORT:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.forwardPort(
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForwardPortResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getExecMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ExecRequest,
              dev.sandboxengine.v1.ExecResponse>(
                service, METHODID_EXEC)))
        .addMethod(
          getAttachExecMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.AttachExecRequest,
              dev.sandboxengine.v1.AttachExecResponse>(
                service, METHODID_ATTACH_EXEC)))
        .addMethod(
          getListProcessesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ListProcessesRequest,
              dev.sandboxengine.v1.ListProcessesResponse>(
                service, METHODID_LIST_PROCESSES)))
        .addMethod(
          getSignalProcessMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.SignalProcessRequest,
              dev.sandboxengine.v1.SignalProcessResponse>(
                service, METHODID_SIGNAL_PROCESS)))
        .addMethod(
          getReadFileMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ReadFileRequest,
              dev.sandboxengine.v1.ReadFileResponse>(
                service, METHODID_READ_FILE)))
        .addMethod(
          getWriteFileMethod(),
          io.grpc.stub.ServerCalls.asyncClientStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.WriteFileRequest,
              dev.sandboxengine.v1.WriteFileResponse>(
                service, METHODID_WRITE_FILE)))
        .addMethod(
          getListDirectoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ListDirectoryRequest,
              dev.sandboxengine.v1.ListDirectoryResponse>(
                service, METHODID_LIST_DIRECTORY)))
        .addMethod(
          getStatMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.StatRequest,
              dev.sandboxengine.v1.StatResponse>(
                service, METHODID_STAT)))
        .addMethod(
          getMakeDirectoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.MakeDirectoryRequest,
              dev.sandboxengine.v1.MakeDirectoryResponse>(
                service, METHODID_MAKE_DIRECTORY)))
        .addMethod(
          getRemoveMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.RemoveRequest,
              dev.sandboxengine.v1.RemoveResponse>(
                service, METHODID_REMOVE)))
        .addMethod(
          getRenameMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.RenameRequest,
              dev.sandboxengine.v1.RenameResponse>(
                service, METHODID_RENAME)))
        .addMethod(
          getWatchMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.WatchRequest,
              dev.sandboxengine.v1.WatchResponse>(
                service, METHODID_WATCH)))
        .addMethod(
          getForwardPortMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ForwardPortRequest,
              dev.sandboxengine.v1.ForwardPortResponse>(
                service, METHODID_FORWARD_PORT)))
        .build();
  }

  private static abstract class GuestServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    GuestServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sandboxengine.v1.GuestProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("GuestService");
    }
  }

  private static final class GuestServiceFileDescriptorSupplier
      extends GuestServiceBaseDescriptorSupplier {
    GuestServiceFileDescriptorSupplier() {}
  }

  private static final class GuestServiceMethodDescriptorSupplier
      extends GuestServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    GuestServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (GuestServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new GuestServiceFileDescriptorSupplier())
              .addMethod(getExecMethod())
              .addMethod(getAttachExecMethod())
              .addMethod(getListProcessesMethod())
              .addMethod(getSignalProcessMethod())
              .addMethod(getReadFileMethod())
              .addMethod(getWriteFileMethod())
              .addMethod(getListDirectoryMethod())
              .addMethod(getStatMethod())
              .addMethod(getMakeDirectoryMethod())
              .addMethod(getRemoveMethod())
              .addMethod(getRenameMethod())
              .addMethod(getWatchMethod())
              .addMethod(getForwardPortMethod())
              .build();
        }
      }
    }
    return result;
  }
}
