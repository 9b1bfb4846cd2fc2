"""gRPC towards the daemon: the channel, and its errors as `Failure`s that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sandbox_cli.failures import Failure, unreachable

if TYPE_CHECKING:
    import grpc

DOMAIN: Final = "sandbox-engine"
MAX_MESSAGE: Final = 16 * 1024 * 1024
HINTS: Final = {
    "TEMPLATE_CORRUPT": "build it again with `sandbox-cli template build NAME --force ...`",
    "TEMPLATE_INCOMPATIBLE": "build it again with `sandbox-cli template build NAME --force ...`",
    "TEMPLATE_BUSY": "wait for the other build, then try again",
    "POOL_EXHAUSTED": "allow a longer wait, or enlarge the template's pool",
    "LIMIT_REACHED": "destroy a sandbox, or raise the limit in the daemon's configuration",
    "DRAINING": "the node takes no new sandboxes now",
    "SANDBOX_NOT_FOUND": "`sandbox-cli ls` shows the sandboxes you may see",
    "GUEST_UNAVAILABLE": "try again; if it stays, destroy the sandbox and create another",
    "NO_SPACE": "free some disk space; `sandbox-cli doctor` shows how much there is",
    "INTERNAL": "the daemon's log has more",
}


@contextmanager
def connected(path: str) -> Iterator[grpc.Channel]:
    """A channel to the daemon's socket `path`.

    Inside the block every gRPC error is a `Failure`.
    """
    import grpc

    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE),
        ("grpc.default_authority", "localhost"),  # the default would be the escaped path
    ]
    with grpc.insecure_channel(f"unix:{path}", options=options) as channel:
        try:
            yield channel
        except grpc.RpcError as error:
            raise failure(error, path) from error


def pages(call: Callable[[Any], Any], request: Any) -> Iterator[Any]:
    """Every page of a listing: `call` is asked again until it has no further page."""
    while True:
        page = call(request)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token


def failure(error: grpc.RpcError, path: str) -> Failure:
    """`error` in words; the engine's own name for it where the engine answered."""
    import grpc

    reason = _reason(error)
    if reason:
        return Failure(str(error.details()), hint=HINTS.get(reason, ""), code=reason)
    match error.code():
        case grpc.StatusCode.UNAVAILABLE:
            return unreachable(path, "--grpc-socket")
        case grpc.StatusCode.UNIMPLEMENTED:
            return Failure(
                "this daemon does not serve the call",
                hint="use the sandbox-cli of the daemon's version",
            )
        case code:
            return Failure(f"{error.details() or code.name.lower()}", code=code.name)


def _reason(error: grpc.RpcError) -> str:
    """`ErrorInfo.reason` of the engine's status; empty where the engine sent none."""
    from google.rpc import error_details_pb2
    from grpc_status import rpc_status

    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            return str(info.reason)
    return ""
