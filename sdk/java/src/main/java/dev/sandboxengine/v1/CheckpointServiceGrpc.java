package dev.sandboxengine.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Saved states of sandboxes, and what can be made of them.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class CheckpointServiceGrpc {

  private CheckpointServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sandbox.v1.CheckpointService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.CreateCheckpointRequest,
      dev.sandboxengine.v1.CreateCheckpointResponse> getCreateCheckpointMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateCheckpoint",
      requestType = dev.sandboxengine.v1.CreateCheckpointRequest.class,
      responseType = dev.sandboxengine.v1.CreateCheckpointResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.CreateCheckpointRequest,
      dev.sandboxengine.v1.CreateCheckpointResponse> getCreateCheckpointMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.CreateCheckpointRequest, dev.sandboxengine.v1.CreateCheckpointResponse> getCreateCheckpointMethod;
    if ((getCreateCheckpointMethod = CheckpointServiceGrpc.getCreateCheckpointMethod) == null) {
      synchronized (CheckpointServiceGrpc.class) {
        if ((getCreateCheckpointMethod = CheckpointServiceGrpc.getCreateCheckpointMethod) == null) {
          CheckpointServiceGrpc.getCreateCheckpointMethod = getCreateCheckpointMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.CreateCheckpointRequest, dev.sandboxengine.v1.CreateCheckpointResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateCheckpoint"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.CreateCheckpointRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.CreateCheckpointResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CheckpointServiceMethodDescriptorSupplier("CreateCheckpoint"))
              .build();
        }
      }
    }
    return getCreateCheckpointMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetCheckpointRequest,
      dev.sandboxengine.v1.GetCheckpointResponse> getGetCheckpointMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetCheckpoint",
      requestType = dev.sandboxengine.v1.GetCheckpointRequest.class,
      responseType = dev.sandboxengine.v1.GetCheckpointResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetCheckpointRequest,
      dev.sandboxengine.v1.GetCheckpointResponse> getGetCheckpointMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetCheckpointRequest, dev.sandboxengine.v1.GetCheckpointResponse> getGetCheckpointMethod;
    if ((getGetCheckpointMethod = CheckpointServiceGrpc.getGetCheckpointMethod) == null) {
      synchronized (CheckpointServiceGrpc.class) {
        if ((getGetCheckpointMethod = CheckpointServiceGrpc.getGetCheckpointMethod) == null) {
          CheckpointServiceGrpc.getGetCheckpointMethod = getGetCheckpointMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.GetCheckpointRequest, dev.sandboxengine.v1.GetCheckpointResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetCheckpoint"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetCheckpointRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetCheckpointResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CheckpointServiceMethodDescriptorSupplier("GetCheckpoint"))
              .build();
        }
      }
    }
    return getGetCheckpointMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListCheckpointsRequest,
      dev.sandboxengine.v1.ListCheckpointsResponse> getListCheckpointsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListCheckpoints",
      requestType = dev.sandboxengine.v1.ListCheckpointsRequest.class,
      responseType = dev.sandboxengine.v1.ListCheckpointsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListCheckpointsRequest,
      dev.sandboxengine.v1.ListCheckpointsResponse> getListCheckpointsMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListCheckpointsRequest, dev.sandboxengine.v1.ListCheckpointsResponse> getListCheckpointsMethod;
    if ((getListCheckpointsMethod = CheckpointServiceGrpc.getListCheckpointsMethod) == null) {
      synchronized (CheckpointServiceGrpc.class) {
        if ((getListCheckpointsMethod = CheckpointServiceGrpc.getListCheckpointsMethod) == null) {
          CheckpointServiceGrpc.getListCheckpointsMethod = getListCheckpointsMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ListCheckpointsRequest, dev.sandboxengine.v1.ListCheckpointsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListCheckpoints"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListCheckpointsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListCheckpointsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CheckpointServiceMethodDescriptorSupplier("ListCheckpoints"))
              .build();
        }
      }
    }
    return getListCheckpointsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.DeleteCheckpointRequest,
      dev.sandboxengine.v1.DeleteCheckpointResponse> getDeleteCheckpointMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteCheckpoint",
      requestType = dev.sandboxengine.v1.DeleteCheckpointRequest.class,
      responseType = dev.sandboxengine.v1.DeleteCheckpointResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.DeleteCheckpointRequest,
      dev.sandboxengine.v1.DeleteCheckpointResponse> getDeleteCheckpointMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.DeleteCheckpointRequest, dev.sandboxengine.v1.DeleteCheckpointResponse> getDeleteCheckpointMethod;
    if ((getDeleteCheckpointMethod = CheckpointServiceGrpc.getDeleteCheckpointMethod) == null) {
      synchronized (CheckpointServiceGrpc.class) {
        if ((getDeleteCheckpointMethod = CheckpointServiceGrpc.getDeleteCheckpointMethod) == null) {
          CheckpointServiceGrpc.getDeleteCheckpointMethod = getDeleteCheckpointMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.DeleteCheckpointRequest, dev.sandboxengine.v1.DeleteCheckpointResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteCheckpoint"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DeleteCheckpointRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DeleteCheckpointResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CheckpointServiceMethodDescriptorSupplier("DeleteCheckpoint"))
              .build();
        }
      }
    }
    return getDeleteCheckpointMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.BranchCheckpointRequest,
      dev.sandboxengine.v1.BranchCheckpointResponse> getBranchCheckpointMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BranchCheckpoint",
      requestType = dev.sandboxengine.v1.BranchCheckpointRequest.class,
      responseType = dev.sandboxengine.v1.BranchCheckpointResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.BranchCheckpointRequest,
      dev.sandboxengine.v1.BranchCheckpointResponse> getBranchCheckpointMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.BranchCheckpointRequest, dev.sandboxengine.v1.BranchCheckpointResponse> getBranchCheckpointMethod;
    if ((getBranchCheckpointMethod = CheckpointServiceGrpc.getBranchCheckpointMethod) == null) {
      synchronized (CheckpointServiceGrpc.class) {
        if ((getBranchCheckpointMethod = CheckpointServiceGrpc.getBranchCheckpointMethod) == null) {
          CheckpointServiceGrpc.getBranchCheckpointMethod = getBranchCheckpointMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.BranchCheckpointRequest, dev.sandboxengine.v1.BranchCheckpointResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BranchCheckpoint"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.BranchCheckpointRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.BranchCheckpointResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CheckpointServiceMethodDescriptorSupplier("BranchCheckpoint"))
              .build();
        }
      }
    }
    return getBranchCheckpointMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.PromoteSandboxRequest,
      dev.sandboxengine.v1.PromoteSandboxResponse> getPromoteSandboxMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PromoteSandbox",
      requestType = dev.sandboxengine.v1.PromoteSandboxRequest.class,
      responseType = dev.sandboxengine.v1.PromoteSandboxResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.PromoteSandboxRequest,
      dev.sandboxengine.v1.PromoteSandboxResponse> getPromoteSandboxMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.PromoteSandboxRequest, dev.sandboxengine.v1.PromoteSandboxResponse> getPromoteSandboxMethod;
    if ((getPromoteSandboxMethod = CheckpointServiceGrpc.getPromoteSandboxMethod) == null) {
      synchronized (CheckpointServiceGrpc.class) {
        if ((getPromoteSandboxMethod = CheckpointServiceGrpc.getPromoteSandboxMethod) == null) {
          CheckpointServiceGrpc.getPromoteSandboxMethod = getPromoteSandboxMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.PromoteSandboxRequest, dev.sandboxengine.v1.PromoteSandboxResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PromoteSandbox"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.PromoteSandboxRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.PromoteSandboxResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CheckpointServiceMethodDescriptorSupplier("PromoteSandbox"))
              .build();
        }
      }
    }
    return getPromoteSandboxMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CheckpointServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceStub>() {
        @java.lang.Override
        public CheckpointServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CheckpointServiceStub(channel, callOptions);
        }
      };
    return CheckpointServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static CheckpointServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceBlockingV2Stub>() {
        @java.lang.Override
        public CheckpointServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CheckpointServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return CheckpointServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CheckpointServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceBlockingStub>() {
        @java.lang.Override
        public CheckpointServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CheckpointServiceBlockingStub(channel, callOptions);
        }
      };
    return CheckpointServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CheckpointServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CheckpointServiceFutureStub>() {
        @java.lang.Override
        public CheckpointServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CheckpointServiceFutureStub(channel, callOptions);
        }
      };
    return CheckpointServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Saved states of sandboxes, and what can be made of them.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Saves a sandbox without stopping it.
     * </pre>
     */
    default void createCheckpoint(dev.sandboxengine.v1.CreateCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.CreateCheckpointResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateCheckpointMethod(), responseObserver);
    }

    /**
     * <pre>
     * One checkpoint.
     * </pre>
     */
    default void getCheckpoint(dev.sandboxengine.v1.GetCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetCheckpointResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetCheckpointMethod(), responseObserver);
    }

    /**
     * <pre>
     * The caller's checkpoints, newest first, a page at a time.
     * </pre>
     */
    default void listCheckpoints(dev.sandboxengine.v1.ListCheckpointsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListCheckpointsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListCheckpointsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a checkpoint; sandboxes branched from it run on.
     * </pre>
     */
    default void deleteCheckpoint(dev.sandboxengine.v1.DeleteCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DeleteCheckpointResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteCheckpointMethod(), responseObserver);
    }

    /**
     * <pre>
     * Creates a sandbox that continues from a checkpoint.
     * </pre>
     */
    default void branchCheckpoint(dev.sandboxengine.v1.BranchCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.BranchCheckpointResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBranchCheckpointMethod(), responseObserver);
    }

    /**
     * <pre>
     * Publishes a sandbox's present state as a template of this node.
     * </pre>
     */
    default void promoteSandbox(dev.sandboxengine.v1.PromoteSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.PromoteSandboxResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPromoteSandboxMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CheckpointService.
   * <pre>
   * Saved states of sandboxes, and what can be made of them.
   * </pre>
   */
  public static abstract class CheckpointServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CheckpointServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CheckpointService.
   * <pre>
   * Saved states of sandboxes, and what can be made of them.
   * </pre>
   */
  public static final class CheckpointServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CheckpointServiceStub> {
    private CheckpointServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CheckpointServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CheckpointServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Saves a sandbox without stopping it.
     * </pre>
     */
    public void createCheckpoint(dev.sandboxengine.v1.CreateCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.CreateCheckpointResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateCheckpointMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One checkpoint.
     * </pre>
     */
    public void getCheckpoint(dev.sandboxengine.v1.GetCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetCheckpointResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetCheckpointMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The caller's checkpoints, newest first, a page at a time.
     * </pre>
     */
    public void listCheckpoints(dev.sandboxengine.v1.ListCheckpointsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListCheckpointsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListCheckpointsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a checkpoint; sandboxes branched from it run on.
     * </pre>
     */
    public void deleteCheckpoint(dev.sandboxengine.v1.DeleteCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DeleteCheckpointResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteCheckpointMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Creates a sandbox that continues from a checkpoint.
     * </pre>
     */
    public void branchCheckpoint(dev.sandboxengine.v1.BranchCheckpointRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.BranchCheckpointResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getBranchCheckpointMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Publishes a sandbox's present state as a template of this node.
     * </pre>
     */
    public void promoteSandbox(dev.sandboxengine.v1.PromoteSandboxRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.PromoteSandboxResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPromoteSandboxMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CheckpointService.
   * <pre>
   * Saved states of sandboxes, and what can be made of them.
   * </pre>
   */
  public static final class CheckpointServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<CheckpointServiceBlockingV2Stub> {
    private CheckpointServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CheckpointServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CheckpointServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Saves a sandbox without stopping it.
     * </pre>
     */
    public dev.sandboxengine.v1.CreateCheckpointResponse createCheckpoint(dev.sandboxengine.v1.CreateCheckpointRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One checkpoint.
     * </pre>
     */
    public dev.sandboxengine.v1.GetCheckpointResponse getCheckpoint(dev.sandboxengine.v1.GetCheckpointRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The caller's checkpoints, newest first, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListCheckpointsResponse listCheckpoints(dev.sandboxengine.v1.ListCheckpointsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListCheckpointsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a checkpoint; sandboxes branched from it run on.
     * </pre>
     */
    public dev.sandboxengine.v1.DeleteCheckpointResponse deleteCheckpoint(dev.sandboxengine.v1.DeleteCheckpointRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates a sandbox that continues from a checkpoint.
     * </pre>
     */
    public dev.sandboxengine.v1.BranchCheckpointResponse branchCheckpoint(dev.sandboxengine.v1.BranchCheckpointRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getBranchCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Publishes a sandbox's present state as a template of this node.
     * </pre>
     */
    public dev.sandboxengine.v1.PromoteSandboxResponse promoteSandbox(dev.sandboxengine.v1.PromoteSandboxRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPromoteSandboxMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service CheckpointService.
   * <pre>
   * Saved states of sandboxes, and what can be made of them.
   * </pre>
   */
  public static final class CheckpointServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CheckpointServiceBlockingStub> {
    private CheckpointServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CheckpointServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CheckpointServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Saves a sandbox without stopping it.
     * </pre>
     */
    public dev.sandboxengine.v1.CreateCheckpointResponse createCheckpoint(dev.sandboxengine.v1.CreateCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One checkpoint.
     * </pre>
     */
    public dev.sandboxengine.v1.GetCheckpointResponse getCheckpoint(dev.sandboxengine.v1.GetCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The caller's checkpoints, newest first, a page at a time.
     * </pre>
     */
    public dev.sandboxengine.v1.ListCheckpointsResponse listCheckpoints(dev.sandboxengine.v1.ListCheckpointsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListCheckpointsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a checkpoint; sandboxes branched from it run on.
     * </pre>
     */
    public dev.sandboxengine.v1.DeleteCheckpointResponse deleteCheckpoint(dev.sandboxengine.v1.DeleteCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates a sandbox that continues from a checkpoint.
     * </pre>
     */
    public dev.sandboxengine.v1.BranchCheckpointResponse branchCheckpoint(dev.sandboxengine.v1.BranchCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getBranchCheckpointMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Publishes a sandbox's present state as a template of this node.
     * </pre>
     */
    public dev.sandboxengine.v1.PromoteSandboxResponse promoteSandbox(dev.sandboxengine.v1.PromoteSandboxRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPromoteSandboxMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CheckpointService.
   * <pre>
   * Saved states of sandboxes, and what can be made of them.
   * </pre>
   */
  public static final class CheckpointServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CheckpointServiceFutureStub> {
    private CheckpointServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CheckpointServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CheckpointServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Saves a sandbox without stopping it.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.CreateCheckpointResponse> createCheckpoint(
        dev.sandboxengine.v1.CreateCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateCheckpointMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One checkpoint.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.GetCheckpointResponse> getCheckpoint(
        dev.sandboxengine.v1.GetCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetCheckpointMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The caller's checkpoints, newest first, a page at a time.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ListCheckpointsResponse> listCheckpoints(
        dev.sandboxengine.v1.ListCheckpointsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListCheckpointsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a checkpoint; sandboxes branched from it run on.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.DeleteCheckpointResponse> deleteCheckpoint(
        dev.sandboxengine.v1.DeleteCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteCheckpointMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Creates a sandbox that continues from a checkpoint.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.BranchCheckpointResponse> branchCheckpoint(
        dev.sandboxengine.v1.BranchCheckpointRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getBranchCheckpointMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Publishes a sandbox's present state as a template of this node.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.PromoteSandboxResponse> promoteSandbox(
        dev.sandboxengine.v1.PromoteSandboxRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPromoteSandboxMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_CHECKPOINT = 0;
  private static final int METHODID_GET_CHECKPOINT = 1;
  private static final int METHODID_LIST_CHECKPOINTS = 2;
  private static final int METHODID_DELETE_CHECKPOINT = 3;
  private static final int METHODID_BRANCH_CHECKPOINT = 4;
  private static final int METHODID_PROMOTE_SANDBOX = 5;

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
        case METHODID_CREATE_CHECKPOINT:
          serviceImpl.createCheckpoint((dev.sandboxengine.v1.CreateCheckpointRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.CreateCheckpointResponse>) responseObserver);
          break;
        case METHODID_GET_CHECKPOINT:
          serviceImpl.getCheckpoint((dev.sandboxengine.v1.GetCheckpointRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetCheckpointResponse>) responseObserver);
          break;
        case METHODID_LIST_CHECKPOINTS:
          serviceImpl.listCheckpoints((dev.sandboxengine.v1.ListCheckpointsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListCheckpointsResponse>) responseObserver);
          break;
        case METHODID_DELETE_CHECKPOINT:
          serviceImpl.deleteCheckpoint((dev.sandboxengine.v1.DeleteCheckpointRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DeleteCheckpointResponse>) responseObserver);
          break;
        case METHODID_BRANCH_CHECKPOINT:
          serviceImpl.branchCheckpoint((dev.sandboxengine.v1.BranchCheckpointRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.BranchCheckpointResponse>) responseObserver);
          break;
        case METHODID_PROMOTE_SANDBOX:
          serviceImpl.promoteSandbox((dev.sandboxengine.v1.PromoteSandboxRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.PromoteSandboxResponse>) responseObserver);
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
          getCreateCheckpointMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.CreateCheckpointRequest,
              dev.sandboxengine.v1.CreateCheckpointResponse>(
                service, METHODID_CREATE_CHECKPOINT)))
        .addMethod(
          getGetCheckpointMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.GetCheckpointRequest,
              dev.sandboxengine.v1.GetCheckpointResponse>(
                service, METHODID_GET_CHECKPOINT)))
        .addMethod(
          getListCheckpointsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ListCheckpointsRequest,
              dev.sandboxengine.v1.ListCheckpointsResponse>(
                service, METHODID_LIST_CHECKPOINTS)))
        .addMethod(
          getDeleteCheckpointMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.DeleteCheckpointRequest,
              dev.sandboxengine.v1.DeleteCheckpointResponse>(
                service, METHODID_DELETE_CHECKPOINT)))
        .addMethod(
          getBranchCheckpointMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.BranchCheckpointRequest,
              dev.sandboxengine.v1.BranchCheckpointResponse>(
                service, METHODID_BRANCH_CHECKPOINT)))
        .addMethod(
          getPromoteSandboxMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.PromoteSandboxRequest,
              dev.sandboxengine.v1.PromoteSandboxResponse>(
                service, METHODID_PROMOTE_SANDBOX)))
        .build();
  }

  private static abstract class CheckpointServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CheckpointServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sandboxengine.v1.CheckpointsProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CheckpointService");
    }
  }

  private static final class CheckpointServiceFileDescriptorSupplier
      extends CheckpointServiceBaseDescriptorSupplier {
    CheckpointServiceFileDescriptorSupplier() {}
  }

  private static final class CheckpointServiceMethodDescriptorSupplier
      extends CheckpointServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CheckpointServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CheckpointServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CheckpointServiceFileDescriptorSupplier())
              .addMethod(getCreateCheckpointMethod())
              .addMethod(getGetCheckpointMethod())
              .addMethod(getListCheckpointsMethod())
              .addMethod(getDeleteCheckpointMethod())
              .addMethod(getBranchCheckpointMethod())
              .addMethod(getPromoteSandboxMethod())
              .build();
        }
      }
    }
    return result;
  }
}
