"""Waterfalls of ladders and of effect decompositions, as the bars that terminals, pages and figures draw."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from rich.text import Text

from toolablate.analysis.attribution.decomposition import Account, Decomposition
from toolablate.analysis.attribution.report import ATTRIBUTED_AS, mechanism_name
from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.findings import AttributedCount
from toolablate.analysis.ladder import LadderStep, Waterfall
from toolablate.analysis.selection import Selection
from toolablate.reports.numbers import signed

GAIN, LOSS, EMPTY = "█", "▒", "│"


@dataclass(frozen=True, slots=True)
class Bar:
    """In percentage points from where its waterfall starts.

    sure   Holm-corrected p below .05 over enough questions; None where it is not tested by design
    told   names it in full, before its points; `after` follows them
    leads  the trials behind it; None where no page lists them
    """

    name: str
    kind: Literal["part", "unresolved", "total", "bound"]
    start: float
    points: float | None
    ci95: tuple[float, float] | None
    sure: bool | None
    p_holm: float | None
    told: str
    after: str
    leads: Selection | None

    @property
    def end(self) -> float:
        return self.start + (self.points or 0.0)


@dataclass(frozen=True, slots=True)
class Bars:
    """Of one model under a ladder or a condition. `summary` is the line below the title, "" where nothing is scored."""

    model: str
    under: str
    simulated: bool
    summary: str
    bars: tuple[Bar, ...]


def ladder_bars(waterfall: Waterfall) -> Bars:
    total = waterfall.total
    base = total.before_score or 0.0

    def bar(step: LadderStep, kind: Literal["part", "total", "bound"], start: float | None) -> Bar:
        return Bar(
            name=f"bound: {step.name}" if kind == "bound" else step.name,
            kind=kind,
            start=(start or 0.0) - base,
            points=step.points,
            ci95=step.ci95,
            sure=not step.small and step.p_holm is not None and step.p_holm < SIGNIFICANT,
            p_holm=step.p_holm,
            told=f"{waterfall.model} · {step.before} to {step.after}: {step.name}",
            after=f"n = {step.questions:,}",
            leads=Selection(models=(waterfall.model,), conditions=(step.after,)),
        )

    # A bound may rest on fewer questions than the contrasts; it begins where the last of these does all the same.
    before_bounds = waterfall.contrasts[-1].before_score
    summary = ""
    if total.before_score is not None and total.score is not None:
        relative = "" if waterfall.relative is None else f" ({signed(waterfall.relative)} % of it)"
        scores = f"{total.before} {total.before_score:.1f}, {waterfall.ladder} {total.score:.1f}{relative}"
        summary = f"{scores}; n = {total.questions:,}"
    return Bars(
        waterfall.model,
        waterfall.ladder,
        waterfall.simulated,
        summary,
        (
            *(bar(step, "part", step.before_score) for step in waterfall.contrasts),
            bar(total, "total", total.before_score),
            *(bar(step, "bound", before_bounds) for step in waterfall.bounds),
        ),
    )


def accounts_of(decomposition: Decomposition) -> tuple[Account, ...]:
    """Mechanisms that are not 0 in every trial, and always the unresolved."""
    told = tuple(each for each in decomposition.mechanisms if each.points or each.ci95 or each.name == "unresolved")
    if any(each.name == "unresolved" for each in told):
        return told
    return (*told, Account("unresolved", 0.0, None, None, small=False))


def decomposition_bars(
    decomposition: Decomposition, *, simulated: Collection[str] = (), attributed: Iterable[AttributedCount] = ()
) -> Bars:
    """A mechanism leads to the trials that are attributed to it, the effect to all."""
    model, condition = decomposition.model, decomposition.condition
    listed = {each.mechanism for each in attributed if (each.model, each.condition) == (model, condition)}
    accounts = accounts_of(decomposition)
    starts = [*accumulate((each.points for each in accounts[:-1]), initial=0.0), 0.0]
    replayed = f"{decomposition.replayed:,} of {decomposition.trials:,} trials replayed"

    def bar(account: Account, start: float) -> Bar:
        total, blamed = account is decomposition.effect, ATTRIBUTED_AS.get(account.name)
        of = (blamed,) if blamed in listed else ()
        return Bar(
            name=mechanism_name(account.name),
            kind="total" if total else "unresolved" if account.name == "unresolved" else "part",
            start=start,
            points=account.points,
            ci95=account.ci95,
            # `compare` tests the effect.
            sure=None if total else not account.small and account.p_holm is not None and account.p_holm < SIGNIFICANT,
            p_holm=account.p_holm,
            told=f"{model} · {condition}: {mechanism_name(account.name)}",
            after=replayed,
            leads=Selection(models=(model,), conditions=(condition,), mechanisms=of) if total or of else None,
        )

    return Bars(
        model,
        condition,
        model in simulated,
        f"{signed(decomposition.effect.points)} against no tools; n = {decomposition.questions:,}; {replayed}",
        tuple(bar(*each) for each in zip((*accounts, decomposition.effect), starts, strict=True)),
    )


def style_of(bar: Bar, unsure: str = "") -> str:
    """In a terminal: coloured where it is sure."""
    return unsure if not bar.sure or bar.points is None else "bold red" if bar.points < 0 else "bold green"


def text_bars(bars: Sequence[Bar], cells: int, unsure: str = "") -> Iterator[Text]:
    """The line that a waterfall starts from, then its bars in so many cells. Bounds are empty: to scale, they would
    leave the contrasts no room."""
    drawn = [bar for bar in bars if bar.kind != "bound"]
    ends = [0.0, *(end for bar in drawn for end in (bar.start, bar.end))]
    low, high = min(ends), max(ends)

    def place(level: float) -> int:
        return round((cells - 1) * (level - low) / (high - low)) if high > low else 0

    yield Text(" " * place(0.0) + EMPTY)
    for bar in bars:
        left, right = sorted((place(bar.start), place(bar.end)))
        shown = EMPTY if not bar.points or left == right else (GAIN if bar.points > 0 else LOSS) * (right - left + 1)
        yield Text() if bar.kind == "bound" else Text(" " * left + shown, style=style_of(bar, unsure))
