"""Whether the trials of a store ran their code on the same packages.

Another version of a package may give another result, and mostly gives the same one: so it is said and not refused.
"""

from collections.abc import Sequence
from pathlib import Path

from toolablate.traces.records import Environment
from toolablate.traces.store import Store

SHOWN_CHANGES = 6

# What computes. A kernel has a hundred packages more, which seldom matter.
FIRST = frozenset({"python", "numpy", "scipy", "pandas", "sympy", "matplotlib"})


def environments(store: Path) -> tuple[Environment, ...]:
    """What the trials in a store ran on; none where there is no store yet. Raises StoreError where it is none."""
    if not store.exists():
        return ()
    with Store(store) as opened:
        return opened.environments()


def changed_kernels(ran_on: Sequence[Environment]) -> str:
    """A sentence on what differs between kernels, the latest last; "" where nothing does or nothing is known."""
    parts = [
        f"{label}{name} {' / '.join(found)}"
        for label, tables in (
            ("", [seen.kernel_versions for seen in ran_on if seen.kernel_versions]),
            ("variable ", [seen.kernel_environment for seen in ran_on if seen.kernel_environment]),
        )
        for name in sorted({name for table in tables for name in table}, key=lambda name: (name not in FIRST, name))
        if len(found := list(dict.fromkeys(table.get(name, "(none)") for table in tables))) > 1
    ]
    if not parts:
        return ""
    more = f" and {len(parts) - SHOWN_CHANGES} more" if len(parts) > SHOWN_CHANGES else ""
    return f"the trials' code did not all run on the same kernel: {', '.join(parts[:SHOWN_CHANGES])}{more}"
