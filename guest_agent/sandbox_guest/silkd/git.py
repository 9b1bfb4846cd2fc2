"""The git verbs, by the guest's own git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_guest import fields, git
from sandbox_guest.capture import Captured, capture
from sandbox_guest.framing import Control
from sandbox_guest.process import Command
from sandbox_guest.silkd.errors import UNIMPLEMENTED, RpcError, bad_request, not_found
from sandbox_guest.silkd.files import path_of
from sandbox_guest.silkd.rpc import Rpc

DONE: Control = {"type": "done"}


class _Git:
    """Git in one folder."""

    def __init__(self, rpc: Rpc, folder: str) -> None:
        self._rpc, self._folder = rpc, folder
        # The client may work on what another user of its own guest owns.
        self._settings = [("safe.directory", "*")]
        self._variables = dict(git.BASE)

    def authorize(self, url: str) -> None:
        """Send the request's `auth`, if it has one, to the host of `url`."""
        auth = fields.text(self._rpc.request, "auth")
        setting = git.authorization(url, auth) if auth else None
        if setting is not None:
            self._settings.append(setting)

    def act_as(self, author: str) -> None:
        """Commit as `author`."""
        identity = git.identity(author)
        if identity is None:
            raise bad_request("author: must be 'Name <email>'")
        self._variables |= identity

    async def try_(self, *words: str) -> Captured:
        """Run git; whatever its code is."""
        agent = self._rpc.agent
        env = self._variables | git.configuration(self._settings)
        command = Command(argv=["git", *words], cwd=self._folder, env=env)
        return await capture(agent.launcher, agent.cgroups, command)

    async def run(self, *words: str) -> bytes:
        """Run git and return its output.  Raises `RpcError` with git's own words."""
        done = await self.try_(*words)
        if done.code and not done.truncated:
            message = done.err.decode(errors="replace").strip()
            raise bad_request(message or f"git {words[0]} ended with code {done.code}")
        return done.out


def _repository(rpc: Rpc) -> _Git:
    path = path_of(rpc)
    if not Path(path).is_dir():
        raise not_found(f"{path}: no such folder")
    return _Git(rpc, path)


def _check_network(rpc: Rpc) -> None:
    if not rpc.agent.variables.has_network:
        raise RpcError(
            UNIMPLEMENTED,
            "this sandbox has no network: upload a tree with fs_push, fetch one with fs_pull",
        )


async def clone(rpc: Rpc) -> Control:
    """Clone `url` into `path`."""
    _check_network(rpc)
    request = rpc.request
    url, path = fields.required_text(request, "url"), path_of(rpc)
    words = ["clone", "--quiet"]
    if branch := fields.text(request, "branch"):
        words.append(f"--branch={branch}")
    if depth := fields.number(request, "depth", 0):
        words.append(f"--depth={depth}")
    repository = _Git(rpc, "/")
    repository.authorize(url)
    await repository.run(*words, "--", url, path)
    return DONE


async def push(rpc: Rpc) -> Control:
    """Push the current branch."""
    return await _exchange(rpc, "push", "--quiet")


async def pull(rpc: Rpc) -> Control:
    """Fetch and merge the current branch."""
    return await _exchange(rpc, "pull", "--quiet")


async def _exchange(rpc: Rpc, *words: str) -> Control:
    _check_network(rpc)
    repository = _repository(rpc)
    remote = await repository.try_("remote", "get-url", "origin")
    repository.authorize(remote.out.decode(errors="replace").strip())
    await repository.run(*words)
    return DONE


async def status(rpc: Rpc) -> Control:
    """Branch and changed files; at most about 1 MiB of them."""
    done = await _repository(rpc).try_("status", "--porcelain=v2", "--branch", "-z")
    if done.code and not done.truncated:
        raise bad_request(done.err.decode(errors="replace").strip())
    return {"type": "git_status_result", **git.parse_status(done.out, truncated=done.truncated)}


async def add(rpc: Rpc) -> Control:
    """Stage files."""
    await _repository(rpc).run("add", "--", *fields.words(rpc.request, "files"))
    return DONE


async def commit(rpc: Rpc) -> Control:
    """Commit what is staged; the new commit's hash."""
    repository = _repository(rpc)
    repository.act_as(fields.required_text(rpc.request, "author"))
    message = fields.required_text(rpc.request, "message")
    await repository.run("commit", "--quiet", f"--message={message}")
    head = await repository.run("rev-parse", "HEAD")
    return {"type": "git_commit_result", "hash": head.decode().strip()}


async def branch(rpc: Rpc) -> Control:
    """List, create, delete or check out branches."""
    repository = _repository(rpc)
    action = fields.required_text(rpc.request, "action")
    if action == "list":
        return await _branches(repository)
    name = fields.required_text(rpc.request, "name")
    if name.startswith("-"):
        raise bad_request(f"name: {name!r} cannot be a branch")
    match action:
        case "create":
            await repository.run("branch", name)
        case "delete":
            await repository.run("branch", "--delete", "--force", name)
        case "checkout":
            await repository.run("checkout", "--quiet", name, "--")
        case _:
            raise bad_request(f"action: {action!r} is none of list, create, delete, checkout")
    return DONE


async def _branches(repository: _Git) -> Control:
    listed = await repository.run("for-each-ref", "--format=%(refname:short)", "refs/heads")
    head = await repository.try_("symbolic-ref", "--quiet", "--short", "HEAD")
    return {
        "type": "git_branches",
        "current": head.out.decode(errors="replace").strip(),
        "branches": listed.decode(errors="replace").splitlines(),
    }


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {
    "git_clone": clone,
    "git_push": push,
    "git_pull": pull,
    "git_status": status,
    "git_add": add,
    "git_commit": commit,
    "git_branch": branch,
}
