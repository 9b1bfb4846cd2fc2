package dev.sandboxengine.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Session workspaces: volumes that outlive the sandboxes they are mounted in at /workspace.
 * A workspace is made by the first create that names its session key.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class WorkspaceServiceGrpc {

  private WorkspaceServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sandbox.v1.WorkspaceService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenewWorkspaceRequest,
      dev.sandboxengine.v1.RenewWorkspaceResponse> getRenewWorkspaceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RenewWorkspace",
      requestType = dev.sandboxengine.v1.RenewWorkspaceRequest.class,
      responseType = dev.sandboxengine.v1.RenewWorkspaceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenewWorkspaceRequest,
      dev.sandboxengine.v1.RenewWorkspaceResponse> getRenewWorkspaceMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.RenewWorkspaceRequest, dev.sandboxengine.v1.RenewWorkspaceResponse> getRenewWorkspaceMethod;
    if ((getRenewWorkspaceMethod = WorkspaceServiceGrpc.getRenewWorkspaceMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getRenewWorkspaceMethod = WorkspaceServiceGrpc.getRenewWorkspaceMethod) == null) {
          WorkspaceServiceGrpc.getRenewWorkspaceMethod = getRenewWorkspaceMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.RenewWorkspaceRequest, dev.sandboxengine.v1.RenewWorkspaceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RenewWorkspace"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RenewWorkspaceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.RenewWorkspaceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("RenewWorkspace"))
              .build();
        }
      }
    }
    return getRenewWorkspaceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetWorkspaceRequest,
      dev.sandboxengine.v1.GetWorkspaceResponse> getGetWorkspaceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetWorkspace",
      requestType = dev.sandboxengine.v1.GetWorkspaceRequest.class,
      responseType = dev.sandboxengine.v1.GetWorkspaceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetWorkspaceRequest,
      dev.sandboxengine.v1.GetWorkspaceResponse> getGetWorkspaceMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetWorkspaceRequest, dev.sandboxengine.v1.GetWorkspaceResponse> getGetWorkspaceMethod;
    if ((getGetWorkspaceMethod = WorkspaceServiceGrpc.getGetWorkspaceMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getGetWorkspaceMethod = WorkspaceServiceGrpc.getGetWorkspaceMethod) == null) {
          WorkspaceServiceGrpc.getGetWorkspaceMethod = getGetWorkspaceMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.GetWorkspaceRequest, dev.sandboxengine.v1.GetWorkspaceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetWorkspace"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetWorkspaceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetWorkspaceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("GetWorkspace"))
              .build();
        }
      }
    }
    return getGetWorkspaceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListWorkspacesRequest,
      dev.sandboxengine.v1.ListWorkspacesResponse> getListWorkspacesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListWorkspaces",
      requestType = dev.sandboxengine.v1.ListWorkspacesRequest.class,
      responseType = dev.sandboxengine.v1.ListWorkspacesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListWorkspacesRequest,
      dev.sandboxengine.v1.ListWorkspacesResponse> getListWorkspacesMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListWorkspacesRequest, dev.sandboxengine.v1.ListWorkspacesResponse> getListWorkspacesMethod;
    if ((getListWorkspacesMethod = WorkspaceServiceGrpc.getListWorkspacesMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getListWorkspacesMethod = WorkspaceServiceGrpc.getListWorkspacesMethod) == null) {
          WorkspaceServiceGrpc.getListWorkspacesMethod = getListWorkspacesMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ListWorkspacesRequest, dev.sandboxengine.v1.ListWorkspacesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListWorkspaces"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListWorkspacesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListWorkspacesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("ListWorkspaces"))
              .build();
        }
      }
    }
    return getListWorkspacesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.DeleteWorkspaceRequest,
      dev.sandboxengine.v1.DeleteWorkspaceResponse> getDeleteWorkspaceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteWorkspace",
      requestType = dev.sandboxengine.v1.DeleteWorkspaceRequest.class,
      responseType = dev.sandboxengine.v1.DeleteWorkspaceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.DeleteWorkspaceRequest,
      dev.sandboxengine.v1.DeleteWorkspaceResponse> getDeleteWorkspaceMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.DeleteWorkspaceRequest, dev.sandboxengine.v1.DeleteWorkspaceResponse> getDeleteWorkspaceMethod;
    if ((getDeleteWorkspaceMethod = WorkspaceServiceGrpc.getDeleteWorkspaceMethod) == null) {
      synchronized (WorkspaceServiceGrpc.class) {
        if ((getDeleteWorkspaceMethod = WorkspaceServiceGrpc.getDeleteWorkspaceMethod) == null) {
          WorkspaceServiceGrpc.getDeleteWorkspaceMethod = getDeleteWorkspaceMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.DeleteWorkspaceRequest, dev.sandboxengine.v1.DeleteWorkspaceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteWorkspace"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DeleteWorkspaceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DeleteWorkspaceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkspaceServiceMethodDescriptorSupplier("DeleteWorkspace"))
              .build();
        }
      }
    }
    return getDeleteWorkspaceMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static WorkspaceServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceStub>() {
        @java.lang.Override
        public WorkspaceServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceStub(channel, callOptions);
        }
      };
    return WorkspaceServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static WorkspaceServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingV2Stub>() {
        @java.lang.Override
        public WorkspaceServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return WorkspaceServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static WorkspaceServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceBlockingStub>() {
        @java.lang.Override
        public WorkspaceServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceBlockingStub(channel, callOptions);
        }
      };
    return WorkspaceServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static WorkspaceServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkspaceServiceFutureStub>() {
        @java.lang.Override
        public WorkspaceServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkspaceServiceFutureStub(channel, callOptions);
        }
      };
    return WorkspaceServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Session workspaces: volumes that outlive the sandboxes they are mounted in at /workspace.
   * A workspace is made by the first create that names its session key.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Extends the life of a workspace; works with nothing running.
     * </pre>
     */
    default void renewWorkspace(dev.sandboxengine.v1.RenewWorkspaceRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenewWorkspaceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewWorkspaceMethod(), responseObserver);
    }

    /**
     * <pre>
     * One workspace.
     * </pre>
     */
    default void getWorkspace(dev.sandboxengine.v1.GetWorkspaceRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetWorkspaceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetWorkspaceMethod(), responseObserver);
    }

    /**
     * <pre>
     * The caller's workspaces, by key, a page at a time.
     * </pre>
     */
    default void listWorkspaces(dev.sandboxengine.v1.ListWorkspacesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListWorkspacesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListWorkspacesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a workspace that no sandbox uses, with all its files.
     * </pre>
     */
    default void deleteWorkspace(dev.sandboxengine.v1.DeleteWorkspaceRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DeleteWorkspaceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteWorkspaceMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service WorkspaceService.
   * <pre>
   * Session workspaces: volumes that outlive the sandboxes they are mounted in at /workspace.
   * A workspace is made by the first create that names its session key.
   * </pre>
   */
  public static abstract class WorkspaceServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return WorkspaceServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service WorkspaceService.
   * <pre>
   * Session workspaces: volumes that outlive the sandboxes they are mounted in at /workspace.
   * A workspace is made by the first create that names its session key.
   * </pre>
   */
  public static final class WorkspaceServiceStub
      extends io.grpc.stub.AbstractAsyncStub<WorkspaceServiceStub> {
    private WorkspaceServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Extends the life of a workspace; works with nothing running.
     * </pre>
     */
    public void renewWorkspace(dev.sandboxengine.v1.RenewWorkspaceRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenewWorkspaceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewWorkspaceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One workspace.
     * </pre>
     */
    public void getWorkspace(dev.sandboxengine.v1.GetWorkspaceRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetWorkspaceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetWorkspaceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The caller's workspaces, by key, a page at a time.
     * </pre>
     */
    public void listWorkspaces(dev.sandboxengine.v1.ListWorkspacesRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListWorkspacesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListWorkspacesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a workspace that no sandbox uses, with all its files.
     * </pre>
     */
    public void deleteWorkspace(dev.sandboxengine.v1.DeleteWorkspaceRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DeleteWorkspaceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteWorkspaceMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service WorkspaceService.
   * <pre>
   * Session workspaces: volumes that outlive the sandboxes they are mounted in at /workspace.
   * A workspace is made by the first create that names its session key.
   * </pre>
   */
  public static final class WorkspaceServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<WorkspaceServiceBlockingV2Stub> {
    private WorkspaceServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Extends the life of a workspace; works with nothing running.
     * </pre>
     */
    public dev.sandboxengine.v1.RenewWorkspaceResponse renewWorkspace(dev.sandboxengine.v1.RenewWorkspaceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRenewWorkspaceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One workspace.
     * </pre>
     */
    public dev.sandboxengine.v1.GetWorkspaceResponse getWorkspace(dev.sandboxengine.v1.GetWorkspaceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetWorkspaceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The caller's workspaces, by key, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListWorkspacesResponse listWorkspaces(dev.sandboxengine.v1.ListWorkspacesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListWorkspacesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a workspace that no sandbox uses, with all its files.
     * </pre>
     */
    public dev.sandboxengine.v1.DeleteWorkspaceResponse deleteWorkspace(dev.sandboxengine.v1.DeleteWorkspaceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteWorkspaceMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service WorkspaceService.
   * <pre>
   * Session workspaces: volumes that outlive the sandboxes they are mounted in at /workspace.
   * A workspace is made by the first create that names its session key.
   * </pre>
   */
  public static final class WorkspaceServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<WorkspaceServiceBlockingStub> {
    private WorkspaceServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Extends the life of a workspace; works with nothing running.
     * </pre>
     */
    public dev.sandboxengine.v1.RenewWorkspaceResponse renewWorkspace(dev.sandboxengine.v1.RenewWorkspaceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewWorkspaceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One workspace.
     * </pre>
     */
    public dev.sandboxengine.v1.GetWorkspaceResponse getWorkspace(dev.sandboxengine.v1.GetWorkspaceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetWorkspaceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The caller's workspaces, by key, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListWorkspacesResponse listWorkspaces(dev.sandboxengine.v1.ListWorkspacesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListWorkspacesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a workspace that no sandbox uses, with all its files.
     * </pre>
     */
    public dev.sandboxengine.v1.DeleteWorkspaceResponse deleteWorkspace(dev.sandboxengine.v1.DeleteWorkspaceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteWorkspaceMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service WorkspaceService.
   * <pre>
   * Session workspaces: volumes that outlive the sandboxes they are mounted in at /workspace.
   * A workspace is made by the first create that names its session key.
   * </pre>
   */
  public static final class WorkspaceServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<WorkspaceServiceFutureStub> {
    private WorkspaceServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkspaceServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkspaceServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Extends the life of a workspace; works with nothing running.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.RenewWorkspaceResponse> renewWorkspace(
        dev.sandboxengine.v1.RenewWorkspaceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewWorkspaceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One workspace.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.GetWorkspaceResponse> getWorkspace(
        dev.sandboxengine.v1.GetWorkspaceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetWorkspaceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The caller's workspaces, by key, a page at a time.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ListWorkspacesResponse> listWorkspaces(
        dev.sandboxengine.v1.ListWorkspacesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListWorkspacesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a workspace that no sandbox uses, with all its files.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.DeleteWorkspaceResponse> deleteWorkspace(
        dev.sandboxengine.v1.DeleteWorkspaceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteWorkspaceMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_RENEW_WORKSPACE = 0;
  private static final int METHODID_GET_WORKSPACE = 1;
  private static final int METHODID_LIST_WORKSPACES = 2;
  private static final int METHODID_DELETE_WORKSPACE = 3;

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
        case METHODID_RENEW_WORKSPACE:
          serviceImpl.renewWorkspace((dev.sandboxengine.v1.RenewWorkspaceRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.RenewWorkspaceResponse>) responseObserver);
          break;
        case METHODID_GET_WORKSPACE:
          serviceImpl.getWorkspace((dev.sandboxengine.v1.GetWorkspaceRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetWorkspaceResponse>) responseObserver);
          break;
        case METHODID_LIST_WORKSPACES:
          serviceImpl.listWorkspaces((dev.sandboxengine.v1.ListWorkspacesRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListWorkspacesResponse>) responseObserver);
          break;
        case METHODID_DELETE_WORKSPACE:
          serviceImpl.deleteWorkspace((dev.sandboxengine.v1.DeleteWorkspaceRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DeleteWorkspaceResponse>) responseObserver);
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
          getRenewWorkspaceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.RenewWorkspaceRequest,
              dev.sandboxengine.v1.RenewWorkspaceResponse>(
                service, METHODID_RENEW_WORKSPACE)))
        .addMethod(
          getGetWorkspaceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.GetWorkspaceRequest,
              dev.sandboxengine.v1.GetWorkspaceResponse>(
                service, METHODID_GET_WORKSPACE)))
        .addMethod(
          getListWorkspacesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ListWorkspacesRequest,
              dev.sandboxengine.v1.ListWorkspacesResponse>(
                service, METHODID_LIST_WORKSPACES)))
        .addMethod(
          getDeleteWorkspaceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.DeleteWorkspaceRequest,
              dev.sandboxengine.v1.DeleteWorkspaceResponse>(
                service, METHODID_DELETE_WORKSPACE)))
        .build();
  }

  private static abstract class WorkspaceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    WorkspaceServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sandboxengine.v1.WorkspacesProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("WorkspaceService");
    }
  }

  private static final class WorkspaceServiceFileDescriptorSupplier
      extends WorkspaceServiceBaseDescriptorSupplier {
    WorkspaceServiceFileDescriptorSupplier() {}
  }

  private static final class WorkspaceServiceMethodDescriptorSupplier
      extends WorkspaceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    WorkspaceServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (WorkspaceServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new WorkspaceServiceFileDescriptorSupplier())
              .addMethod(getRenewWorkspaceMethod())
              .addMethod(getGetWorkspaceMethod())
              .addMethod(getListWorkspacesMethod())
              .addMethod(getDeleteWorkspaceMethod())
              .build();
        }
      }
    }
    return result;
  }
}
