package dev.sandboxengine.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Snapshot templates: what sandboxes are cloned from.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class TemplateServiceGrpc {

  private TemplateServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sandbox.v1.TemplateService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.BuildTemplateRequest,
      dev.sandboxengine.v1.BuildTemplateResponse> getBuildTemplateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BuildTemplate",
      requestType = dev.sandboxengine.v1.BuildTemplateRequest.class,
      responseType = dev.sandboxengine.v1.BuildTemplateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.BuildTemplateRequest,
      dev.sandboxengine.v1.BuildTemplateResponse> getBuildTemplateMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.BuildTemplateRequest, dev.sandboxengine.v1.BuildTemplateResponse> getBuildTemplateMethod;
    if ((getBuildTemplateMethod = TemplateServiceGrpc.getBuildTemplateMethod) == null) {
      synchronized (TemplateServiceGrpc.class) {
        if ((getBuildTemplateMethod = TemplateServiceGrpc.getBuildTemplateMethod) == null) {
          TemplateServiceGrpc.getBuildTemplateMethod = getBuildTemplateMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.BuildTemplateRequest, dev.sandboxengine.v1.BuildTemplateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BuildTemplate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.BuildTemplateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.BuildTemplateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TemplateServiceMethodDescriptorSupplier("BuildTemplate"))
              .build();
        }
      }
    }
    return getBuildTemplateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListTemplatesRequest,
      dev.sandboxengine.v1.ListTemplatesResponse> getListTemplatesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListTemplates",
      requestType = dev.sandboxengine.v1.ListTemplatesRequest.class,
      responseType = dev.sandboxengine.v1.ListTemplatesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListTemplatesRequest,
      dev.sandboxengine.v1.ListTemplatesResponse> getListTemplatesMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListTemplatesRequest, dev.sandboxengine.v1.ListTemplatesResponse> getListTemplatesMethod;
    if ((getListTemplatesMethod = TemplateServiceGrpc.getListTemplatesMethod) == null) {
      synchronized (TemplateServiceGrpc.class) {
        if ((getListTemplatesMethod = TemplateServiceGrpc.getListTemplatesMethod) == null) {
          TemplateServiceGrpc.getListTemplatesMethod = getListTemplatesMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ListTemplatesRequest, dev.sandboxengine.v1.ListTemplatesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListTemplates"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListTemplatesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListTemplatesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TemplateServiceMethodDescriptorSupplier("ListTemplates"))
              .build();
        }
      }
    }
    return getListTemplatesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetTemplateRequest,
      dev.sandboxengine.v1.GetTemplateResponse> getGetTemplateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetTemplate",
      requestType = dev.sandboxengine.v1.GetTemplateRequest.class,
      responseType = dev.sandboxengine.v1.GetTemplateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetTemplateRequest,
      dev.sandboxengine.v1.GetTemplateResponse> getGetTemplateMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetTemplateRequest, dev.sandboxengine.v1.GetTemplateResponse> getGetTemplateMethod;
    if ((getGetTemplateMethod = TemplateServiceGrpc.getGetTemplateMethod) == null) {
      synchronized (TemplateServiceGrpc.class) {
        if ((getGetTemplateMethod = TemplateServiceGrpc.getGetTemplateMethod) == null) {
          TemplateServiceGrpc.getGetTemplateMethod = getGetTemplateMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.GetTemplateRequest, dev.sandboxengine.v1.GetTemplateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetTemplate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetTemplateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetTemplateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TemplateServiceMethodDescriptorSupplier("GetTemplate"))
              .build();
        }
      }
    }
    return getGetTemplateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.VerifyTemplateRequest,
      dev.sandboxengine.v1.VerifyTemplateResponse> getVerifyTemplateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "VerifyTemplate",
      requestType = dev.sandboxengine.v1.VerifyTemplateRequest.class,
      responseType = dev.sandboxengine.v1.VerifyTemplateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.VerifyTemplateRequest,
      dev.sandboxengine.v1.VerifyTemplateResponse> getVerifyTemplateMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.VerifyTemplateRequest, dev.sandboxengine.v1.VerifyTemplateResponse> getVerifyTemplateMethod;
    if ((getVerifyTemplateMethod = TemplateServiceGrpc.getVerifyTemplateMethod) == null) {
      synchronized (TemplateServiceGrpc.class) {
        if ((getVerifyTemplateMethod = TemplateServiceGrpc.getVerifyTemplateMethod) == null) {
          TemplateServiceGrpc.getVerifyTemplateMethod = getVerifyTemplateMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.VerifyTemplateRequest, dev.sandboxengine.v1.VerifyTemplateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "VerifyTemplate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.VerifyTemplateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.VerifyTemplateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TemplateServiceMethodDescriptorSupplier("VerifyTemplate"))
              .build();
        }
      }
    }
    return getVerifyTemplateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.RemoveTemplateRequest,
      dev.sandboxengine.v1.RemoveTemplateResponse> getRemoveTemplateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RemoveTemplate",
      requestType = dev.sandboxengine.v1.RemoveTemplateRequest.class,
      responseType = dev.sandboxengine.v1.RemoveTemplateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.RemoveTemplateRequest,
      dev.sandboxengine.v1.RemoveTemplateResponse> getRemoveTemplateMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.RemoveTemplateRequest, dev.sandboxengine.v1.RemoveTemplateResponse> getRemoveTemplateMethod;
    if ((getRemoveTemplateMethod = TemplateServiceGrpc.getRemoveTemplateMethod) == null) {
      synchronized (TemplateServiceGrpc.class) {
        if ((getRemoveTemplateMethod = TemplateServiceGrpc.getRemoveTemplateMethod) == null) {
          TemplateServiceGrpc.getRemoveTemplateMethod = getRemoveTemplateMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.RemoveTemplateRequest, dev.sandboxengine.v1.RemoveTemplateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RemoveTemplate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RemoveTemplateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RemoveTemplateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TemplateServiceMethodDescriptorSupplier("RemoveTemplate"))
              .build();
        }
      }
    }
    return getRemoveTemplateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.SetTemplateLabelsRequest,
      dev.sandboxengine.v1.SetTemplateLabelsResponse> getSetTemplateLabelsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetTemplateLabels",
      requestType = dev.sandboxengine.v1.SetTemplateLabelsRequest.class,
      responseType = dev.sandboxengine.v1.SetTemplateLabelsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.SetTemplateLabelsRequest,
      dev.sandboxengine.v1.SetTemplateLabelsResponse> getSetTemplateLabelsMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.SetTemplateLabelsRequest, dev.sandboxengine.v1.SetTemplateLabelsResponse> getSetTemplateLabelsMethod;
    if ((getSetTemplateLabelsMethod = TemplateServiceGrpc.getSetTemplateLabelsMethod) == null) {
      synchronized (TemplateServiceGrpc.class) {
        if ((getSetTemplateLabelsMethod = TemplateServiceGrpc.getSetTemplateLabelsMethod) == null) {
          TemplateServiceGrpc.getSetTemplateLabelsMethod = getSetTemplateLabelsMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.SetTemplateLabelsRequest, dev.sandboxengine.v1.SetTemplateLabelsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetTemplateLabels"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.SetTemplateLabelsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.SetTemplateLabelsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TemplateServiceMethodDescriptorSupplier("SetTemplateLabels"))
              .build();
        }
      }
    }
    return getSetTemplateLabelsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static TemplateServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TemplateServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TemplateServiceStub>() {
        @java.lang.Override
        public TemplateServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TemplateServiceStub(channel, callOptions);
        }
      };
    return TemplateServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static TemplateServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TemplateServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TemplateServiceBlockingV2Stub>() {
        @java.lang.Override
        public TemplateServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TemplateServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return TemplateServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static TemplateServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TemplateServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TemplateServiceBlockingStub>() {
        @java.lang.Override
        public TemplateServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TemplateServiceBlockingStub(channel, callOptions);
        }
      };
    return TemplateServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static TemplateServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TemplateServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TemplateServiceFutureStub>() {
        @java.lang.Override
        public TemplateServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TemplateServiceFutureStub(channel, callOptions);
        }
      };
    return TemplateServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Snapshot templates: what sandboxes are cloned from.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Builds a template and tells its progress.  What a failed build finished is kept, so
     * that the next one of the same inputs continues there; nothing half-built is published.
     * Without `detach` a build ends with its stream.
     * </pre>
     */
    default void buildTemplate(dev.sandboxengine.v1.BuildTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.BuildTemplateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBuildTemplateMethod(), responseObserver);
    }

    /**
     * <pre>
     * The node's templates, by name, a page at a time.
     * </pre>
     */
    default void listTemplates(dev.sandboxengine.v1.ListTemplatesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListTemplatesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListTemplatesMethod(), responseObserver);
    }

    /**
     * <pre>
     * One template.
     * </pre>
     */
    default void getTemplate(dev.sandboxengine.v1.GetTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetTemplateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetTemplateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Hashes every file of a template and compares it with the manifest.
     * </pre>
     */
    default void verifyTemplate(dev.sandboxengine.v1.VerifyTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.VerifyTemplateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getVerifyTemplateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a template; sandboxes cloned from it run on.
     * </pre>
     */
    default void removeTemplate(dev.sandboxengine.v1.RemoveTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RemoveTemplateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRemoveTemplateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces the labels of a template.
     * </pre>
     */
    default void setTemplateLabels(dev.sandboxengine.v1.SetTemplateLabelsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SetTemplateLabelsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetTemplateLabelsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service TemplateService.
   * <pre>
   * Snapshot templates: what sandboxes are cloned from.
   * </pre>
   */
  public static abstract class TemplateServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return TemplateServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service TemplateService.
   * <pre>
   * Snapshot templates: what sandboxes are cloned from.
   * </pre>
   */
  public static final class TemplateServiceStub
      extends io.grpc.stub.AbstractAsyncStub<TemplateServiceStub> {
    private TemplateServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TemplateServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TemplateServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Builds a template and tells its progress.  What a failed build finished is kept, so
     * that the next one of the same inputs continues there; nothing half-built is published.
     * Without `detach` a build ends with its stream.
     * </pre>
     */
    public void buildTemplate(dev.sandboxengine.v1.BuildTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.BuildTemplateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getBuildTemplateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The node's templates, by name, a page at a time.
     * </pre>
     */
    public void listTemplates(dev.sandboxengine.v1.ListTemplatesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListTemplatesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListTemplatesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One template.
     * </pre>
     */
    public void getTemplate(dev.sandboxengine.v1.GetTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetTemplateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetTemplateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Hashes every file of a template and compares it with the manifest.
     * </pre>
     */
    public void verifyTemplate(dev.sandboxengine.v1.VerifyTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.VerifyTemplateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getVerifyTemplateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a template; sandboxes cloned from it run on.
     * </pre>
     */
    public void removeTemplate(dev.sandboxengine.v1.RemoveTemplateRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RemoveTemplateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRemoveTemplateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces the labels of a template.
     * </pre>
     */
    public void setTemplateLabels(dev.sandboxengine.v1.SetTemplateLabelsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SetTemplateLabelsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetTemplateLabelsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service TemplateService.
   * <pre>
   * Snapshot templates: what sandboxes are cloned from.
   * </pre>
   */
  public static final class TemplateServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<TemplateServiceBlockingV2Stub> {
    private TemplateServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TemplateServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TemplateServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Builds a template and tells its progress.  What a failed build finished is kept, so
     * that the next one of the same inputs continues there; nothing half-built is published.
     * Without `detach` a build ends with its stream.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sandboxengine.v1.BuildTemplateResponse>
        buildTemplate(dev.sandboxengine.v1.BuildTemplateRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getBuildTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The node's templates, by name, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListTemplatesResponse listTemplates(dev.sandboxengine.v1.ListTemplatesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListTemplatesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One template.
     * </pre>
     */
    public dev.sandboxengine.v1.GetTemplateResponse getTemplate(dev.sandboxengine.v1.GetTemplateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Hashes every file of a template and compares it with the manifest.
     * </pre>
     */
    public dev.sandboxengine.v1.VerifyTemplateResponse verifyTemplate(dev.sandboxengine.v1.VerifyTemplateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getVerifyTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a template; sandboxes cloned from it run on.
     * </pre>
     */
    public dev.sandboxengine.v1.RemoveTemplateResponse removeTemplate(dev.sandboxengine.v1.RemoveTemplateRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRemoveTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the labels of a template.
     * </pre>
     */
    public dev.sandboxengine.v1.SetTemplateLabelsResponse setTemplateLabels(dev.sandboxengine.v1.SetTemplateLabelsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetTemplateLabelsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service TemplateService.
   * <pre>
   * Snapshot templates: what sandboxes are cloned from.
   * </pre>
   */
  public static final class TemplateServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<TemplateServiceBlockingStub> {
    private TemplateServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TemplateServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TemplateServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Builds a template and tells its progress.  What a failed build finished is kept, so
     * that the next one of the same inputs continues there; nothing half-built is published.
     * Without `detach` a build ends with its stream.
     * </pre>
     */
    public java.util.Iterator<dev.sandboxengine.v1.BuildTemplateResponse> buildTemplate(
        dev.sandboxengine.v1.BuildTemplateRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getBuildTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The node's templates, by name, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListTemplatesResponse listTemplates(dev.sandboxengine.v1.ListTemplatesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListTemplatesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One template.
     * </pre>
     */
    public dev.sandboxengine.v1.GetTemplateResponse getTemplate(dev.sandboxengine.v1.GetTemplateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Hashes every file of a template and compares it with the manifest.
     * </pre>
     */
    public dev.sandboxengine.v1.VerifyTemplateResponse verifyTemplate(dev.sandboxengine.v1.VerifyTemplateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getVerifyTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a template; sandboxes cloned from it run on.
     * </pre>
     */
    public dev.sandboxengine.v1.RemoveTemplateResponse removeTemplate(dev.sandboxengine.v1.RemoveTemplateRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRemoveTemplateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the labels of a template.
     * </pre>
     */
    public dev.sandboxengine.v1.SetTemplateLabelsResponse setTemplateLabels(dev.sandboxengine.v1.SetTemplateLabelsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetTemplateLabelsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service TemplateService.
   * <pre>
   * Snapshot templates: what sandboxes are cloned from.
   * </pre>
   */
  public static final class TemplateServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<TemplateServiceFutureStub> {
    private TemplateServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TemplateServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TemplateServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * The node's templates, by name, a page at a time.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ListTemplatesResponse> listTemplates(
        dev.sandboxengine.v1.ListTemplatesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListTemplatesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One template.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.GetTemplateResponse> getTemplate(
        dev.sandboxengine.v1.GetTemplateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetTemplateMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Hashes every file of a template and compares it with the manifest.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.VerifyTemplateResponse> verifyTemplate(
        dev.sandboxengine.v1.VerifyTemplateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getVerifyTemplateMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a template; sandboxes cloned from it run on.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.RemoveTemplateResponse> removeTemplate(
        dev.sandboxengine.v1.RemoveTemplateRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRemoveTemplateMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Replaces the labels of a template.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.SetTemplateLabelsResponse> setTemplateLabels(
        dev.sandboxengine.v1.SetTemplateLabelsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetTemplateLabelsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_BUILD_TEMPLATE = 0;
  private static final int METHODID_LIST_TEMPLATES = 1;
  private static final int METHODID_GET_TEMPLATE = 2;
  private static final int METHODID_VERIFY_TEMPLATE = 3;
  private static final int METHODID_REMOVE_TEMPLATE = 4;
  private static final int METHODID_SET_TEMPLATE_LABELS = 5;

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
        case METHODID_BUILD_TEMPLATE:
          serviceImpl.buildTemplate((dev.sandboxengine.v1.BuildTemplateRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.BuildTemplateResponse>) responseObserver);
          break;
        case METHODID_LIST_TEMPLATES:
          serviceImpl.listTemplates((dev.sandboxengine.v1.ListTemplatesRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListTemplatesResponse>) responseObserver);
          break;
        case METHODID_GET_TEMPLATE:
          serviceImpl.getTemplate((dev.sandboxengine.v1.GetTemplateRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetTemplateResponse>) responseObserver);
          break;
        case METHODID_VERIFY_TEMPLATE:
          serviceImpl.verifyTemplate((dev.sandboxengine.v1.VerifyTemplateRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.VerifyTemplateResponse>) responseObserver);
          break;
        case METHODID_REMOVE_TEMPLATE:
          serviceImpl.removeTemplate((dev.sandboxengine.v1.RemoveTemplateRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RemoveTemplateResponse>) responseObserver);
          break;
        case METHODID_SET_TEMPLATE_LABELS:
          serviceImpl.setTemplateLabels((dev.sandboxengine.v1.SetTemplateLabelsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SetTemplateLabelsResponse>) responseObserver);
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
          getBuildTemplateMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.BuildTemplateRequest,
              dev.sandboxengine.v1.BuildTemplateResponse>(
                service, METHODID_BUILD_TEMPLATE)))
        .addMethod(
          getListTemplatesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ListTemplatesRequest,
              dev.sandboxengine.v1.ListTemplatesResponse>(
                service, METHODID_LIST_TEMPLATES)))
        .addMethod(
          getGetTemplateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.GetTemplateRequest,
              dev.sandboxengine.v1.GetTemplateResponse>(
                service, METHODID_GET_TEMPLATE)))
        .addMethod(
          getVerifyTemplateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.VerifyTemplateRequest,
              dev.sandboxengine.v1.VerifyTemplateResponse>(
                service, METHODID_VERIFY_TEMPLATE)))
        .addMethod(
          getRemoveTemplateMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.RemoveTemplateRequest,
              dev.sandboxengine.v1.RemoveTemplateResponse>(
                service, METHODID_REMOVE_TEMPLATE)))
        .addMethod(
          getSetTemplateLabelsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.SetTemplateLabelsRequest,
              dev.sandboxengine.v1.SetTemplateLabelsResponse>(
                service, METHODID_SET_TEMPLATE_LABELS)))
        .build();
  }

  private static abstract class TemplateServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    TemplateServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sandboxengine.v1.TemplatesProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("TemplateService");
    }
  }

  private static final class TemplateServiceFileDescriptorSupplier
      extends TemplateServiceBaseDescriptorSupplier {
    TemplateServiceFileDescriptorSupplier() {}
  }

  private static final class TemplateServiceMethodDescriptorSupplier
      extends TemplateServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    TemplateServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (TemplateServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new TemplateServiceFileDescriptorSupplier())
              .addMethod(getBuildTemplateMethod())
              .addMethod(getListTemplatesMethod())
              .addMethod(getGetTemplateMethod())
              .addMethod(getVerifyTemplateMethod())
              .addMethod(getRemoveTemplateMethod())
              .addMethod(getSetTemplateLabelsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
