"""Identical questions under scripted tool conditions, and why a tool made a model worse.

What is offered is imported when it is first asked for, since the command line lives in this package and starts at once.
`__init__.pyi` has the types.
"""

from importlib.metadata import version

from toolablate.traces._lazy import importing

__version__ = version("toolablate")

__all__ = [
    "Plan",
    "Store",
    "ToolablateError",
    "attribute",
    "attribute_async",
    "condition",
    "doctor",
    "doctor_async",
    "open",
    "power",
    "replay",
    "report",
    "run",
    "run_async",
]

__getattr__ = importing(
    __name__,
    {
        "api.plans": ("Plan",),
        "api.running": ("run", "run_async"),
        "api.looking": ("doctor", "doctor_async", "power"),
        "api.stores": ("Store", "open"),
        "api.asking": ("attribute", "attribute_async", "replay", "report"),
        "experiments.plans.conditions": ("condition",),
        "traces.errors": ("ToolablateError",),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
