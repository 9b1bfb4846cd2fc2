"""`sandbox.v1.NodeService`."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration
from sandbox.v1 import node_pb2 as pb

from sandbox_engine.api.rpc.times import duration, milliseconds, timestamp
from sandbox_engine.api.rpc.unserved import served
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.idle_rule import IdleRule
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
        wanted = {config.template: config for config in request.pools}
        if len(wanted) < len(request.pools):
            raise InvalidArgument("pools", "a template is named twice")
        rules = {template: _idle_rule(config) for template, config in wanted.items()}
        for template, config in wanted.items():
            await self._node.set_pool(template, warm=config.warm, idle=rules[template])
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


def _idle_rule(config: pb.PoolConfig) -> IdleRule:
    """Raises `Unimplemented`, and `InvalidArgument` naming the field."""
    served(config)
    rule = IdleRule(
        hibernate_s=milliseconds(config.idle_hibernate) / 1000,
        archive_s=milliseconds(config.archive_after) / 1000,
        delete_s=milliseconds(config.archive_delete_after) / 1000,
    )
    try:
        rule.check()
    except InvalidArgument as error:
        field = error.field.removesuffix("_seconds")
        problem = error.problem.removesuffix("_seconds")
        raise InvalidArgument(f"pools.{field}", problem) from error
    return rule


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
        config=_config(pool),
        ready=pool.warm,
        starting=pool.creating,
        target=pool.target,
        hits=pool.hits,
        misses=pool.misses,
        golden=True,
    )


def _config(pool: PoolInfo) -> pb.PoolConfig:
    def told(length_s: float) -> Duration | None:
        return duration(round(length_s * 1000)) if length_s else None

    return pb.PoolConfig(
        template=pool.template,
        warm=pool.target,
        idle_hibernate=told(pool.idle.hibernate_s),
        archive_after=told(pool.idle.archive_s),
        archive_delete_after=told(pool.idle.delete_s),
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
