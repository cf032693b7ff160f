"""The ways to have a kernel that are compared."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench.kernels.records import Failed

from toolablate.sandbox import BACKENDS, Kernel, KernelUnavailable, open_sandbox

REPLY = "1+1"
IMPORTS = "import numpy, scipy, pandas, sympy"
POOLED = "+pool"
_PLAIN = ("plain-tcp", "plain-ipc", "plain-stock")


@dataclass(frozen=True, slots=True)
class Reply:
    """What one cell gave; `error` is the name of what it raised, or how the kernel died."""

    text: str
    error: str = ""


class LiveKernel(Protocol):
    async def run(self, code: str) -> Reply: ...

    async def stop(self) -> None: ...


class Way(Protocol):
    """`start` raises `KernelUnavailable`; `close` ends all that is left, a pool too."""

    @property
    def name(self) -> str: ...

    async def start(self) -> LiveKernel: ...

    async def close(self) -> None: ...


class SandboxWay:
    """A backend of ours, with `pool` kernels started ahead."""

    def __init__(self, backend: str, pool: int = 0) -> None:
        self.name = backend + (POOLED if pool else "")
        options: dict[str, Any] = {"pool": pool} if pool else {}
        self._sandbox = open_sandbox(backend, **options)

    async def start(self) -> LiveKernel:
        return _SandboxKernel(await self._sandbox.start())

    async def close(self) -> None:
        await self._sandbox.close()


class _SandboxKernel:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def run(self, code: str) -> Reply:
        result = await self._kernel.execute(code)
        return Reply(result.text, result.error or ("" if result.status == "ok" else result.status))

    async def stop(self) -> None:
        await self._kernel.close()


def has_pool() -> bool:
    return "pool" in inspect.signature(open_sandbox).parameters


def way_names(families: Sequence[str]) -> list[str]:
    """`plain` stands for both its transports, a backend for itself and its pool; raises `KernelUnavailable`."""
    names: list[str] = []
    for family in families:
        if family == "plain":
            names += ["plain-tcp", "plain-ipc", "plain-tcp" + POOLED]
        elif family in BACKENDS:
            names += [family, family + POOLED] if has_pool() else [family]
        elif family.removesuffix(POOLED) in _PLAIN or (family.removesuffix(POOLED) in BACKENDS and has_pool()):
            names.append(family)
        else:
            known = ", ".join(("plain", *_PLAIN, *BACKENDS))
            raise KernelUnavailable(f"there is no way {family!r}", hint=f"choose of: {known}; with {POOLED} for a pool")
    return list(dict.fromkeys(names))


def default_families() -> list[str]:
    return ["plain", *(name for name in BACKENDS if name != "none")]


def new_way(name: str, pool: int) -> Way:
    from bench.kernels.plain import PlainWay

    kind = name.removesuffix(POOLED)
    size = pool if name.endswith(POOLED) else 0
    if kind in _PLAIN:
        return PlainWay(kind, ahead=bool(size))
    return SandboxWay(kind, size)


def uses_docker(names: Sequence[str]) -> bool:
    return any(name.startswith("docker") for name in names)


async def answering(way: Way, code: str = REPLY, wanted: str = "2") -> LiveKernel:
    """A kernel that has run its first cell; raises `KernelUnavailable` where that gives anything but `wanted`."""
    kernel = await way.start()
    try:
        reply = await kernel.run(code)
        if reply.error or reply.text.strip() != wanted:
            raise KernelUnavailable(f"{code!r} gave {reply.text[:200]!r} {reply.error}")
    except BaseException:
        await kernel.stop()
        raise
    return kernel


async def importing(way: Way) -> LiveKernel:
    """A kernel whose first cell has imported the scientific stack."""
    return await answering(way, IMPORTS, "")


def failure(way: str, measure: str, error: BaseException) -> Failed:
    """The first error of a group stands for all of it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    hint = f" ({error.hint})" if isinstance(error, KernelUnavailable) and error.hint else ""
    return Failed(way, measure, f"{type(error).__name__}: {error}{hint}")
