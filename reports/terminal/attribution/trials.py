"""The trials that are wrong, and what each is attributed to."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.attribution.evidence import Outlined
from toolablate.analysis.attribution.naming import mechanism_name
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.attribution.wording import attributed, chance
from toolablate.reports.terminal.fitted import Column, Fitted, figures, names, words
from toolablate.reports.terminal.simulated import simulated_banner
from toolablate.traces.plain import ID_CHARS, inert, one_line
from toolablate.traces.records import Attribution

SHOWN_EVENTS = 6
MECHANISM_CELLS = 21
_NO_TOOLS = ("luck", "own_error", "unknown")
"""What no tool did."""

Found = tuple[Outlined, Attribution]


def attributed_trials(explained: Sequence[Outlined]) -> list[Found]:
    """Those that have an attribution: what is measured before what is guessed, what a tool did first, the surest of
    it before the others."""
    return sorted(((each, each.attribution) for each in explained if each.attribution is not None), key=_rank)


def _rank(found: Found) -> tuple[bool, bool, float]:
    _, attribution = found
    return attribution.method != "replay", attribution.mechanism in _NO_TOOLS, -attribution.confidence


def trials_view(
    explained: Sequence[Outlined], most: int | None, simulated: Set[str] = frozenset()
) -> Iterator[RenderableType]:
    """How many wrong trials each mechanism has, then the trials; of more than `most` the first of them. Names in
    `simulated` are those of stand-ins."""
    found = attributed_trials(explained)
    if not found:
        return
    yield Text(f" Wrong trials with tools: {len(found):,}", style="bold")
    if simulated and {each.evidence.model for each in explained} <= simulated:
        yield simulated_banner()
        simulated = frozenset()
    yield Padding(Text(_counted(found)), (0, 1, 0, 1))
    shown = found if most is None else found[:most]
    yield _table(shown, simulated)
    if len(shown) < len(found):
        yield Padding(Text(f"{len(found) - len(shown):,} more: --list", style="dim"), (0, 1, 1, 1))


def _table(found: Sequence[Found], marked: Set[str]) -> RenderableType:
    return Fitted(
        (
            words("trial", [each.evidence.chain.trial[:ID_CHARS] for each, _ in found]),
            names("question", [_name(each.evidence.question) for each, _ in found], cut=True),
            names("model", [_model(each.evidence.model, marked) for each, _ in found], common=True),
            names("condition", [_name(each.evidence.condition) for each, _ in found], common=True),
            Column("mechanism", tuple(Text(attributed(why)) for _, why in found), least=MECHANISM_CELLS),
            words("method", [why.method for _, why in found], common=True),
            figures("conf.", [chance(why.confidence) for _, why in found]),
            figures("turned at", [_event(why.turned_at) for _, why in found], spare=2),
            names("evidence", [_events(why.evidence) for _, why in found]),
        )
    )


def _counted(found: Sequence[Found]) -> str:
    """By replay, and by trace alone: the one is measured, the other a hypothesis."""
    lines = []
    for method, told in (("replay", "By replay"), ("trace", "By trace alone"), ("judge", "By judge alone")):
        counts = Counter(each.mechanism for _, each in found if each.method == method)
        if counts:
            listed = ", ".join(f"{mechanism_name(name)} {count:,}" for name, count in counts.most_common())
            lines.append(f"{told}: {listed}.")
    return "\n".join(lines)


def _name(text: str) -> Text:
    return inert(one_line(text))


def _model(name: str, marked: Set[str]) -> Text:
    return Text.assemble(_name(name), " (simulated)") if name in marked else _name(name)


def _event(number: int | None) -> str:
    return numbers.UNKNOWN if number is None else str(number)


def _events(events: Sequence[int]) -> str:
    more = ", ..." if len(events) > SHOWN_EVENTS else ""
    return ", ".join(map(str, events[:SHOWN_EVENTS])) + more
