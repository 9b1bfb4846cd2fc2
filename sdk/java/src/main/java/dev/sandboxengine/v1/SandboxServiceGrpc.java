package dev.sandboxengine.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * The life of sandboxes: each is one virtual machine cloned from a template.
 * Errors are `google.rpc.Status` with `ErrorInfo` (domain `sandbox-engine`, reason a value
 * of `ErrorReason` without its prefix), `RetryInfo` where trying again helps, and
 * `BadRequest` where a field is wrong.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SandboxServiceGrpc {

  private SandboxServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sandbox.v1.SandboxService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.CreateSandboxRequest,
      dev.sandboxengine.v1.CreateSandboxResponse> getCreateSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateSandbox",
      requestType = dev.sandboxengine.v1.CreateSandboxRequest.class,
      responseType = dev.sandboxengine.v1.CreateSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.CreateSandboxRequest,
      dev.sandboxengine.v1.CreateSandboxResponse> getCreateSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.CreateSandboxRequest, dev.sandboxengine.v1.CreateSandboxResponse> getCreateSandboxMethod;
    if ((getCreateSandboxMethod = SandboxServiceGrpc.getCreateSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getCreateSandboxMethod = SandboxServiceGrpc.getCreateSandboxMethod) == null) {
          SandboxServiceGrpc.getCreateSandboxMethod = getCreateSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.CreateSandboxRequest, dev.sandboxengine.v1.CreateSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.CreateSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.CreateSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("CreateSandbox"))
              .build();
        }
      }
    }
    return getCreateSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetSandboxRequest,
      dev.sandboxengine.v1.GetSandboxResponse> getGetSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetSandbox",
      requestType = dev.sandboxengine.v1.GetSandboxRequest.class,
      responseType = dev.sandboxengine.v1.GetSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetSandboxRequest,
      dev.sandboxengine.v1.GetSandboxResponse> getGetSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetSandboxRequest, dev.sandboxengine.v1.GetSandboxResponse> getGetSandboxMethod;
    if ((getGetSandboxMethod = SandboxServiceGrpc.getGetSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getGetSandboxMethod = SandboxServiceGrpc.getGetSandboxMethod) == null) {
          SandboxServiceGrpc.getGetSandboxMethod = getGetSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.GetSandboxRequest, dev.sandboxengine.v1.GetSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("GetSandbox"))
              .build();
        }
      }
    }
    return getGetSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListSandboxesRequest,
      dev.sandboxengine.v1.ListSandboxesResponse> getListSandboxesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSandboxes",
      requestType = dev.sandboxengine.v1.ListSandboxesRequest.class,
      responseType = dev.sandboxengine.v1.ListSandboxesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListSandboxesRequest,
      dev.sandboxengine.v1.ListSandboxesResponse> getListSandboxesMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListSandboxesRequest, dev.sandboxengine.v1.ListSandboxesResponse> getListSandboxesMethod;
    if ((getListSandboxesMethod = SandboxServiceGrpc.getListSandboxesMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getListSandboxesMethod = SandboxServiceGrpc.getListSandboxesMethod) == null) {
          SandboxServiceGrpc.getListSandboxesMethod = getListSandboxesMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ListSandboxesRequest, dev.sandboxengine.v1.ListSandboxesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSandboxes"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListSandboxesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListSandboxesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("ListSandboxes"))
              .build();
        }
      }
    }
    return getListSandboxesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.DestroySandboxRequest,
      dev.sandboxengine.v1.DestroySandboxResponse> getDestroySandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DestroySandbox",
      requestType = dev.sandboxengine.v1.DestroySandboxRequest.class,
      responseType = dev.sandboxengine.v1.DestroySandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.DestroySandboxRequest,
      dev.sandboxengine.v1.DestroySandboxResponse> getDestroySandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.DestroySandboxRequest, dev.sandboxengine.v1.DestroySandboxResponse> getDestroySandboxMethod;
    if ((getDestroySandboxMethod = SandboxServiceGrpc.getDestroySandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getDestroySandboxMethod = SandboxServiceGrpc.getDestroySandboxMethod) == null) {
          SandboxServiceGrpc.getDestroySandboxMethod = getDestroySandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.DestroySandboxRequest, dev.sandboxengine.v1.DestroySandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DestroySandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DestroySandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DestroySandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("DestroySandbox"))
              .build();
        }
      }
    }
    return getDestroySandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.PauseSandboxRequest,
      dev.sandboxengine.v1.PauseSandboxResponse> getPauseSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PauseSandbox",
      requestType = dev.sandboxengine.v1.PauseSandboxRequest.class,
      responseType = dev.sandboxengine.v1.PauseSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.PauseSandboxRequest,
      dev.sandboxengine.v1.PauseSandboxResponse> getPauseSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.PauseSandboxRequest, dev.sandboxengine.v1.PauseSandboxResponse> getPauseSandboxMethod;
    if ((getPauseSandboxMethod = SandboxServiceGrpc.getPauseSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getPauseSandboxMethod = SandboxServiceGrpc.getPauseSandboxMethod) == null) {
          SandboxServiceGrpc.getPauseSandboxMethod = getPauseSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.PauseSandboxRequest, dev.sandboxengine.v1.PauseSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PauseSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.PauseSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.PauseSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("PauseSandbox"))
              .build();
        }
      }
    }
    return getPauseSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ResumeSandboxRequest,
      dev.sandboxengine.v1.ResumeSandboxResponse> getResumeSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResumeSandbox",
      requestType = dev.sandboxengine.v1.ResumeSandboxRequest.class,
      responseType = dev.sandboxengine.v1.ResumeSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ResumeSandboxRequest,
      dev.sandboxengine.v1.ResumeSandboxResponse> getResumeSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ResumeSandboxRequest, dev.sandboxengine.v1.ResumeSandboxResponse> getResumeSandboxMethod;
    if ((getResumeSandboxMethod = SandboxServiceGrpc.getResumeSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getResumeSandboxMethod = SandboxServiceGrpc.getResumeSandboxMethod) == null) {
          SandboxServiceGrpc.getResumeSandboxMethod = getResumeSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ResumeSandboxRequest, dev.sandboxengine.v1.ResumeSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResumeSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ResumeSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ResumeSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("ResumeSandbox"))
              .build();
        }
      }
    }
    return getResumeSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.InspectSandboxRequest,
      dev.sandboxengine.v1.InspectSandboxResponse> getInspectSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "InspectSandbox",
      requestType = dev.sandboxengine.v1.InspectSandboxRequest.class,
      responseType = dev.sandboxengine.v1.InspectSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.InspectSandboxRequest,
      dev.sandboxengine.v1.InspectSandboxResponse> getInspectSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.InspectSandboxRequest, dev.sandboxengine.v1.InspectSandboxResponse> getInspectSandboxMethod;
    if ((getInspectSandboxMethod = SandboxServiceGrpc.getInspectSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getInspectSandboxMethod = SandboxServiceGrpc.getInspectSandboxMethod) == null) {
          SandboxServiceGrpc.getInspectSandboxMethod = getInspectSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.InspectSandboxRequest, dev.sandboxengine.v1.InspectSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "InspectSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.InspectSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.InspectSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("InspectSandbox"))
              .build();
        }
      }
    }
    return getInspectSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.HibernateSandboxRequest,
      dev.sandboxengine.v1.HibernateSandboxResponse> getHibernateSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "HibernateSandbox",
      requestType = dev.sandboxengine.v1.HibernateSandboxRequest.class,
      responseType = dev.sandboxengine.v1.HibernateSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.HibernateSandboxRequest,
      dev.sandboxengine.v1.HibernateSandboxResponse> getHibernateSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.HibernateSandboxRequest, dev.sandboxengine.v1.HibernateSandboxResponse> getHibernateSandboxMethod;
    if ((getHibernateSandboxMethod = SandboxServiceGrpc.getHibernateSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getHibernateSandboxMethod = SandboxServiceGrpc.getHibernateSandboxMethod) == null) {
          SandboxServiceGrpc.getHibernateSandboxMethod = getHibernateSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.HibernateSandboxRequest, dev.sandboxengine.v1.HibernateSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "HibernateSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.HibernateSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.HibernateSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("HibernateSandbox"))
              .build();
        }
      }
    }
    return getHibernateSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.WakeSandboxRequest,
      dev.sandboxengine.v1.WakeSandboxResponse> getWakeSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WakeSandbox",
      requestType = dev.sandboxengine.v1.WakeSandboxRequest.class,
      responseType = dev.sandboxengine.v1.WakeSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.WakeSandboxRequest,
      dev.sandboxengine.v1.WakeSandboxResponse> getWakeSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.WakeSandboxRequest, dev.sandboxengine.v1.WakeSandboxResponse> getWakeSandboxMethod;
    if ((getWakeSandboxMethod = SandboxServiceGrpc.getWakeSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getWakeSandboxMethod = SandboxServiceGrpc.getWakeSandboxMethod) == null) {
          SandboxServiceGrpc.getWakeSandboxMethod = getWakeSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.WakeSandboxRequest, dev.sandboxengine.v1.WakeSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WakeSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WakeSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WakeSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("WakeSandbox"))
              .build();
        }
      }
    }
    return getWakeSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ForkSandboxRequest,
      dev.sandboxengine.v1.ForkSandboxResponse> getForkSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ForkSandbox",
      requestType = dev.sandboxengine.v1.ForkSandboxRequest.class,
      responseType = dev.sandboxengine.v1.ForkSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ForkSandboxRequest,
      dev.sandboxengine.v1.ForkSandboxResponse> getForkSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ForkSandboxRequest, dev.sandboxengine.v1.ForkSandboxResponse> getForkSandboxMethod;
    if ((getForkSandboxMethod = SandboxServiceGrpc.getForkSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getForkSandboxMethod = SandboxServiceGrpc.getForkSandboxMethod) == null) {
          SandboxServiceGrpc.getForkSandboxMethod = getForkSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ForkSandboxRequest, dev.sandboxengine.v1.ForkSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ForkSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ForkSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ForkSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("ForkSandbox"))
              .build();
        }
      }
    }
    return getForkSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenewSandboxRequest,
      dev.sandboxengine.v1.RenewSandboxResponse> getRenewSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RenewSandbox",
      requestType = dev.sandboxengine.v1.RenewSandboxRequest.class,
      responseType = dev.sandboxengine.v1.RenewSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenewSandboxRequest,
      dev.sandboxengine.v1.RenewSandboxResponse> getRenewSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenewSandboxRequest, dev.sandboxengine.v1.RenewSandboxResponse> getRenewSandboxMethod;
    if ((getRenewSandboxMethod = SandboxServiceGrpc.getRenewSandboxMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getRenewSandboxMethod = SandboxServiceGrpc.getRenewSandboxMethod) == null) {
          SandboxServiceGrpc.getRenewSandboxMethod = getRenewSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.RenewSandboxRequest, dev.sandboxengine.v1.RenewSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RenewSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RenewSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RenewSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("RenewSandbox"))
              .build();
        }
      }
    }
    return getRenewSandboxMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.AttachRequest,
      dev.sandboxengine.v1.AttachResponse> getAttachMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Attach",
      requestType = dev.sandboxengine.v1.AttachRequest.class,
      responseType = dev.sandboxengine.v1.AttachResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.AttachRequest,
      dev.sandboxengine.v1.AttachResponse> getAttachMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.AttachRequest, dev.sandboxengine.v1.AttachResponse> getAttachMethod;
    if ((getAttachMethod = SandboxServiceGrpc.getAttachMethod) == null) {
      synchronized (SandboxServiceGrpc.class) {
        if ((getAttachMethod = SandboxServiceGrpc.getAttachMethod) == null) {
          SandboxServiceGrpc.getAttachMethod = getAttachMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.AttachRequest, dev.sandboxengine.v1.AttachResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Attach"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.AttachRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.AttachResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SandboxServiceMethodDescriptorSupplier("Attach"))
              .build();
        }
      }
    }
    return getAttachMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SandboxServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SandboxServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SandboxServiceStub>() {
        @java.lang.Override
        public SandboxServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SandboxServiceStub(channel, callOptions);
        }
      };
    return SandboxServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SandboxServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SandboxServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SandboxServiceBlockingV2Stub>() {
        @java.lang.Override
        public SandboxServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SandboxServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SandboxServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SandboxServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SandboxServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SandboxServiceBlockingStub>() {
        @java.lang.Override
        public SandboxServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SandboxServiceBlockingStub(channel, callOptions);
        }
      };
    return SandboxServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SandboxServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SandboxServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SandboxServiceFutureStub>() {
        @java.lang.Override
        public SandboxServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SandboxServiceFutureStub(channel, callOptions);
        }
      };
    return SandboxServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * The life of sandboxes: each is one virtual machine cloned from a template.
   * Errors are `google.rpc.Status` with `ErrorInfo` (domain `sandbox-engine`, reason a value
   * of `ErrorReason` without its prefix), `RetryInfo` where trying again helps, and
   * `BadRequest` where a field is wrong.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Clones a template and hands the sandbox out once its identity is confirmed.
     * </pre>
     */
    default void createSandbox(dev.sandboxengine.v1.CreateSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.CreateSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * One sandbox the caller may see.
     * </pre>
     */
    default void getSandbox(dev.sandboxengine.v1.GetSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * The caller's sandboxes, oldest first, a page at a time.
     * </pre>
     */
    default void listSandboxes(dev.sandboxengine.v1.ListSandboxesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListSandboxesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListSandboxesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends the virtual machine and everything it held, except its workspace.
     * </pre>
     */
    default void destroySandbox(dev.sandboxengine.v1.DestroySandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DestroySandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDestroySandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stops the virtual CPUs; memory stays.
     * </pre>
     */
    default void pauseSandbox(dev.sandboxengine.v1.PauseSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.PauseSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPauseSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * Continues a paused sandbox.
     * </pre>
     */
    default void resumeSandbox(dev.sandboxengine.v1.ResumeSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ResumeSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResumeSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * What the kernel counts of the sandbox now.
     * </pre>
     */
    default void inspectSandbox(dev.sandboxengine.v1.InspectSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.InspectSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getInspectSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * Saves memory and disk durably, then ends the virtual machine.  Idempotent.
     * </pre>
     */
    default void hibernateSandbox(dev.sandboxengine.v1.HibernateSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.HibernateSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getHibernateSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * Brings a hibernated, archived or failed sandbox back.  Idempotent.
     * </pre>
     */
    default void wakeSandbox(dev.sandboxengine.v1.WakeSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WakeSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWakeSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * Clones a sandbox, memory included, into several children; all of them or none.
     * </pre>
     */
    default void forkSandbox(dev.sandboxengine.v1.ForkSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForkSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getForkSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets the lease to end a time from now; it can shorten as well as extend.
     * </pre>
     */
    default void renewSandbox(dev.sandboxengine.v1.RenewSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenewSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewSandboxMethod(), responseObserver);
    }

    /**
     * <pre>
     * Opens a session that lives as long as the stream.  Sandboxes created under its name
     * are destroyed when the stream ends, however it ends.
     * </pre>
     */
    default void attach(dev.sandboxengine.v1.AttachRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAttachMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SandboxService.
   * <pre>
   * The life of sandboxes: each is one virtual machine cloned from a template.
   * Errors are `google.rpc.Status` with `ErrorInfo` (domain `sandbox-engine`, reason a value
   * of `ErrorReason` without its prefix), `RetryInfo` where trying again helps, and
   * `BadRequest` where a field is wrong.
   * </pre>
   */
  public static abstract class SandboxServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SandboxServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SandboxService.
   * <pre>
   * The life of sandboxes: each is one virtual machine cloned from a template.
   * Errors are `google.rpc.Status` with `ErrorInfo` (domain `sandbox-engine`, reason a value
   * of `ErrorReason` without its prefix), `RetryInfo` where trying again helps, and
   * `BadRequest` where a field is wrong.
   * </pre>
   */
  public static final class SandboxServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SandboxServiceStub> {
    private SandboxServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SandboxServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SandboxServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Clones a template and hands the sandbox out once its identity is confirmed.
     * </pre>
     */
    public void createSandbox(dev.sandboxengine.v1.CreateSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.CreateSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One sandbox the caller may see.
     * </pre>
     */
    public void getSandbox(dev.sandboxengine.v1.GetSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The caller's sandboxes, oldest first, a page at a time.
     * </pre>
     */
    public void listSandboxes(dev.sandboxengine.v1.ListSandboxesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListSandboxesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListSandboxesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends the virtual machine and everything it held, except its workspace.
     * </pre>
     */
    public void destroySandbox(dev.sandboxengine.v1.DestroySandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DestroySandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDestroySandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stops the virtual CPUs; memory stays.
     * </pre>
     */
    public void pauseSandbox(dev.sandboxengine.v1.PauseSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.PauseSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPauseSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Continues a paused sandbox.
     * </pre>
     */
    public void resumeSandbox(dev.sandboxengine.v1.ResumeSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ResumeSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResumeSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * What the kernel counts of the sandbox now.
     * </pre>
     */
    public void inspectSandbox(dev.sandboxengine.v1.InspectSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.InspectSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getInspectSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Saves memory and disk durably, then ends the virtual machine.  Idempotent.
     * </pre>
     */
    public void hibernateSandbox(dev.sandboxengine.v1.HibernateSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.HibernateSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getHibernateSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Brings a hibernated, archived or failed sandbox back.  Idempotent.
     * </pre>
     */
    public void wakeSandbox(dev.sandboxengine.v1.WakeSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WakeSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getWakeSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Clones a sandbox, memory included, into several children; all of them or none.
     * </pre>
     */
    public void forkSandbox(dev.sandboxengine.v1.ForkSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForkSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getForkSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets the lease to end a time from now; it can shorten as well as extend.
     * </pre>
     */
    public void renewSandbox(dev.sandboxengine.v1.RenewSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenewSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewSandboxMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Opens a session that lives as long as the stream.  Sandboxes created under its name
     * are destroyed when the stream ends, however it ends.
     * </pre>
     */
    public void attach(dev.sandboxengine.v1.AttachRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getAttachMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SandboxService.
   * <pre>
   * The life of sandboxes: each is one virtual machine cloned from a template.
   * Errors are `google.rpc.Status` with `ErrorInfo` (domain `sandbox-engine`, reason a value
   * of `ErrorReason` without its prefix), `RetryInfo` where trying again helps, and
   * `BadRequest` where a field is wrong.
   * </pre>
   */
  public static final class SandboxServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SandboxServiceBlockingV2Stub> {
    private SandboxServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SandboxServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SandboxServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Clones a template and hands the sandbox out once its identity is confirmed.
     * </pre>
     */
    public dev.sandboxengine.v1.CreateSandboxResponse createSandbox(dev.sandboxengine.v1.CreateSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One sandbox the caller may see.
     * </pre>
     */
    public dev.sandboxengine.v1.GetSandboxResponse getSandbox(dev.sandboxengine.v1.GetSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The caller's sandboxes, oldest first, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListSandboxesResponse listSandboxes(dev.sandboxengine.v1.ListSandboxesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListSandboxesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends the virtual machine and everything it held, except its workspace.
     * </pre>
     */
    public dev.sandboxengine.v1.DestroySandboxResponse destroySandbox(dev.sandboxengine.v1.DestroySandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDestroySandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stops the virtual CPUs; memory stays.
     * </pre>
     */
    public dev.sandboxengine.v1.PauseSandboxResponse pauseSandbox(dev.sandboxengine.v1.PauseSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPauseSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Continues a paused sandbox.
     * </pre>
     */
    public dev.sandboxengine.v1.ResumeSandboxResponse resumeSandbox(dev.sandboxengine.v1.ResumeSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResumeSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What the kernel counts of the sandbox now.
     * </pre>
     */
    public dev.sandboxengine.v1.InspectSandboxResponse inspectSandbox(dev.sandboxengine.v1.InspectSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getInspectSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Saves memory and disk durably, then ends the virtual machine.  Idempotent.
     * </pre>
     */
    public dev.sandboxengine.v1.HibernateSandboxResponse hibernateSandbox(dev.sandboxengine.v1.HibernateSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getHibernateSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Brings a hibernated, archived or failed sandbox back.  Idempotent.
     * </pre>
     */
    public dev.sandboxengine.v1.WakeSandboxResponse wakeSandbox(dev.sandboxengine.v1.WakeSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getWakeSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Clones a sandbox, memory included, into several children; all of them or none.
     * </pre>
     */
    public dev.sandboxengine.v1.ForkSandboxResponse forkSandbox(dev.sandboxengine.v1.ForkSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getForkSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the lease to end a time from now; it can shorten as well as extend.
     * </pre>
     */
    public dev.sandboxengine.v1.RenewSandboxResponse renewSandbox(dev.sandboxengine.v1.RenewSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRenewSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Opens a session that lives as long as the stream.  Sandboxes created under its name
     * are destroyed when the stream ends, however it ends.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sandboxengine.v1.AttachResponse>
        attach(dev.sandboxengine.v1.AttachRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getAttachMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SandboxService.
   * <pre>
   * The life of sandboxes: each is one virtual machine cloned from a template.
   * Errors are `google.rpc.Status` with `ErrorInfo` (domain `sandbox-engine`, reason a value
   * of `ErrorReason` without its prefix), `RetryInfo` where trying again helps, and
   * `BadRequest` where a field is wrong.
   * </pre>
   */
  public static final class SandboxServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SandboxServiceBlockingStub> {
    private SandboxServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SandboxServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SandboxServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Clones a template and hands the sandbox out once its identity is confirmed.
     * </pre>
     */
    public dev.sandboxengine.v1.CreateSandboxResponse createSandbox(dev.sandboxengine.v1.CreateSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One sandbox the caller may see.
     * </pre>
     */
    public dev.sandboxengine.v1.GetSandboxResponse getSandbox(dev.sandboxengine.v1.GetSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The caller's sandboxes, oldest first, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListSandboxesResponse listSandboxes(dev.sandboxengine.v1.ListSandboxesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListSandboxesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends the virtual machine and everything it held, except its workspace.
     * </pre>
     */
    public dev.sandboxengine.v1.DestroySandboxResponse destroySandbox(dev.sandboxengine.v1.DestroySandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDestroySandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stops the virtual CPUs; memory stays.
     * </pre>
     */
    public dev.sandboxengine.v1.PauseSandboxResponse pauseSandbox(dev.sandboxengine.v1.PauseSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPauseSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Continues a paused sandbox.
     * </pre>
     */
    public dev.sandboxengine.v1.ResumeSandboxResponse resumeSandbox(dev.sandboxengine.v1.ResumeSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResumeSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What the kernel counts of the sandbox now.
     * </pre>
     */
    public dev.sandboxengine.v1.InspectSandboxResponse inspectSandbox(dev.sandboxengine.v1.InspectSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getInspectSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Saves memory and disk durably, then ends the virtual machine.  Idempotent.
     * </pre>
     */
    public dev.sandboxengine.v1.HibernateSandboxResponse hibernateSandbox(dev.sandboxengine.v1.HibernateSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getHibernateSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Brings a hibernated, archived or failed sandbox back.  Idempotent.
     * </pre>
     */
    public dev.sandboxengine.v1.WakeSandboxResponse wakeSandbox(dev.sandboxengine.v1.WakeSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getWakeSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Clones a sandbox, memory included, into several children; all of them or none.
     * </pre>
     */
    public dev.sandboxengine.v1.ForkSandboxResponse forkSandbox(dev.sandboxengine.v1.ForkSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getForkSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the lease to end a time from now; it can shorten as well as extend.
     * </pre>
     */
    public dev.sandboxengine.v1.RenewSandboxResponse renewSandbox(dev.sandboxengine.v1.RenewSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewSandboxMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Opens a session that lives as long as the stream.  Sandboxes created under its name
     * are destroyed when the stream ends, however it ends.
     * </pre>
     */
    public java.util.Iterator<dev.sandboxengine.v1.AttachResponse> attach(
        dev.sandboxengine.v1.AttachRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getAttachMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SandboxService.
   * <pre>
   * The life of sandboxes: each is one virtual machine cloned from a template.
   * Errors are `google.rpc.Status` with `ErrorInfo` (domain `sandbox-engine`, reason a value
   * of `ErrorReason` without its prefix), `RetryInfo` where trying again helps, and
   * `BadRequest` where a field is wrong.
   * </pre>
   */
  public static final class SandboxServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SandboxServiceFutureStub> {
    private SandboxServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SandboxServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SandboxServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Clones a template and hands the sandbox out once its identity is confirmed.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.CreateSandboxResponse> createSandbox(
        dev.sandboxengine.v1.CreateSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One sandbox the caller may see.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.GetSandboxResponse> getSandbox(
        dev.sandboxengine.v1.GetSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The caller's sandboxes, oldest first, a page at a time.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ListSandboxesResponse> listSandboxes(
        dev.sandboxengine.v1.ListSandboxesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListSandboxesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends the virtual machine and everything it held, except its workspace.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.DestroySandboxResponse> destroySandbox(
        dev.sandboxengine.v1.DestroySandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDestroySandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stops the virtual CPUs; memory stays.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.PauseSandboxResponse> pauseSandbox(
        dev.sandboxengine.v1.PauseSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPauseSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Continues a paused sandbox.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ResumeSandboxResponse> resumeSandbox(
        dev.sandboxengine.v1.ResumeSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResumeSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * What the kernel counts of the sandbox now.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.InspectSandboxResponse> inspectSandbox(
        dev.sandboxengine.v1.InspectSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getInspectSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Saves memory and disk durably, then ends the virtual machine.  Idempotent.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.HibernateSandboxResponse> hibernateSandbox(
        dev.sandboxengine.v1.HibernateSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getHibernateSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Brings a hibernated, archived or failed sandbox back.  Idempotent.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.WakeSandboxResponse> wakeSandbox(
        dev.sandboxengine.v1.WakeSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getWakeSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Clones a sandbox, memory included, into several children; all of them or none.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ForkSandboxResponse> forkSandbox(
        dev.sandboxengine.v1.ForkSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getForkSandboxMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets the lease to end a time from now; it can shorten as well as extend.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.RenewSandboxResponse> renewSandbox(
        dev.sandboxengine.v1.RenewSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewSandboxMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_SANDBOX = 0;
  private static final int METHODID_GET_SANDBOX = 1;
  private static final int METHODID_LIST_SANDBOXES = 2;
  private static final int METHODID_DESTROY_SANDBOX = 3;
  private static final int METHODID_PAUSE_SANDBOX = 4;
  private static final int METHODID_RESUME_SANDBOX = 5;
  private static final int METHODID_INSPECT_SANDBOX = 6;
  private static final int METHODID_HIBERNATE_SANDBOX = 7;
  private static final int METHODID_WAKE_SANDBOX = 8;
  private static final int METHODID_FORK_SANDBOX = 9;
  private static final int METHODID_RENEW_SANDBOX = 10;
  private static final int METHODID_ATTACH = 11;

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
        case METHODID_CREATE_SANDBOX:
          serviceImpl.createSandbox((dev.sandboxengine.v1.CreateSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.CreateSandboxResponse>) responseObserver);
          break;
        case METHODID_GET_SANDBOX:
          serviceImpl.getSandbox((dev.sandboxengine.v1.GetSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetSandboxResponse>) responseObserver);
          break;
        case METHODID_LIST_SANDBOXES:
          serviceImpl.listSandboxes((dev.sandboxengine.v1.ListSandboxesRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListSandboxesResponse>) responseObserver);
          break;
        case METHODID_DESTROY_SANDBOX:
          serviceImpl.destroySandbox((dev.sandboxengine.v1.DestroySandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DestroySandboxResponse>) responseObserver);
          break;
        case METHODID_PAUSE_SANDBOX:
          serviceImpl.pauseSandbox((dev.sandboxengine.v1.PauseSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.PauseSandboxResponse>) responseObserver);
          break;
        case METHODID_RESUME_SANDBOX:
          serviceImpl.resumeSandbox((dev.sandboxengine.v1.ResumeSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ResumeSandboxResponse>) responseObserver);
          break;
        case METHODID_INSPECT_SANDBOX:
          serviceImpl.inspectSandbox((dev.sandboxengine.v1.InspectSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.InspectSandboxResponse>) responseObserver);
          break;
        case METHODID_HIBERNATE_SANDBOX:
          serviceImpl.hibernateSandbox((dev.sandboxengine.v1.HibernateSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.HibernateSandboxResponse>) responseObserver);
          break;
        case METHODID_WAKE_SANDBOX:
          serviceImpl.wakeSandbox((dev.sandboxengine.v1.WakeSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WakeSandboxResponse>) responseObserver);
          break;
        case METHODID_FORK_SANDBOX:
          serviceImpl.forkSandbox((dev.sandboxengine.v1.ForkSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ForkSandboxResponse>) responseObserver);
          break;
        case METHODID_RENEW_SANDBOX:
          serviceImpl.renewSandbox((dev.sandboxengine.v1.RenewSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenewSandboxResponse>) responseObserver);
          break;
        case METHODID_ATTACH:
          serviceImpl.attach((dev.sandboxengine.v1.AttachRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AttachResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getCreateSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.CreateSandboxRequest,
              dev.sandboxengine.v1.CreateSandboxResponse>(
                service, METHODID_CREATE_SANDBOX)))
        .addMethod(
          getGetSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.GetSandboxRequest,
              dev.sandboxengine.v1.GetSandboxResponse>(
                service, METHODID_GET_SANDBOX)))
        .addMethod(
          getListSandboxesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ListSandboxesRequest,
              dev.sandboxengine.v1.ListSandboxesResponse>(
                service, METHODID_LIST_SANDBOXES)))
        .addMethod(
          getDestroySandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.DestroySandboxRequest,
              dev.sandboxengine.v1.DestroySandboxResponse>(
                service, METHODID_DESTROY_SANDBOX)))
        .addMethod(
          getPauseSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.PauseSandboxRequest,
              dev.sandboxengine.v1.PauseSandboxResponse>(
                service, METHODID_PAUSE_SANDBOX)))
        .addMethod(
          getResumeSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ResumeSandboxRequest,
              dev.sandboxengine.v1.ResumeSandboxResponse>(
                service, METHODID_RESUME_SANDBOX)))
        .addMethod(
          getInspectSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.InspectSandboxRequest,
              dev.sandboxengine.v1.InspectSandboxResponse>(
                service, METHODID_INSPECT_SANDBOX)))
        .addMethod(
          getHibernateSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.HibernateSandboxRequest,
              dev.sandboxengine.v1.HibernateSandboxResponse>(
                service, METHODID_HIBERNATE_SANDBOX)))
        .addMethod(
          getWakeSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.WakeSandboxRequest,
              dev.sandboxengine.v1.WakeSandboxResponse>(
                service, METHODID_WAKE_SANDBOX)))
        .addMethod(
          getForkSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ForkSandboxRequest,
              dev.sandboxengine.v1.ForkSandboxResponse>(
                service, METHODID_FORK_SANDBOX)))
        .addMethod(
          getRenewSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.RenewSandboxRequest,
              dev.sandboxengine.v1.RenewSandboxResponse>(
                service, METHODID_RENEW_SANDBOX)))
        .addMethod(
          getAttachMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.AttachRequest,
              dev.sandboxengine.v1.AttachResponse>(
                service, METHODID_ATTACH)))
        .build();
  }

  private static abstract class SandboxServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SandboxServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sandboxengine.v1.SandboxesProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SandboxService");
    }
  }

  private static final class SandboxServiceFileDescriptorSupplier
      extends SandboxServiceBaseDescriptorSupplier {
    SandboxServiceFileDescriptorSupplier() {}
  }

  private static final class SandboxServiceMethodDescriptorSupplier
      extends SandboxServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SandboxServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (SandboxServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SandboxServiceFileDescriptorSupplier())
              .addMethod(getCreateSandboxMethod())
              .addMethod(getGetSandboxMethod())
              .addMethod(getListSandboxesMethod())
              .addMethod(getDestroySandboxMethod())
              .addMethod(getPauseSandboxMethod())
              .addMethod(getResumeSandboxMethod())
              .addMethod(getInspectSandboxMethod())
              .addMethod(getHibernateSandboxMethod())
              .addMethod(getWakeSandboxMethod())
              .addMethod(getForkSandboxMethod())
              .addMethod(getRenewSandboxMethod())
              .addMethod(getAttachMethod())
              .build();
        }
      }
    }
    return result;
  }
}
