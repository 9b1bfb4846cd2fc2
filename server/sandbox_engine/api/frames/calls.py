"""What each request of a frame asks of the services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sandbox.v1 import legacy_pb2 as pb

from sandbox_engine.api.frames import convert
from sandbox_engine.errors import InvalidArgument, Unimplemented
from sandbox_engine.model.caller import Caller
from sandbox_engine.services.execs import Execs
from sandbox_engine.services.files import MAX_CHUNK, Files
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.workspaces import Workspaces

_GuestCall = Callable[[Caller, str, pb.GuestRequest], Awaitable[pb.GuestResponse]]


class Calls:
    """One request in, one reply out; raises what the services raise."""

    def __init__(
        self, sandboxes: Sandboxes, execs: Execs, files: Files, workspaces: Workspaces | None = None
    ) -> None:
        self._sandboxes, self._execs, self._files = sandboxes, execs, files
        self._workspaces = workspaces
        self._guest_calls: dict[str, _GuestCall] = {
            "exec": self._exec,
            "read_file": self._read_file,
            "write_file": self._write_file,
            "list_dir": self._list_dir,
            "stat": self._stat,
            "mkdir": self._mkdir,
            "remove": self._remove,
        }

    async def answer(
        self, caller: Caller, kind: str | None, message: pb.ClientMessage
    ) -> pb.ServerMessage:
        """Serve `message`, whose `request` is `kind`."""
        match kind:
            case "create":
                spec = convert.sandbox_spec(message.create)
                return convert.created(await self._sandboxes.create(caller, spec))
            case "inspect":
                sandbox_id = self._id(caller, message.inspect.sandbox_id)
                return convert.status(self._sandboxes.inspect(caller, sandbox_id))
            case "guest":
                return pb.ServerMessage(guest=await self._guest(caller, message.guest))
            case "session_renew":
                return self._renew(caller, message.session_renew)
            case "pause" | "resume" | "destroy":
                return await self._change(caller, kind, message)
        raise InvalidArgument("request", "the message asks for nothing that this engine knows")

    async def _change(
        self, caller: Caller, kind: str, message: pb.ClientMessage
    ) -> pb.ServerMessage:
        match kind:
            case "pause":
                await self._sandboxes.pause(caller, self._id(caller, message.pause.sandbox_id))
                return pb.ServerMessage(pause=pb.PauseResponse())
            case "resume":
                await self._sandboxes.resume(caller, self._id(caller, message.resume.sandbox_id))
                return pb.ServerMessage(resume=pb.ResumeResponse())
        await self._sandboxes.destroy(caller, self._id(caller, message.destroy.sandbox_id))
        return pb.ServerMessage(destroy=pb.DestroyResponse())

    def _renew(self, caller: Caller, request: pb.SessionRenewRequest) -> pb.ServerMessage:
        if self._workspaces is None:
            raise Unimplemented("session_renew: this engine serves no workspaces")
        found = self._workspaces.renew(caller, request.session_key, request.extra_seconds)
        answer = pb.SessionRenewResponse(expires_at=int(found.expires_at))
        return pb.ServerMessage(session_renew=answer)

    def _id(self, caller: Caller, number: int) -> str:
        return self._sandboxes.by_number(caller, number).id

    async def _guest(self, caller: Caller, request: pb.GuestRequest) -> pb.GuestResponse:
        call = self._guest_calls.get(request.WhichOneof("operation") or "")
        if call is None:
            raise InvalidArgument("operation", "none that this engine knows")
        return await call(caller, self._id(caller, request.sandbox_id), request)

    async def _exec(self, caller: Caller, box: str, request: pb.GuestRequest) -> pb.GuestResponse:
        spec = convert.exec_spec(request.exec)
        result = await self._execs.run(caller, box, spec, request.exec.input)
        return convert.exec_result(result)

    async def _read_file(
        self, caller: Caller, box: str, request: pb.GuestRequest
    ) -> pb.GuestResponse:
        asked = request.read_file
        size = min(asked.max_bytes or MAX_CHUNK, MAX_CHUNK)
        data, end = await self._files.read_chunk(
            caller, box, asked.path, offset=asked.offset, max_bytes=size
        )
        return convert.chunk(data, end)

    async def _write_file(
        self, caller: Caller, box: str, request: pb.GuestRequest
    ) -> pb.GuestResponse:
        asked = request.write_file
        options = convert.write_options(asked)
        await self._files.write_chunk(caller, box, asked.path, asked.data, options)
        return pb.GuestResponse(write_file=pb.GuestWriteFileResponse())

    async def _list_dir(
        self, caller: Caller, box: str, request: pb.GuestRequest
    ) -> pb.GuestResponse:
        most = convert.MAX_ENTRIES
        found = await self._files.list_directory(
            caller, box, request.list_dir.path, max_entries=most
        )
        return convert.listing(*found)

    async def _stat(self, caller: Caller, box: str, request: pb.GuestRequest) -> pb.GuestResponse:
        return convert.stat(await self._files.stat(caller, box, request.stat.path))

    async def _mkdir(self, caller: Caller, box: str, request: pb.GuestRequest) -> pb.GuestResponse:
        asked = request.mkdir
        mode = asked.mode or 0o755
        await self._files.mkdir(caller, box, asked.path, mode=mode, parents=asked.parents)
        return pb.GuestResponse(mkdir=pb.GuestMkdirResponse())

    async def _remove(self, caller: Caller, box: str, request: pb.GuestRequest) -> pb.GuestResponse:
        asked = request.remove
        await self._files.remove(caller, box, asked.path, recursive=asked.recursive)
        return pb.GuestResponse(remove=pb.GuestRemoveResponse())
