"""Where the time of a start goes, seen from the host: the functions on its way, timed from outside.

`STEPS` names them by their place in the code; one that is no longer there is reported, not passed over. What happens
inside a kernel's own process cannot be seen so: `strace -f -r -p` of the fork server shows that, at its own cost.
"""

import functools
import importlib
import inspect
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.kernels.latency import Say
from bench.kernels.records import Failed, Step
from bench.kernels.ways import Way, answering

_SANDBOX = "toolablate.sandbox"
STEPS = (
    "process:KernelSockets.__init__",
    "backends.forkserver:ForkServer.fork",
    "process:KernelProcess.start",
    "jupyter:connect",
    "jupyter:wait_until_ready",
    "process:KernelProcess._read_control",
    "jupyter:JupyterKernel.open",
    "jupyter:Execution.run",
    "client:BoundedClient.stop_channels",
    "process:KernelProcess.close",
    "process:KernelSockets.close",
    "jupyter:JupyterKernel.close",
)
"""What first comes to `_read_control` is the guardian's greeting: the fork is made, the namespaces are not yet.
`open` holds all before it, `JupyterKernel.close` all from `stop_channels` on."""


@dataclass(slots=True)
class _Calls:
    """Of the kernel at hand: when each call began, counted from the kernel's start, and how long it took, in ms."""

    started: float = 0.0
    of: dict[str, list[tuple[float, float]]] = field(default_factory=dict)


async def measure_steps(way: Way, kernels: int, say: Say) -> list[Step | Failed]:
    """Medians over `kernels` starts, 1+1 and stops, one at a time, after a first one."""
    await (await answering(way)).stop()
    calls = _Calls()
    each_kernel: list[dict[str, list[tuple[float, float]]]] = []
    with _timed(calls) as missing:
        for _ in range(kernels):
            calls.started, calls.of = time.perf_counter(), {}
            await (await answering(way)).stop()
            each_kernel.append(calls.of)
    say(f"steps  {way.name}: {kernels} kernels")
    found: list[Step | Failed] = [Failed(way.name, "steps", f"{name} is no longer there") for name in missing]
    found += [step for name in STEPS if (step := _step(way.name, name, each_kernel))]
    return sorted(found, key=lambda each: each.at_ms if isinstance(each, Step) else 0.0)


def _step(way: str, name: str, each_kernel: list[dict[str, list[tuple[float, float]]]]) -> Step | None:
    called = [calls[name] for calls in each_kernel if name in calls]
    if not called:
        return None
    at = statistics.median(min(begun for begun, _ in calls) for calls in called)
    took = statistics.median(sum(ms for _, ms in calls) for calls in called)
    return Step(way, name, sum(map(len, called)) / len(each_kernel), at, took)


@contextmanager
def _timed(calls: _Calls) -> Iterator[list[str]]:
    """Wraps the functions of `STEPS`; gives those that are not there."""
    missing: list[str] = []
    wrapped: list[tuple[Any, str, Any]] = []
    try:
        for path in STEPS:
            try:
                owner, name = _find(path)
            except (ImportError, AttributeError):
                missing.append(path)
                continue
            original = getattr(owner, name)
            wrapped.append((owner, name, vars(owner).get(name)))
            setattr(owner, name, _timing(path, original, calls))
        yield missing
    finally:
        for owner, name, own in reversed(wrapped):
            # One that was inherited is uncovered again, not made the class's own.
            delattr(owner, name) if own is None else setattr(owner, name, own)


def _find(path: str) -> tuple[Any, str]:
    module, names = path.split(":")
    *owners, name = names.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(f"{_SANDBOX}.{module}"))
    getattr(owner, name)
    return owner, name


def _timing(name: str, original: Callable[..., Any], calls: _Calls) -> Callable[..., Any]:
    def record(begun: float) -> None:
        taken = calls.of.setdefault(name, [])
        taken.append(((begun - calls.started) * 1000, (time.perf_counter() - begun) * 1000))

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
