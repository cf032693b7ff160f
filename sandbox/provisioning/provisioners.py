"""Provisioners by backend: what jupyter_client calls to start, watch, signal and end an isolated kernel."""

import difflib
import math
import signal
from collections.abc import Iterable
from typing import Any, ClassVar, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import TraitError, TraitType, Unicode

from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import Connection, Exit, KernelProcess
from toolablate.sandbox.provisioning.host import HostSettings, StableAddress, kernel_host

_MOST = 1_000_000_000
"""More than any machine has, and little enough for every system call that takes it, in bytes as well."""


class LimitTrait(TraitType[Any, Any]):
    """A number above 0; a whole one where the limit of this name is."""

    def __init__(self, default: float, help: str) -> None:
        super().__init__(default, help=help, config=True)
        self._whole = isinstance(default, int)

    def validate(self, obj: Any, value: Any) -> Any:
        number = isinstance(value, int if self._whole else (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value <= _MOST:
            kind = "a whole number" if self._whole else "a number"
            raise TraitError(f"{self.name} must be {kind} above 0 and at most {_MOST}, not {value!r}")
        return value

    def from_string(self, text: str) -> Any:
        """From a command line; what is no number is left to `validate`."""
        try:
            return int(text) if self._whole else float(text)
        except ValueError:
            return text


def limit(name: str, help: str, default: float | None = None) -> Any:
    return LimitTrait(getattr(Limits(), name) if default is None else default, help)


def refuse_unknown(given: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raises `TraitError` for the first key of a configuration that means nothing."""
    known = sorted(known)
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise TraitError(f"{where} has no key {key!r}: {meant}The keys are: {', '.join(known)}")


_OUTPUT_CHARS = 1_000_000
_FROM_JUPYTER = ("kernel_id", "kernel_spec", "parent", "log", "config")
_OF_NO_EFFECT = ("output_messages", "cell_seconds", "grace_seconds")
_LIMITED_BY = {"memory": "memory_mb", "files": "files", "time": "cpu_seconds"}


class ProvisioningError(KernelUnavailable):
    """No isolated kernel for a Jupyter client, which shows a person the text of an error and nothing else of it."""

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class SandboxProvisioner(KernelProvisionerBase):
    """What the backends have in common. Every limit is a key of the kernelspec's `metadata.kernel_provisioner.config`,
    and of any Jupyter configuration (`c.BubblewrapProvisioner.memory_mb = 512`).

    Nothing of the client's reaches the kernel: neither environment nor working folder, and no argument of its command.
    """

    backend: ClassVar[str]

    memory_mb = limit("memory_mb", "MB (10**6 bytes) that the code may add to an idle kernel")
    cpu_seconds = limit("cpu_seconds", "CPU time of the kernel, in seconds, after which it dies")
    processes = limit("processes", "processes and threads at once")
    disk_mb = limit("disk_mb", "MB (10**6 bytes) in all files below /tmp")
    files = limit("files", "files in all folders that can be written")
    open_files = limit("open_files", "open files of each process")
    output_chars = limit("output_chars", "characters that one cell may print; what is beyond is dropped", _OUTPUT_CHARS)
    start_seconds = limit("start_seconds", "seconds until the sandbox must stand")
    output_messages = limit("output_messages", "of no effect under a Jupyter client, which takes all messages")
    cell_seconds = limit("cell_seconds", "of no effect under a Jupyter client, which interrupts cells itself")
    grace_seconds = limit("grace_seconds", "of no effect under a Jupyter client, which ends kernels itself")

    def __init__(self, **given: Any) -> None:
        refuse_unknown(
            set(given) - set(_FROM_JUPYTER),
            self.class_trait_names(config=True),
            f"the configuration of the kernel provisioner toolablate-{self.backend}",
        )
        super().__init__(**given)
        self._process: KernelProcess | None = None
        self._taken: HostSettings | None = None
        self._address: StableAddress | None = None
        self._ending = False

    @property
    def has_process(self) -> bool:
        return self._process is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        self._refuse_encryption()
        self._tell_what_is_ignored(kwargs.pop("extra_arguments", None))
        return await super().pre_launch(cmd=[f"toolablate-{self.backend}"], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Raises `ProvisioningError`, with the command that mends it where there is one; nothing is left then."""
        await self._end()
        try:
            key = await kernel_host().run(self._start(self._settings(), self._key()))
        except BaseException as error:
            await self.cleanup()
            if isinstance(error, KernelUnavailable):
                raise ProvisioningError(error.message, hint=error.hint, code=error.code) from error
            if isinstance(error, OSError):
                raise ProvisioningError(f"the sandbox could not be made: {error}", code="start_failed") from error
            raise
        assert self._address is not None
        self._ending = False
        self.connection_info = _connection_info(Connection(self._address.address, key))
        return self.connection_info

    async def poll(self) -> int | None:
        if self._process is None:
            return 0
        ended = self._process.ended
        if ended is None:
            return None
        self._tell_cause(ended)
        return _exit_code(ended)

    async def wait(self) -> int | None:
        process = self._process
        if process is None:
            return 0
        await kernel_host().run(kernel_host().wait(process))
        code = await self.poll()
        await self._end()
        return code

    async def send_signal(self, signum: int) -> None:
        """To the kernel and its children; SIGKILL ends the whole sandbox."""
        if signum == signal.SIGKILL:
            await self.kill()
        elif self._process is not None:
            await kernel_host().run(kernel_host().send_signal(self._process, signum))

    async def kill(self, restart: bool = False) -> None:
        self._ending = True
        if self._process is not None:
            await kernel_host().finish(kernel_host().end(self._process))

    async def terminate(self, restart: bool = False) -> None:
        self._ending = True
        await self.send_signal(signal.SIGTERM)

    async def shutdown_requested(self, restart: bool = False) -> None:
        self._ending = True

    async def cleanup(self, restart: bool = False) -> None:
        await self._end()
        if restart:
            return
        if self._taken is not None:
            taken, self._taken = self._taken, None
            await kernel_host().finish(kernel_host().give_back(taken))
        if self._address is not None:
            address, self._address = self._address, None
            await kernel_host().finish(kernel_host().close_address(address))

    async def get_provisioner_info(self) -> dict[str, Any]:
        """The kernel ends with the process that started it, so there is nothing by which another could take it over."""
        return {**await super().get_provisioner_info(), "backend": self.backend}

    async def _start(self, settings: HostSettings, key: str) -> str:
        """Runs on the host's loop, where nothing can come between a start and our knowing of it. Gives the key."""
        host = kernel_host()
        if self._taken != settings:
            if self._taken is not None:
                taken, self._taken = self._taken, None
                await host.give_back(taken)
            await host.take(settings)
            self._taken = settings
        if self._address is None:
            self._address = host.new_address()
        self._process = await host.start(settings, key)
        self._address.lead_to(self._process.connection.address)
        return self._process.connection.key

    async def _end(self) -> None:
        """Returns when nothing of the present kernel is left."""
        if self._process is not None:
            await kernel_host().finish(kernel_host().end(self._process))
            self._process = None

    def _settings(self) -> HostSettings:
        limits = Limits(**{name: getattr(self, name) for name in Limits.__dataclass_fields__})
        return HostSettings(self.backend, limits, self._python())

    def _python(self) -> str | None:
        return None

    def _key(self) -> str:
        """The manager's, so that its clients outlive a restart and what a user configured holds; "" for a fresh one."""
        key: bytes = self.parent.session.key if self.parent is not None else b""
        try:
            return key.decode()
        except UnicodeDecodeError:
            raise ProvisioningError("the key of the Jupyter session must be text (UTF-8)", code="bad_key") from None

    def _refuse_encryption(self) -> None:
        manager = self.parent
        if getattr(manager, "transport_encryption", "disabled") == "required" or getattr(
            manager, "curve_publickey", None
        ):
            raise ProvisioningError(
                "isolated kernels have no encrypted transport (CurveZMQ): their sockets are files that nobody else on "
                "this machine can open",
                hint="set transport_encryption to 'disabled' or 'auto' for this kernel",
                code="no_encryption",
            )

    def _tell_what_is_ignored(self, arguments: list[str] | None) -> None:
        if options := [argument for argument in arguments or () if argument.startswith("-")]:
            self.log.warning("%s: the options %s do not reach an isolated kernel", self._name(), options)
        if self.kernel_spec is not None and self.kernel_spec.env:
            names = ", ".join(sorted(self.kernel_spec.env))
            self.log.warning("%s: the variables %s do not reach an isolated kernel", self._name(), names)
        for name in _OF_NO_EFFECT:
            if getattr(self, name) != self.class_traits()[name].default_value:
                self.log.warning("%s: %s", self._name(), f"{name} is {self.class_traits()[name].help}")

    def _tell_cause(self, ended: Exit) -> None:
        """Once, and only of an end that nobody asked for: a Jupyter client says no more than that the kernel died."""
        if self._ending:
            return
        self._ending = True
        if ended.error:
            self.log.error("%s could not be started: %s", self._name(), ended.error)
        elif key := _LIMITED_BY.get(ended.cause):
            self.log.warning("%s died: beyond its limit %s = %s", self._name(), key, getattr(self, key))
        else:
            self.log.warning("%s died: %s", self._name(), "ended from outside" if ended.lost else ended.cause)

    def _name(self) -> str:
        return f"kernel {self.kernel_id} (toolablate-{self.backend})"


def _connection_info(connection: Connection) -> KernelConnectionInfo:
    """As a manager compares it with its own: the key in bytes."""
    return cast(KernelConnectionInfo, {**connection.as_dict(), "key": connection.key.encode()})


def _exit_code(ended: Exit) -> int:
    """As of a subprocess: negative for a signal, and SIGKILL's where the sandbox was ended as a whole."""
    return -signal.SIGKILL if ended.code is None else ended.code


class _OnAnyPython(SandboxProvisioner):
    python = Unicode(
        None, allow_none=True, config=True, help="Python that kernels run on, by default the one of the Jupyter client"
    )

    def _python(self) -> str | None:
        chosen: str | None = self.python
        return chosen


class BubblewrapProvisioner(_OnAnyPython):
    """One bubblewrap per kernel."""

    backend = "bubblewrap"


class ForkserverProvisioner(_OnAnyPython):
    """Kernels forked from a prepared process, which kernels with the same settings share while one of them is there."""

    backend = "forkserver"


class DockerProvisioner(SandboxProvisioner):
    """One container per kernel, on the Python of its image."""

    backend = "docker"
