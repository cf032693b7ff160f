"""Where the time of a start goes, seen from the host: the functions on its way, timed from outside.

`STEPS` names them by their place in the code; one that is no longer there is reported, not passed over. What happens
inside a kernel's own process cannot be seen so: `strace -f -r -p SERVER` shows that, at its own cost.
"""

import functools
import importlib
import inspect
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .latency import Say
from .records import Failed, Step
from .ways import Way, answering

_SANDBOX = "toolablate.sandbox"
STEPS = (
    f"{_SANDBOX}.sockets:KernelSockets.__init__",
    f"{_SANDBOX}.process:KernelProcess.start",
    f"{_SANDBOX}.jupyter:connect",
    f"{_SANDBOX}.jupyter:wait_until_ready",
    f"{_SANDBOX}.jupyter:JupyterKernel.open",
    f"{_SANDBOX}.jupyter:JupyterKernel.execute",
    f"{_SANDBOX}.client:BoundedClient.stop_channels",
    f"{_SANDBOX}.process:KernelProcess.close",
    f"{_SANDBOX}.sockets:KernelSockets.close",
    f"{_SANDBOX}.jupyter:JupyterKernel.close",
)
"""In the order in which they begin. `open` holds the ones above it, the last `close` those above it."""

Times = dict[str, list[float]]


async def measure_steps(way: Way, kernels: int, say: Say) -> list[Step | Failed]:
    """Median time in each function per call, over `kernels` starts, 1+1 and stops after a first one."""
    await (await answering(way)).stop()
    times: Times = {}
    with _timed(times) as missing:
        for _ in range(kernels):
            await (await answering(way)).stop()
    say(f"steps  {way.name}: {kernels} kernels")
    found: list[Step | Failed] = [Failed(way.name, "steps", f"{name} is no longer there") for name in missing]
    for name, taken in times.items():
        found.append(Step(way.name, name, len(taken) / kernels, statistics.median(taken) if taken else 0.0))
    return found


@contextmanager
def _timed(times: Times) -> Iterator[list[str]]:
    """Wraps the functions of `STEPS`; gives those that are not there."""
    missing: list[str] = []
    wrapped: list[tuple[Any, str, Any]] = []
    try:
        for path in STEPS:
            try:
                owner, name = _find(path)
            except (ImportError, AttributeError):
                missing.append(path.removeprefix(f"{_SANDBOX}."))
                continue
            original = getattr(owner, name)
            wrapped.append((owner, name, vars(owner).get(name)))
            setattr(owner, name, _timing(original, times.setdefault(path.removeprefix(f"{_SANDBOX}."), [])))
        yield missing
    finally:
        for owner, name, own in reversed(wrapped):
            # One that was inherited is uncovered again, not made the class's own.
            delattr(owner, name) if own is None else setattr(owner, name, own)


def _find(path: str) -> tuple[Any, str]:
    module, names = path.split(":")
    *owners, name = names.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    getattr(owner, name)
    return owner, name


def _timing(original: Callable[..., Any], taken: list[float]) -> Callable[..., Any]:
    def record(begun: float) -> None:
        taken.append((time.perf_counter() - begun) * 1000)

    @functools.wraps(original)
    async def awaited(*arguments: Any, **options: Any) -> Any:
        begun = time.perf_counter()
        try:
            return await original(*arguments, **options)
        finally:
            record(begun)

    @functools.wraps(original)
    def called(*arguments: Any, **options: Any) -> Any:
        begun = time.perf_counter()
        try:
            return original(*arguments, **options)
        finally:
            record(begun)

    return awaited if inspect.iscoroutinefunction(original) else called
