"""A promoted template as `sandbox.v1.Template`."""

from __future__ import annotations

from sandbox.v1 import templates_pb2 as pb

from sandbox_engine.api.rpc.times import timestamp
from sandbox_engine.model.snapshot import Record


def promoted_to_pb(record: Record) -> pb.Template:
    """What a promote published; its digest is the content digest of the export."""
    platform = record.platform
    return pb.Template(
        name=record.name,
        state=pb.TEMPLATE_STATE_READY,
        digest=record.content_digest,
        memory_mib=record.origin.memory_mib,
        vcpu_count=record.origin.vcpus,
        source=f"sandbox:{record.sandbox_id}",
        create_time=timestamp(record.created_at),
        size_bytes=record.memory_bytes,
        platform=pb.TemplatePlatform(vmm=platform.vmm, machine=platform.machine, cpu=platform.cpu),
        labels=record.labels,
        tenant=record.tenant or "",
    )
