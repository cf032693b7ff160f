"""Isolated Jupyter kernels: `open_sandbox` by the name of a backend, `start` a kernel, `execute` cells."""

from toolablate.sandbox.kernel import (
    Availability,
    CellResult,
    Kernel,
    KernelUnavailable,
    Limits,
    RichOutput,
    Sandbox,
    WorkFile,
)
from toolablate.sandbox.opening import BACKENDS, open_sandbox

__all__ = [
    "BACKENDS",
    "Availability",
    "CellResult",
    "Kernel",
    "KernelUnavailable",
    "Limits",
    "RichOutput",
    "Sandbox",
    "WorkFile",
    "open_sandbox",
]
