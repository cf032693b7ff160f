"""What a terminal shows of a view, and summaries to show."""

import io
import re
from dataclasses import replace

from rich.console import Console, RenderableType

from toolablate.traces.store.summaries import TrialSummary

SAFE = re.compile(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*")


def shown(view: RenderableType, width: int = 100) -> str:
    """What a terminal without colours would show."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, legacy_windows=False).print(view)
    return out.getvalue()


def summaries(*, simulated: bool = False, **changes: object) -> list[TrialSummary]:
    return [
        replace(
            TrialSummary(
                question=f"q{number}",
                model="gpt-x",
                condition=name,
                value=float(right),
                verdict="correct" if right else "wrong",
                domain="law" if number % 2 else "physics",
                simulated=simulated,
                tokens=1200 if name == "none" else 34_567,
                cost_usd=0.0012,
            ),
            **changes,
        )
        for number in range(40)
        for name, right in (("none", number % 3 > 0), ("python", number % 2 > 0), ("search", number % 3 > 0))
    ]
