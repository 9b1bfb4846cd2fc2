"""A VM from nothing to "identity confirmed", in two steps that pools take at different times.

`prepare()` starts a VMM process that waits with nothing loaded; `bring_up()` loads the
snapshot, greets the agent and confirms the guest's new identity in one exchange.  Every
effect is journalled before it happens, and an undo stack removes what a failure left.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import structlog
from msgspec import Struct

from sandbox_engine import ids
from sandbox_engine.errors import (
    EngineError,
    GuestUnavailable,
    InvalidArgument,
    NoSpace,
    VmmError,
)
from sandbox_engine.model.link import MASK, Link
from sandbox_engine.model.size import Size
from sandbox_engine.model.template import Manifest
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.guest import (
    GuestConnection,
    GuestConnector,
    GuestStream,
    Identity,
    Welcome,
)
from sandbox_engine.ports.journal import Journal, VmRow
from sandbox_engine.ports.links import Links
from sandbox_engine.ports.snapshots import Files
from sandbox_engine.ports.templates import ReadyTemplate
from sandbox_engine.ports.vmm import Machine, MachineDriver, MachineRef, MachineSpec, Snapshot

DISK = "disk.qcow2"
COLD_BOOT_S = 120.0
"""How long a guest that boots may take to answer: by emulation that is many seconds."""
MAX_CLOCK_SKEW_MS = 2000.0
"""A guest whose clock is further off than this after it was set is not handed out."""
_log = structlog.get_logger(__name__)


class Vm:
    """A machine and the channel to its guest.  Whoever holds it destroys it."""

    def __init__(
        self,
        sandbox_id: str,
        machine: Machine,
        uid: int,
        template: ReadyTemplate | None,
        size: Size | None = None,
    ) -> None:
        self.sandbox_id = sandbox_id
        """The sandbox it will be, decided before anyone asks: its host name says so."""
        self.template = template
        """None for a VM that was adopted after a restart."""
        self.size = size
        """None for the size the template was baked with; another one was booted, not restored."""
        self.boots = False
        """It boots when it is brought up, and answers that much later."""
        self.machine = machine
        self.uid = uid
        self.link: Link | None = None
        """What its guest's network interface is connected to; None for most."""
        self.guest: GuestConnection | None = None
        self.welcome: Welcome | None = None

    @property
    def name(self) -> str:
        """Name of the machine, unique on the host."""
        return self.machine.ref.name

    @property
    def fresh(self) -> bool:
        """Whether it may be handed out: it lives, and so does the template it was made from."""
        lost = self.guest is None or self.guest.lost.is_set() or self.machine.exited.is_set()
        return not lost and self.template is not None and not self.template.changed()

    @property
    def channel(self) -> GuestConnection:
        """The channel, or `GuestUnavailable` when the VM is gone."""
        if self.guest is None or self.guest.lost.is_set() or self.machine.exited.is_set():
            raise GuestUnavailable(f"the VM of sandbox {self.sandbox_id} is gone")
        return self.guest


class State(Struct, frozen=True, kw_only=True):
    """What a VM goes on from."""

    layers: tuple[Path, ...]
    """Frozen disks over the template's image, the lowest first."""
    files: Files | None
    """Memory and devices; None boots from the disk."""
    booted: bool = False
    """The memory began with zeros and not with the template's."""

    def snapshot(self, template: ReadyTemplate) -> Snapshot | None:
        """What the VMM loads, over which the changed pages are put."""
        if self.files is None:
            return None
        memory = None if self.booted else template.snapshot.memory_fd
        return Snapshot(memory_fd=memory, state_fd=self.files.state_fd)


class VmUids:
    """Hands each VM a uid of its own, so that one VMM cannot touch another's files."""

    def __init__(self, base: int, count: int) -> None:
        self._free = iter_cycle(base, count)
        self._used: set[int] = set()
        self._count = count

    def take(self) -> int:
        """A uid no other VM has.  Raises `VmmError` when all are in use."""
        for _ in range(self._count):
            uid = next(self._free)
            if uid not in self._used:
                self._used.add(uid)
                return uid
        raise VmmError(f"all {self._count} VMM uids are in use: raise vmm_uid_count")

    def reserve(self, uid: int) -> None:
        """Mark the uid of an adopted VM as used."""
        self._used.add(uid)

    def give_back(self, uid: int) -> None:
        """The VM is gone."""
        self._used.discard(uid)


def iter_cycle(base: int, count: int) -> Iterator[int]:
    """base, base+1 .. base+count-1, and again."""
    while True:
        yield from range(base, base + count)


class VmFactory:
    """Makes and destroys VMs; the only part that touches their directories."""

    def __init__(
        self,
        *,
        driver: MachineDriver,
        connector: GuestConnector,
        journal: Journal,
        root: Path,
        uids: VmUids,
    ) -> None:
        self._driver, self._connector, self._journal = driver, connector, journal
        self.root, self._uids = root, uids
        self.on_opened: Callable[[str, int, GuestStream], None] | None = None
        """Takes the sandbox's id, the port, and the stream that its guest opened."""
        self.links: Links | None = None
        """Makes links; None where this node gives no guest an interface."""
        self.kept_addresses: Callable[[], Collection[str]] = tuple
        """Of guests that are asleep, and of all others."""

    async def prepare(
        self,
        template: ReadyTemplate,
        size: Size | None = None,
        *,
        sandbox_id: str = "",
        state: State | None = None,
    ) -> Vm:
        """Start a VMM that waits to become a clone of `template`.

        With a `size` other than the template's it waits to boot from the template's disk.
        With a `state` it waits to go on from that, as `sandbox_id` where one is given.
        """
        baked = baked_size(template.manifest)
        size = None if size == baked else size
        name = "vm-" + sandbox_id.removeprefix("sb_") + "-" + os.urandom(3).hex()
        if not sandbox_id:
            sandbox_id = ids.new_sandbox_id()
            name = "vm-" + sandbox_id.removeprefix("sb_")
        snapshot = template.snapshot if size is None else None
        if state is not None:
            snapshot = state.snapshot(template)
        directory = self.root / name
        uid = self._uids.take()
        async with AsyncExitStack() as undo:
            undo.callback(self._uids.give_back, uid)
            row = VmRow(name=name, template=template.name, directory=str(directory), ref=None)
            self._journal.vm_intended(row)
            undo.callback(self._journal.vm_gone, name)
            undo.callback(remove_tree, directory)
            disk = _make_directory(directory, uid, template.overlay)
            spec = MachineSpec(
                name=name,
                directory=directory,
                uid=uid,
                gid=uid,
                memory_mib=(size or baked).memory_mib,
                vcpus=(size or baked).cpus,
                kernel=template.kernel,
                initramfs=template.initramfs,
                agent_disk=template.agent_disk,
                disk=disk,
                disk_format="qcow2",
                disk_backing=template.rootfs,
                disk_layers=() if state is None else state.layers,
                snapshot=snapshot,
                volume_disks=template.manifest.volumes,
            )
            machine = await self._driver.launch(spec)
            undo.push_async_callback(machine.kill)
            self._journal.vm_launched(name, machine.ref)
            if state is not None and state.files is not None:
                await machine.load_memory(state.files.memory_fd)
            undo.pop_all()
        vm = Vm(sandbox_id, machine, uid, template, size)
        vm.boots = snapshot is None
        return vm

    async def bring_up(self, vm: Vm, identity: Identity | None = None) -> None:
        """Load or boot, greet, and confirm the identity.  On a raise the VM is destroyed.

        Without an `identity` it gets one of its own.
        """
        try:
            await vm.machine.start()
            vm.guest = await self._connect(vm)
            if vm.boots:
                # Read only once the guest has booted: its clock would be set to a time long past.
                await vm.guest.greet(None, timeout_s=COLD_BOOT_S)
            vm.welcome = await vm.guest.greet(identity or new_identity(vm.sandbox_id))
            _check(vm.welcome)
        except BaseException as error:
            words = ""
            try:
                if isinstance(error, EngineError):
                    words = await vm.machine.console_tail()
            finally:  # also when that is cancelled
                await self.destroy(vm)
            if isinstance(error, GuestUnavailable) and words:
                raise GuestUnavailable(f"{error}; its console said: {words}") from error
            raise

    async def connect(self, vm: Vm, address: str = "") -> None:
        """Give a VM that runs its link, and its guest the address, `address` where it is free.

        Returns once the guest has confirmed it.  Raises `VmmError`, `GuestUnavailable`; the
        VM is then of no more use.
        """
        if self.links is None:
            raise VmmError("this node gives no guest a network interface")
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        vm.link, fd = await self.links.make(vm.name, address, self.kept_addresses())
        try:
            await vm.machine.attach_link(fd)
        finally:
            os.close(fd)
        wanted = {"address": vm.link.guest, "mask": MASK, "mac": vm.link.mac}
        try:
            await vm.channel.call({"op": "configure", "interface": wanted})
        except InvalidArgument as error:  # of nobody's making but the engine's
            raise GuestUnavailable(f"the guest's interface: {error}") from error

    async def adopt(self, sandbox_id: str, ref: MachineRef, *, paused: bool) -> Vm | None:
        """Take over a VM of an earlier engine; None when it is gone or does not answer.

        A paused one is greeted when it is resumed.
        """
        machine = await self._driver.adopt(ref)
        if machine is None:
            return None
        uid = Path(ref.directory).stat().st_uid
        self._uids.reserve(uid)
        vm = Vm(sandbox_id, machine, uid, None)
        if self.links is not None:
            vm.link = self.links.find(vm.name)
        try:
            if paused:
                await machine.pause()  # finishes a pause that was under way
                return vm
            await machine.resume()  # and a resume
            await self.reconnect(vm)
        except EngineError as error:
            _log.warning("an adopted guest does not answer", vm=vm.name, error=str(error))
            await self._end(vm)  # its disk may be booted from
            return None
        return vm

    async def reconnect(self, vm: Vm) -> None:
        """Greet the guest of an adopted VM: it keeps its identity, streams start anew."""
        vm.guest = await self._connect(vm)
        vm.welcome = await vm.guest.greet(None, resync=True, timeout_s=20.0)

    async def _connect(self, vm: Vm) -> GuestConnection:
        guest = await self._connector.connect(vm.machine.channel_path)
        if (on_opened := self.on_opened) is not None:
            guest.on_opened = lambda port, stream: on_opened(vm.sandbox_id, port, stream)
        return guest

    async def clear(self, keep: set[str]) -> list[str]:
        """Remove every VM and directory below the root whose name is not in `keep`."""
        removed = set(await self._driver.sweep(keep, self.root))
        if self.links is not None:
            removed.update(await self.links.sweep(keep))
        for row in self._journal.vms():
            if row.name not in keep:
                removed.add(row.name)
                self._journal.vm_gone(row.name)
        for directory in self.root.iterdir():
            if directory.name not in keep:
                removed.add(directory.name)
                remove_tree(directory)
        return sorted(removed)

    async def destroy(self, vm: Vm) -> None:
        """End the VM and remove everything of it.  Idempotent; never raises.

        Cancelling the call does not stop the destruction.
        """
        await asyncio.shield(spawn(self._destroy(vm), name=f"destroy {vm.name}"))

    async def _destroy(self, vm: Vm) -> None:
        await self.stop(vm)
        try:
            self._journal.vm_gone(vm.name)
        except NoSpace as error:  # the next start finds it gone
            _log.error("a VM stays on record", vm=vm.name, error=str(error))

    async def stop(self, vm: Vm) -> None:
        """End the VM and remove its files; the journal is the caller's to update."""
        await self._end(vm)
        remove_tree(Path(vm.machine.ref.directory))

    async def _end(self, vm: Vm) -> None:
        if vm.guest is not None:
            await vm.guest.close()
        await vm.machine.kill()
        if vm.link is not None and self.links is not None:
            await self.links.remove(vm.link)
        self._uids.give_back(vm.uid)


def baked_size(manifest: Manifest) -> Size:
    """The size a template has a snapshot of."""
    return Size(cpus=manifest.vcpus, memory_mib=manifest.memory_mib)


def remove_tree(directory: Path) -> None:
    """Remove a VM's directory.  Idempotent."""
    shutil.rmtree(directory, ignore_errors=True)


def _make_directory(directory: Path, uid: int, overlay: Path) -> Path:
    """The VM's own directory with its disk, a copy of the template's empty overlay."""
    try:
        directory.mkdir(mode=0o700)
        os.chown(directory, uid, uid)
    except OSError as error:
        raise NoSpace(f"cannot make the folder of a new VM: {error}") from error
    return _make_disk(directory, uid, overlay, DISK)


def _make_disk(directory: Path, uid: int, overlay: Path, name: str) -> Path:
    disk = directory / name
    try:
        shutil.copyfile(overlay, disk)
        os.chown(disk, uid, uid)
    except OSError as error:
        raise NoSpace(f"cannot make the disk of a VM: {error}") from error
    return disk


def new_disk(vm: Vm, template: ReadyTemplate, name: str) -> Path:
    """Another empty disk in the VM's directory, of its user.  Raises `NoSpace`."""
    return _make_disk(Path(vm.machine.ref.directory), vm.uid, template.overlay, name)


def new_identity(sandbox_id: str, env: dict[str, str] | None = None) -> Identity:
    """Nothing that another guest has: for a clone, a fork, a branch."""
    return Identity(
        machine_id=ids.new_machine_id(),
        hostname=sandbox_id.replace("_", "-"),
        generation=_new_generation(),
        entropy=os.urandom(64),
        env=env or {},
    )


def same_identity(env: dict[str, str]) -> Identity:
    """The guest stays who it is, in the present and with fresh entropy: for a wake."""
    return Identity(
        machine_id=None,
        hostname=None,
        generation=_new_generation(),
        entropy=os.urandom(64),
        env=env,
    )


def _new_generation() -> str:
    return f"{time.time_ns():x}-{os.urandom(8).hex()}"


def _check(welcome: Welcome) -> None:
    if not welcome.identity_confirmed:
        raise GuestUnavailable("the guest did not confirm its new identity")
    if abs(welcome.clock_skew_ms) > MAX_CLOCK_SKEW_MS:
        raise GuestUnavailable(
            f"the guest's clock is {welcome.clock_skew_ms:.0f} ms off after it was set"
        )
