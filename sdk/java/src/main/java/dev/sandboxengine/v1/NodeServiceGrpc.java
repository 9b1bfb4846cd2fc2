package dev.sandboxengine.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * The node itself; for its operator.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class NodeServiceGrpc {

  private NodeServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sandbox.v1.NodeService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetNodeInfoRequest,
      dev.sandboxengine.v1.GetNodeInfoResponse> getGetNodeInfoMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetNodeInfo",
      requestType = dev.sandboxengine.v1.GetNodeInfoRequest.class,
      responseType = dev.sandboxengine.v1.GetNodeInfoResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetNodeInfoRequest,
      dev.sandboxengine.v1.GetNodeInfoResponse> getGetNodeInfoMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.GetNodeInfoRequest, dev.sandboxengine.v1.GetNodeInfoResponse> getGetNodeInfoMethod;
    if ((getGetNodeInfoMethod = NodeServiceGrpc.getGetNodeInfoMethod) == null) {
      synchronized (NodeServiceGrpc.class) {
        if ((getGetNodeInfoMethod = NodeServiceGrpc.getGetNodeInfoMethod) == null) {
          NodeServiceGrpc.getGetNodeInfoMethod = getGetNodeInfoMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.GetNodeInfoRequest, dev.sandboxengine.v1.GetNodeInfoResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetNodeInfo"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetNodeInfoRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.GetNodeInfoResponse.getDefaultInstance()))
              .setSchemaDescriptor(new NodeServiceMethodDescriptorSupplier("GetNodeInfo"))
              .build();
        }
      }
    }
    return getGetNodeInfoMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListPoolsRequest,
      dev.sandboxengine.v1.ListPoolsResponse> getListPoolsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListPools",
      requestType = dev.sandboxengine.v1.ListPoolsRequest.class,
      responseType = dev.sandboxengine.v1.ListPoolsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListPoolsRequest,
      dev.sandboxengine.v1.ListPoolsResponse> getListPoolsMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.ListPoolsRequest, dev.sandboxengine.v1.ListPoolsResponse> getListPoolsMethod;
    if ((getListPoolsMethod = NodeServiceGrpc.getListPoolsMethod) == null) {
      synchronized (NodeServiceGrpc.class) {
        if ((getListPoolsMethod = NodeServiceGrpc.getListPoolsMethod) == null) {
          NodeServiceGrpc.getListPoolsMethod = getListPoolsMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.ListPoolsRequest, dev.sandboxengine.v1.ListPoolsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListPools"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListPoolsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.ListPoolsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new NodeServiceMethodDescriptorSupplier("ListPools"))
              .build();
        }
      }
    }
    return getListPoolsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.SetPoolsRequest,
      dev.sandboxengine.v1.SetPoolsResponse> getSetPoolsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetPools",
      requestType = dev.sandboxengine.v1.SetPoolsRequest.class,
      responseType = dev.sandboxengine.v1.SetPoolsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.SetPoolsRequest,
      dev.sandboxengine.v1.SetPoolsResponse> getSetPoolsMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.SetPoolsRequest, dev.sandboxengine.v1.SetPoolsResponse> getSetPoolsMethod;
    if ((getSetPoolsMethod = NodeServiceGrpc.getSetPoolsMethod) == null) {
      synchronized (NodeServiceGrpc.class) {
        if ((getSetPoolsMethod = NodeServiceGrpc.getSetPoolsMethod) == null) {
          NodeServiceGrpc.getSetPoolsMethod = getSetPoolsMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.SetPoolsRequest, dev.sandboxengine.v1.SetPoolsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetPools"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.SetPoolsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.SetPoolsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new NodeServiceMethodDescriptorSupplier("SetPools"))
              .build();
        }
      }
    }
    return getSetPoolsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.DrainRequest,
      dev.sandboxengine.v1.DrainResponse> getDrainMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Drain",
      requestType = dev.sandboxengine.v1.DrainRequest.class,
      responseType = dev.sandboxengine.v1.DrainResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.DrainRequest,
      dev.sandboxengine.v1.DrainResponse> getDrainMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.DrainRequest, dev.sandboxengine.v1.DrainResponse> getDrainMethod;
    if ((getDrainMethod = NodeServiceGrpc.getDrainMethod) == null) {
      synchronized (NodeServiceGrpc.class) {
        if ((getDrainMethod = NodeServiceGrpc.getDrainMethod) == null) {
          NodeServiceGrpc.getDrainMethod = getDrainMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.DrainRequest, dev.sandboxengine.v1.DrainResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Drain"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DrainRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DrainResponse.getDefaultInstance()))
              .setSchemaDescriptor(new NodeServiceMethodDescriptorSupplier("Drain"))
              .build();
        }
      }
    }
    return getDrainMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.UndrainRequest,
      dev.sandboxengine.v1.UndrainResponse> getUndrainMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Undrain",
      requestType = dev.sandboxengine.v1.UndrainRequest.class,
      responseType = dev.sandboxengine.v1.UndrainResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.UndrainRequest,
      dev.sandboxengine.v1.UndrainResponse> getUndrainMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.UndrainRequest, dev.sandboxengine.v1.UndrainResponse> getUndrainMethod;
    if ((getUndrainMethod = NodeServiceGrpc.getUndrainMethod) == null) {
      synchronized (NodeServiceGrpc.class) {
        if ((getUndrainMethod = NodeServiceGrpc.getUndrainMethod) == null) {
          NodeServiceGrpc.getUndrainMethod = getUndrainMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.UndrainRequest, dev.sandboxengine.v1.UndrainResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Undrain"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.UndrainRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.UndrainResponse.getDefaultInstance()))
              .setSchemaDescriptor(new NodeServiceMethodDescriptorSupplier("Undrain"))
              .build();
        }
      }
    }
    return getUndrainMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sandboxengine.v1.DiagnoseRequest,
      dev.sandboxengine.v1.DiagnoseResponse> getDiagnoseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Diagnose",
      requestType = dev.sandboxengine.v1.DiagnoseRequest.class,
      responseType = dev.sandboxengine.v1.DiagnoseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sandboxengine.v1.DiagnoseRequest,
      dev.sandboxengine.v1.DiagnoseResponse> getDiagnoseMethod() {
    io.grpc.MethodDescriptor<dev.sandboxengine.v1.DiagnoseRequest, dev.sandboxengine.v1.DiagnoseResponse> getDiagnoseMethod;
    if ((getDiagnoseMethod = NodeServiceGrpc.getDiagnoseMethod) == null) {
      synchronized (NodeServiceGrpc.class) {
        if ((getDiagnoseMethod = NodeServiceGrpc.getDiagnoseMethod) == null) {
          NodeServiceGrpc.getDiagnoseMethod = getDiagnoseMethod =
              io.grpc.MethodDescriptor.<dev.sandboxengine.v1.DiagnoseRequest, dev.sandboxengine.v1.DiagnoseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Diagnose"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DiagnoseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sandboxengine.v1.DiagnoseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new NodeServiceMethodDescriptorSupplier("Diagnose"))
              .build();
        }
      }
    }
    return getDiagnoseMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static NodeServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<NodeServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<NodeServiceStub>() {
        @java.lang.Override
        public NodeServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new NodeServiceStub(channel, callOptions);
        }
      };
    return NodeServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static NodeServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<NodeServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<NodeServiceBlockingV2Stub>() {
        @java.lang.Override
        public NodeServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new NodeServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return NodeServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static NodeServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<NodeServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<NodeServiceBlockingStub>() {
        @java.lang.Override
        public NodeServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new NodeServiceBlockingStub(channel, callOptions);
        }
      };
    return NodeServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static NodeServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<NodeServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<NodeServiceFutureStub>() {
        @java.lang.Override
        public NodeServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new NodeServiceFutureStub(channel, callOptions);
        }
      };
    return NodeServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * The node itself; for its operator.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * What the node is and how full it is.
     * </pre>
     */
    default void getNodeInfo(dev.sandboxengine.v1.GetNodeInfoRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetNodeInfoResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetNodeInfoMethod(), responseObserver);
    }

    /**
     * <pre>
     * The warm pools and how they stand.
     * </pre>
     */
    default void listPools(dev.sandboxengine.v1.ListPoolsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListPoolsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListPoolsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces the set of warm pools; a pool left out is drained.  No sandbox is touched.
     * </pre>
     */
    default void setPools(dev.sandboxengine.v1.SetPoolsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SetPoolsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetPoolsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes no new sandboxes; those that live are served on.  Not kept over a restart.
     * </pre>
     */
    default void drain(dev.sandboxengine.v1.DrainRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DrainResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDrainMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes new sandboxes again.
     * </pre>
     */
    default void undrain(dev.sandboxengine.v1.UndrainRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.UndrainResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUndrainMethod(), responseObserver);
    }

    /**
     * <pre>
     * Looks at what the engine needs of its host.
     * </pre>
     */
    default void diagnose(dev.sandboxengine.v1.DiagnoseRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DiagnoseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDiagnoseMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service NodeService.
   * <pre>
   * The node itself; for its operator.
   * </pre>
   */
  public static abstract class NodeServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return NodeServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service NodeService.
   * <pre>
   * The node itself; for its operator.
   * </pre>
   */
  public static final class NodeServiceStub
      extends io.grpc.stub.AbstractAsyncStub<NodeServiceStub> {
    private NodeServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected NodeServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new NodeServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * What the node is and how full it is.
     * </pre>
     */
    public void getNodeInfo(dev.sandboxengine.v1.GetNodeInfoRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetNodeInfoResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetNodeInfoMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The warm pools and how they stand.
     * </pre>
     */
    public void listPools(dev.sandboxengine.v1.ListPoolsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListPoolsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListPoolsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces the set of warm pools; a pool left out is drained.  No sandbox is touched.
     * </pre>
     */
    public void setPools(dev.sandboxengine.v1.SetPoolsRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SetPoolsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetPoolsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes no new sandboxes; those that live are served on.  Not kept over a restart.
     * </pre>
     */
    public void drain(dev.sandboxengine.v1.DrainRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DrainResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDrainMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes new sandboxes again.
     * </pre>
     */
    public void undrain(dev.sandboxengine.v1.UndrainRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.UndrainResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUndrainMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Looks at what the engine needs of its host.
     * </pre>
     */
    public void diagnose(dev.sandboxengine.v1.DiagnoseRequest request,
        io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DiagnoseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDiagnoseMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service NodeService.
   * <pre>
   * The node itself; for its operator.
   * </pre>
   */
  public static final class NodeServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<NodeServiceBlockingV2Stub> {
    private NodeServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected NodeServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new NodeServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * What the node is and how full it is.
     * </pre>
     */
    public dev.sandboxengine.v1.GetNodeInfoResponse getNodeInfo(dev.sandboxengine.v1.GetNodeInfoRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetNodeInfoMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The warm pools and how they stand.
     * </pre>
     */
    public dev.sandboxengine.v1.ListPoolsResponse listPools(dev.sandboxengine.v1.ListPoolsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListPoolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the set of warm pools; a pool left out is drained.  No sandbox is touched.
     * </pre>
     */
    public dev.sandboxengine.v1.SetPoolsResponse setPools(dev.sandboxengine.v1.SetPoolsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetPoolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes no new sandboxes; those that live are served on.  Not kept over a restart.
     * </pre>
     */
    public dev.sandboxengine.v1.DrainResponse drain(dev.sandboxengine.v1.DrainRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDrainMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes new sandboxes again.
     * </pre>
     */
    public dev.sandboxengine.v1.UndrainResponse undrain(dev.sandboxengine.v1.UndrainRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUndrainMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Looks at what the engine needs of its host.
     * </pre>
     */
    public dev.sandboxengine.v1.DiagnoseResponse diagnose(dev.sandboxengine.v1.DiagnoseRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDiagnoseMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service NodeService.
   * <pre>
   * The node itself; for its operator.
   * </pre>
   */
  public static final class NodeServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<NodeServiceBlockingStub> {
    private NodeServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected NodeServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new NodeServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * What the node is and how full it is.
     * </pre>
     */
    public dev.sandboxengine.v1.GetNodeInfoResponse getNodeInfo(dev.sandboxengine.v1.GetNodeInfoRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetNodeInfoMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The warm pools and how they stand.
     * </pre>
     */
    public dev.sandboxengine.v1.ListPoolsResponse listPools(dev.sandboxengine.v1.ListPoolsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListPoolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the set of warm pools; a pool left out is drained.  No sandbox is touched.
     * </pre>
     */
    public dev.sandboxengine.v1.SetPoolsResponse setPools(dev.sandboxengine.v1.SetPoolsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetPoolsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes no new sandboxes; those that live are served on.  Not kept over a restart.
     * </pre>
     */
    public dev.sandboxengine.v1.DrainResponse drain(dev.sandboxengine.v1.DrainRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDrainMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes new sandboxes again.
     * </pre>
     */
    public dev.sandboxengine.v1.UndrainResponse undrain(dev.sandboxengine.v1.UndrainRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUndrainMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Looks at what the engine needs of its host.
     * </pre>
     */
    public dev.sandboxengine.v1.DiagnoseResponse diagnose(dev.sandboxengine.v1.DiagnoseRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDiagnoseMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service NodeService.
   * <pre>
   * The node itself; for its operator.
   * </pre>
   */
  public static final class NodeServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<NodeServiceFutureStub> {
    private NodeServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected NodeServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new NodeServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * What the node is and how full it is.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.GetNodeInfoResponse> getNodeInfo(
        dev.sandboxengine.v1.GetNodeInfoRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetNodeInfoMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The warm pools and how they stand.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.ListPoolsResponse> listPools(
        dev.sandboxengine.v1.ListPoolsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListPoolsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Replaces the set of warm pools; a pool left out is drained.  No sandbox is touched.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.SetPoolsResponse> setPools(
        dev.sandboxengine.v1.SetPoolsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetPoolsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes no new sandboxes; those that live are served on.  Not kept over a restart.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.DrainResponse> drain(
        dev.sandboxengine.v1.DrainRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDrainMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes new sandboxes again.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.UndrainResponse> undrain(
        dev.sandboxengine.v1.UndrainRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUndrainMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Looks at what the engine needs of its host.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sandboxengine.v1.DiagnoseResponse> diagnose(
        dev.sandboxengine.v1.DiagnoseRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDiagnoseMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GET_NODE_INFO = 0;
  private static final int METHODID_LIST_POOLS = 1;
  private static final int METHODID_SET_POOLS = 2;
  private static final int METHODID_DRAIN = 3;
  private static final int METHODID_UNDRAIN = 4;
  private static final int METHODID_DIAGNOSE = 5;

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
        case METHODID_GET_NODE_INFO:
          serviceImpl.getNodeInfo((dev.sandboxengine.v1.GetNodeInfoRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.GetNodeInfoResponse>) responseObserver);
          break;
        case METHODID_LIST_POOLS:
          serviceImpl.listPools((dev.sandboxengine.v1.ListPoolsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.ListPoolsResponse>) responseObserver);
          break;
        case METHODID_SET_POOLS:
          serviceImpl.setPools((dev.sandboxengine.v1.SetPoolsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.SetPoolsResponse>) responseObserver);
          break;
        case METHODID_DRAIN:
          serviceImpl.drain((dev.sandboxengine.v1.DrainRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DrainResponse>) responseObserver);
          break;
        case METHODID_UNDRAIN:
          serviceImpl.undrain((dev.sandboxengine.v1.UndrainRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.UndrainResponse>) responseObserver);
          break;
        case METHODID_DIAGNOSE:
          serviceImpl.diagnose((dev.sandboxengine.v1.DiagnoseRequest) request,
              (io.grpc.stub.StreamObserver<dev.sandboxengine.v1.DiagnoseResponse>) responseObserver);
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
          getGetNodeInfoMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.GetNodeInfoRequest,
              dev.sandboxengine.v1.GetNodeInfoResponse>(
                service, METHODID_GET_NODE_INFO)))
        .addMethod(
          getListPoolsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.ListPoolsRequest,
              dev.sandboxengine.v1.ListPoolsResponse>(
                service, METHODID_LIST_POOLS)))
        .addMethod(
          getSetPoolsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.SetPoolsRequest,
              dev.sandboxengine.v1.SetPoolsResponse>(
                service, METHODID_SET_POOLS)))
        .addMethod(
          getDrainMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.DrainRequest,
              dev.sandboxengine.v1.DrainResponse>(
                service, METHODID_DRAIN)))
        .addMethod(
          getUndrainMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.UndrainRequest,
              dev.sandboxengine.v1.UndrainResponse>(
                service, METHODID_UNDRAIN)))
        .addMethod(
          getDiagnoseMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sandboxengine.v1.DiagnoseRequest,
              dev.sandboxengine.v1.DiagnoseResponse>(
                service, METHODID_DIAGNOSE)))
        .build();
  }

  private static abstract class NodeServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    NodeServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sandboxengine.v1.NodeProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("NodeService");
    }
  }

  private static final class NodeServiceFileDescriptorSupplier
      extends NodeServiceBaseDescriptorSupplier {
    NodeServiceFileDescriptorSupplier() {}
  }

  private static final class NodeServiceMethodDescriptorSupplier
      extends NodeServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    NodeServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (NodeServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new NodeServiceFileDescriptorSupplier())
              .addMethod(getGetNodeInfoMethod())
              .addMethod(getListPoolsMethod())
              .addMethod(getSetPoolsMethod())
              .addMethod(getDrainMethod())
              .addMethod(getUndrainMethod())
              .addMethod(getDiagnoseMethod())
              .build();
        }
      }
    }
    return result;
  }
}
