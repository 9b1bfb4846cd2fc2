"""`sandbox.v1.TemplateService`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from sandbox.v1 import templates_pb2 as pb

from sandbox_engine.api.errors import wire_text
from sandbox_engine.api.rpc.paging import page
from sandbox_engine.api.rpc.promoted import promoted_to_pb
from sandbox_engine.api.rpc.times import timestamp
from sandbox_engine.api.rpc.unserved import served
from sandbox_engine.errors import InvalidArgument, TemplateNotFound
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.template import BuildRequest, Manifest, encode_manifest, manifest_digest
from sandbox_engine.ports.builder import BuildProgress
from sandbox_engine.services.promotions import Promotions
from sandbox_engine.services.templates import Templates

STEPS = ("kernel", "initramfs", "agent", "rootfs", "bake", "publish")
"""What a build does, in order (`ports.builder`)."""


class TemplateServicer:
    """Message in, one service call, message out."""

    def __init__(self, templates: Templates, promotions: Promotions) -> None:
        self._templates, self._promotions = templates, promotions

    async def build_template(
        self, request: pb.BuildTemplateRequest, _: Caller
    ) -> AsyncIterator[pb.BuildTemplateResponse]:
        """Progress, then the template.  A call that ends early stops the build."""
        progress = self._templates.build(build_from_pb(request))
        async with aclosing(progress):
            async for event in progress:
                yield pb.BuildTemplateResponse(progress=_progress(event))
        template = template_to_pb(self._templates.get(request.name))
        yield pb.BuildTemplateResponse(template=template)

    async def list_templates(
        self, request: pb.ListTemplatesRequest, _: Caller
    ) -> pb.ListTemplatesResponse:
        """A page of them."""
        served(request)
        found = [template_to_pb(each) for each in self._templates.all()]
        found += [promoted_to_pb(each) for each in self._promotions.all()]
        chosen, more = page(sorted(found, key=_place), _place, request)
        return pb.ListTemplatesResponse(templates=chosen, next_page_token=more)

    async def get_template(
        self, request: pb.GetTemplateRequest, _: Caller
    ) -> pb.GetTemplateResponse:
        """One of them."""
        promoted = self._promotions.named(request.name)
        if promoted is not None:
            return pb.GetTemplateResponse(template=promoted_to_pb(promoted))
        return pb.GetTemplateResponse(template=template_to_pb(self._templates.get(request.name)))

    async def verify_template(
        self, request: pb.VerifyTemplateRequest, _: Caller
    ) -> pb.VerifyTemplateResponse:
        """What differs from the manifest."""
        differences = [wire_text(each) for each in await self._templates.verify(request.name)]
        return pb.VerifyTemplateResponse(ok=not differences, differences=differences)

    async def remove_template(
        self, request: pb.RemoveTemplateRequest, _: Caller
    ) -> pb.RemoveTemplateResponse:
        """Unpublish it."""
        promoted = self._promotions.named(request.name)
        if promoted is not None:
            self._promotions.delete(promoted.key, digest=request.digest)
            return pb.RemoveTemplateResponse()
        await self._templates.remove(request.name, digest=request.digest)
        return pb.RemoveTemplateResponse()

    async def set_template_labels(
        self, request: pb.SetTemplateLabelsRequest, _: Caller
    ) -> pb.SetTemplateLabelsResponse:
        """Replace the labels of a promoted one."""
        promoted = self._promotions.named(request.name)
        if promoted is None:
            raise TemplateNotFound(request.name)
        record = self._promotions.label(promoted.key, dict(request.labels), digest=request.digest)
        return pb.SetTemplateLabelsResponse(template=promoted_to_pb(record))


def _place(template: pb.Template) -> str:
    """Sorts by name."""
    return f"{template.name} {template.memory_mib:09d} {template.vcpu_count:03d}"


def build_from_pb(request: pb.BuildTemplateRequest) -> BuildRequest:
    """What to build; 0 takes the model's default.  Raises `InvalidArgument`, `Unimplemented`."""
    served(request)
    sizes: dict[str, Any] = {
        "memory_mib": request.memory_mib,
        "vcpus": request.vcpu_count,
        "disk_mib": request.disk_mib,
    }
    return BuildRequest(
        name=request.name,
        source=_source(request.source),
        include=tuple(request.source.debian.include),
        warmup=tuple(request.warmup),
        volumes=request.volumes,
        force=request.force,
        **{name: value for name, value in sizes.items() if value},
    )


def _source(source: pb.TemplateSource) -> str:
    served(source)
    match source.WhichOneof("source"):
        case "debian":
            return f"debian:{source.debian.suite}"
        case "tar_file":
            return f"tar:{source.tar_file}"
        case "directory":
            return f"dir:{source.directory}"
    raise InvalidArgument("source", "must be a suite, a tar file or a directory")


def _progress(event: BuildProgress) -> pb.BuildProgress:
    return pb.BuildProgress(
        step=event.step,
        index=STEPS.index(event.step) + 1 if event.step in STEPS else 0,
        count=len(STEPS),
        detail=wire_text(event.detail),
        fraction=event.fraction,
        done=event.state in ("done", "cached"),
        cached=event.state == "cached",
    )


def template_to_pb(manifest: Manifest) -> pb.Template:
    """What it is and what it is bound to."""
    own = (manifest.memory, manifest.vmstate, manifest.rootfs, manifest.overlay)
    platform = pb.TemplatePlatform(
        format=manifest.format,
        vmm=manifest.platform.vmm,
        machine=manifest.platform.machine,
        cpu=manifest.platform.cpu,
        kernel=manifest.kernel_release,
        agent_protocol=manifest.agent_protocol,
    )
    return pb.Template(
        name=manifest.name,
        state=pb.TEMPLATE_STATE_READY,
        digest=manifest_digest(encode_manifest(manifest)),
        memory_mib=manifest.memory_mib,
        vcpu_count=manifest.vcpus,
        disk_mib=manifest.disk_mib,
        source=wire_text(manifest.source),
        create_time=timestamp(manifest.created_at.timestamp()),
        size_bytes=sum(file.size for file in own),
        platform=platform,
    )
