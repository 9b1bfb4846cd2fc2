package dev.sandboxengine.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Internal: how the egress broker asks the engine who a guest is and what it may reach.
 * Not for clients, and without their promise of stability.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class BrokerServiceGrpc {

  private BrokerServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sandbox.v1.BrokerService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.AuthorizeRequest,
      dev.sandboxengine.v1.AuthorizeResponse> getAuthorizeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Authorize",
      requestType = dev.sandboxengine.v1.AuthorizeRequest.class,
      responseType = dev.sandboxengine.v1.AuthorizeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.AuthorizeRequest,
      dev.sandboxengine.v1.AuthorizeResponse> getAuthorizeMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.AuthorizeRequest, dev.sandboxengine.v1.AuthorizeResponse> getAuthorizeMethod;
    if ((getAuthorizeMethod = BrokerServiceGrpc.getAuthorizeMethod) == null) {
      synchronized (BrokerServiceGrpc.class) {
        if ((getAuthorizeMethod = BrokerServiceGrpc.getAuthorizeMethod) == null) {
          BrokerServiceGrpc.getAuthorizeMethod = getAuthorizeMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.AuthorizeRequest, dev.sandboxengine.v1.AuthorizeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Authorize"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.AuthorizeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.AuthorizeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BrokerServiceMethodDescriptorSupplier("Authorize"))
              .build();
        }
      }
    }
    return getAuthorizeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.WatchRevocationsRequest,
      dev.sandboxengine.v1.WatchRevocationsResponse> getWatchRevocationsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchRevocations",
      requestType = dev.sandboxengine.v1.WatchRevocationsRequest.class,
      responseType = dev.sandboxengine.v1.WatchRevocationsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.WatchRevocationsRequest,
      dev.sandboxengine.v1.WatchRevocationsResponse> getWatchRevocationsMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.WatchRevocationsRequest, dev.sandboxengine.v1.WatchRevocationsResponse> getWatchRevocationsMethod;
    if ((getWatchRevocationsMethod = BrokerServiceGrpc.getWatchRevocationsMethod) == null) {
      synchronized (BrokerServiceGrpc.class) {
        if ((getWatchRevocationsMethod = BrokerServiceGrpc.getWatchRevocationsMethod) == null) {
          BrokerServiceGrpc.getWatchRevocationsMethod = getWatchRevocationsMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.WatchRevocationsRequest, dev.sandboxengine.v1.WatchRevocationsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchRevocations"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WatchRevocationsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.WatchRevocationsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BrokerServiceMethodDescriptorSupplier("WatchRevocations"))
              .build();
        }
      }
    }
    return getWatchRevocationsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ReportEgressRequest,
      dev.sandboxengine.v1.ReportEgressResponse> getReportEgressMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportEgress",
      requestType = dev.sandboxengine.v1.ReportEgressRequest.class,
      responseType = dev.sandboxengine.v1.ReportEgressResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ReportEgressRequest,
      dev.sandboxengine.v1.ReportEgressResponse> getReportEgressMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ReportEgressRequest, dev.sandboxengine.v1.ReportEgressResponse> getReportEgressMethod;
    if ((getReportEgressMethod = BrokerServiceGrpc.getReportEgressMethod) == null) {
      synchronized (BrokerServiceGrpc.class) {
        if ((getReportEgressMethod = BrokerServiceGrpc.getReportEgressMethod) == null) {
          BrokerServiceGrpc.getReportEgressMethod = getReportEgressMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ReportEgressRequest, dev.sandboxengine.v1.ReportEgressResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportEgress"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ReportEgressRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ReportEgressResponse.getDefaultInstance()))
              .setSchemaDescriptor(new BrokerServiceMethodDescriptorSupplier("ReportEgress"))
              .build();
        }
      }
    }
    return getReportEgressMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static BrokerServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BrokerServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BrokerServiceStub>() {
        @java.lang.Override
        public BrokerServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BrokerServiceStub(channel, callOptions);
        }
      };
    return BrokerServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static BrokerServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BrokerServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BrokerServiceBlockingV2Stub>() {
        @java.lang.Override
        public BrokerServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BrokerServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return BrokerServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static BrokerServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BrokerServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BrokerServiceBlockingStub>() {
        @java.lang.Override
        public BrokerServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BrokerServiceBlockingStub(channel, callOptions);
        }
      };
    return BrokerServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static BrokerServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<BrokerServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<BrokerServiceFutureStub>() {
        @java.lang.Override
        public BrokerServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new BrokerServiceFutureStub(channel, callOptions);
        }
      };
    return BrokerServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Internal: how the egress broker asks the engine who a guest is and what it may reach.
   * Not for clients, and without their promise of stability.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Who presents this identity, and what it may reach.  Fails with UNAUTHENTICATED where
     * the identity is unknown or its sandbox is gone.
     * </pre>
     */
    default void authorize(dev.sandboxengine.v1.AuthorizeRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AuthorizeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAuthorizeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Tells which sandboxes' cached answers must be dropped.
     * </pre>
     */
    default void watchRevocations(dev.sandboxengine.v1.WatchRevocationsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WatchRevocationsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchRevocationsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Hands in what was decided and moved, for usage and audit.
     * </pre>
     */
    default void reportEgress(dev.sandboxengine.v1.ReportEgressRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ReportEgressResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportEgressMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service BrokerService.
   * <pre>
   * Internal: how the egress broker asks the engine who a guest is and what it may reach.
   * Not for clients, and without their promise of stability.
   * </pre>
   */
  public static abstract class BrokerServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return BrokerServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service BrokerService.
   * <pre>
   * Internal: how the egress broker asks the engine who a guest is and what it may reach.
   * Not for clients, and without their promise of stability.
   * </pre>
   */
  public static final class BrokerServiceStub
      extends io.grpc.stub.AbstractAsyncStub<BrokerServiceStub> {
    private BrokerServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BrokerServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BrokerServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Who presents this identity, and what it may reach.  Fails with UNAUTHENTICATED where
     * the identity is unknown or its sandbox is gone.
     * </pre>
     */
    public void authorize(dev.sandboxengine.v1.AuthorizeRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AuthorizeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAuthorizeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Tells which sandboxes' cached answers must be dropped.
     * </pre>
     */
    public void watchRevocations(dev.sandboxengine.v1.WatchRevocationsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WatchRevocationsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchRevocationsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Hands in what was decided and moved, for usage and audit.
     * </pre>
     */
    public void reportEgress(dev.sandboxengine.v1.ReportEgressRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ReportEgressResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportEgressMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service BrokerService.
   * <pre>
   * Internal: how the egress broker asks the engine who a guest is and what it may reach.
   * Not for clients, and without their promise of stability.
   * </pre>
   */
  public static final class BrokerServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<BrokerServiceBlockingV2Stub> {
    private BrokerServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BrokerServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BrokerServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Who presents this identity, and what it may reach.  Fails with UNAUTHENTICATED where
     * the identity is unknown or its sandbox is gone.
     * </pre>
     */
    public dev.sandboxengine.v1.AuthorizeResponse authorize(dev.sandboxengine.v1.AuthorizeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAuthorizeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells which sandboxes' cached answers must be dropped.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sandboxengine.v1.WatchRevocationsResponse>
        watchRevocations(dev.sandboxengine.v1.WatchRevocationsRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchRevocationsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Hands in what was decided and moved, for usage and audit.
     * </pre>
     */
    public dev.sandboxengine.v1.ReportEgressResponse reportEgress(dev.sandboxengine.v1.ReportEgressRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReportEgressMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service BrokerService.
   * <pre>
   * Internal: how the egress broker asks the engine who a guest is and what it may reach.
   * Not for clients, and without their promise of stability.
   * </pre>
   */
  public static final class BrokerServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<BrokerServiceBlockingStub> {
    private BrokerServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BrokerServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BrokerServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Who presents this identity, and what it may reach.  Fails with UNAUTHENTICATED where
     * the identity is unknown or its sandbox is gone.
     * </pre>
     */
    public dev.sandboxengine.v1.AuthorizeResponse authorize(dev.sandboxengine.v1.AuthorizeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAuthorizeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells which sandboxes' cached answers must be dropped.
     * </pre>
     */
    public java.util.Iterator<dev.sandboxengine.v1.WatchRevocationsResponse> watchRevocations(
        dev.sandboxengine.v1.WatchRevocationsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchRevocationsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Hands in what was decided and moved, for usage and audit.
     * </pre>
     */
    public dev.sandboxengine.v1.ReportEgressResponse reportEgress(dev.sandboxengine.v1.ReportEgressRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportEgressMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service BrokerService.
   * <pre>
   * Internal: how the egress broker asks the engine who a guest is and what it may reach.
   * Not for clients, and without their promise of stability.
   * </pre>
   */
  public static final class BrokerServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<BrokerServiceFutureStub> {
    private BrokerServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected BrokerServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new BrokerServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Who presents this identity, and what it may reach.  Fails with UNAUTHENTICATED where
     * the identity is unknown or its sandbox is gone.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.AuthorizeResponse> authorize(
        dev.sandboxengine.v1.AuthorizeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAuthorizeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Hands in what was decided and moved, for usage and audit.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ReportEgressResponse> reportEgress(
        dev.sandboxengine.v1.ReportEgressRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportEgressMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_AUTHORIZE = 0;
  private static final int METHODID_WATCH_REVOCATIONS = 1;
  private static final int METHODID_REPORT_EGRESS = 2;

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
        case METHODID_AUTHORIZE:
          serviceImpl.authorize((dev.sandboxengine.v1.AuthorizeRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.AuthorizeResponse>) responseObserver);
          break;
        case METHODID_WATCH_REVOCATIONS:
          serviceImpl.watchRevocations((dev.sandboxengine.v1.WatchRevocationsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.WatchRevocationsResponse>) responseObserver);
          break;
        case METHODID_REPORT_EGRESS:
          serviceImpl.reportEgress((dev.sandboxengine.v1.ReportEgressRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ReportEgressResponse>) responseObserver);
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
          getAuthorizeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.AuthorizeRequest,
              dev.sandboxengine.v1.AuthorizeResponse>(
                service, METHODID_AUTHORIZE)))
        .addMethod(
          getWatchRevocationsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sandboxengine.v1.WatchRevocationsRequest,
              dev.sandboxengine.v1.WatchRevocationsResponse>(
                service, METHODID_WATCH_REVOCATIONS)))
        .addMethod(
          getReportEgressMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ReportEgressRequest,
              dev.sandboxengine.v1.ReportEgressResponse>(
                service, METHODID_REPORT_EGRESS)))
        .build();
  }

  private static abstract class BrokerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    BrokerServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sandboxengine.v1.BrokerProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("BrokerService");
    }
  }

  private static final class BrokerServiceFileDescriptorSupplier
      extends BrokerServiceBaseDescriptorSupplier {
    BrokerServiceFileDescriptorSupplier() {}
  }

  private static final class BrokerServiceMethodDescriptorSupplier
      extends BrokerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    BrokerServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (BrokerServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new BrokerServiceFileDescriptorSupplier())
              .addMethod(getAuthorizeMethod())
              .addMethod(getWatchRevocationsMethod())
              .addMethod(getReportEgressMethod())
              .build();
        }
      }
    }
    return result;
  }
}
