"""`sandbox.v1.NodeService`."""

from __future__ import annotations

from sandbox.v1 import node_pb2 as pb

from sandbox_engine.api.rpc.times import timestamp
from sandbox_engine.api.rpc.unserved import served
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.caller import Caller
from sandbox_engine.services.node import Node, NodeInfo, PoolInfo


class NodeServicer:
    """Message in, one service call, message out."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def get_node_info(self, _: pb.GetNodeInfoRequest, __: Caller) -> pb.GetNodeInfoResponse:
        """The node."""
        return pb.GetNodeInfoResponse(node=node_to_pb(self._node.info()))

    async def list_pools(self, _: pb.ListPoolsRequest, __: Caller) -> pb.ListPoolsResponse:
        """The pools."""
        return pb.ListPoolsResponse(pools=self._pools())

    async def set_pools(self, request: pb.SetPoolsRequest, _: Caller) -> pb.SetPoolsResponse:
        """Exactly these pools; another one keeps nothing ready any more."""
        wanted = {config.template: config.warm for config in request.pools}
        if len(wanted) < len(request.pools):
            raise InvalidArgument("pools", "a template is named twice")
        for config in request.pools:
            served(config)
        for template, warm in wanted.items():
            await self._node.set_pool(template, warm=warm)
        for pool in self._node.pools():
            if pool.template not in wanted:
                await self._node.set_pool(pool.template, warm=0, waiting=0)
        return pb.SetPoolsResponse(pools=self._pools())

    async def drain(self, _: pb.DrainRequest, __: Caller) -> pb.DrainResponse:
        """No new sandboxes."""
        self._node.drain(draining=True)
        return pb.DrainResponse(node=node_to_pb(self._node.info()))

    async def undrain(self, _: pb.UndrainRequest, __: Caller) -> pb.UndrainResponse:
        """New sandboxes again."""
        self._node.drain(draining=False)
        return pb.UndrainResponse(node=node_to_pb(self._node.info()))

    async def diagnose(self, _: pb.DiagnoseRequest, __: Caller) -> pb.DiagnoseResponse:
        """What the engine found when it started."""
        info = self._node.info()
        return pb.DiagnoseResponse(diagnoses=[_accelerator(info), _cgroups(info)])

    def _pools(self) -> list[pb.Pool]:
        return [_pool(pool) for pool in self._node.pools()]


def node_to_pb(info: NodeInfo) -> pb.NodeInfo:
    """What it is and how full it is."""
    return pb.NodeInfo(
        version=info.version,
        vmm=info.platform.vmm,
        accel=info.accel,
        machine=info.platform.machine,
        cpu=info.platform.cpu,
        start_time=timestamp(info.started_at),
        max_sandboxes=info.max_sandboxes,
        sandboxes=info.sandboxes,
        draining=info.draining,
        pools=[_pool(pool) for pool in info.pools],
    )


def _pool(pool: PoolInfo) -> pb.Pool:
    return pb.Pool(
        config=pb.PoolConfig(template=pool.template, warm=pool.target),
        ready=pool.warm,
        starting=pool.creating,
        target=pool.target,
        hits=pool.hits,
        misses=pool.misses,
        golden=True,
    )


def _accelerator(info: NodeInfo) -> pb.Diagnosis:
    fast = info.accel == "kvm"
    return pb.Diagnosis(
        name="accelerator",
        level=pb.DIAGNOSIS_LEVEL_OK if fast else pb.DIAGNOSIS_LEVEL_WARNING,
        found=f"{info.accel}: {info.accel_reason}",
        advice="" if fast else "give the engine a host with a working /dev/kvm: it is faster",
    )


def _cgroups(info: NodeInfo) -> pb.Diagnosis:
    limited = info.cgroups != "none"
    return pb.Diagnosis(
        name="cgroups",
        level=pb.DIAGNOSIS_LEVEL_OK if limited else pb.DIAGNOSIS_LEVEL_WARNING,
        found=info.cgroups,
        advice="" if limited else "mount cgroups: without them a VMM's memory has no limit",
    )
