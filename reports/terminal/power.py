import math
from collections.abc import Callable, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.power import AtRepeats, Interval, Needed, PowerTable, Sight, Smallest, Variances
from toolablate.analysis.statistics.variance import MOST_REPEATS
from toolablate.reports import numbers
from toolablate.reports.tables import Column, Fitted, figures, names, simulated_banner
from toolablate.traces.terminal_text import one_line

UNSURE = "~"
DIGITS_NEEDED = 2
"""How many digits of a number of questions stand for something."""


def power_view(table: PowerTable) -> RenderableType:
    """What a design can see, and what its figures rest on: of one comparison at each number of repeats; of several
    each at the design's own, and then from which to which they reach at the others."""
    parts: list[RenderableType] = [Text(f" {_design(table)}", style="bold")]
    if any(sight.variances.simulated for sight in table.sights):
        parts.append(simulated_banner())
    if len(table.sights) == 1:
        (sight,) = table.sights
        parts += [*_heading(sight.variances, table.design.design_effect), _by_repeats(table), *_takes(table, sight)]
    else:
        parts += [*_compared(table), _by_comparison(table), _by_repeats(table)]
    return Group(*parts, Padding(Text("\n".join(_footnotes(table)), style="dim"), (1, 1, 1, 1)))


def _design(table: PowerTable) -> str:
    design = table.design
    clusters = f" in {_clusters(design.clusters)}" if design.clusters != design.questions else ""
    return (
        f"{numbers.counted(design.questions, 'question')}{clusters}, {numbers.counted(design.repeats, 'repeat')},"
        f" {numbers.counted(design.comparisons, 'comparison')} with the baseline"
    )


def _clusters(clusters: int) -> str:
    return numbers.counted(clusters, "independent cluster")


def _heading(variances: Variances, effect: float) -> Iterator[Text]:
    yield Text()
    if variances.measured is None:
        of_clusters = "" if effect == 1 else f" (x {effect:.2g} for clusters)"
        between = f"{variances.between / effect:.3g} between questions{of_clusters}"
        yield Text(f" Assumed variances: {between}, {variances.within:.3g} within", style="bold")
        return
    yield Text.assemble(
        " ",
        (one_line(variances.model), "bold"),
        "  ",
        (one_line(variances.condition), "bold"),
        " compared with ",
        (one_line(variances.baseline), "bold"),
    )
    yield Text(f"   {_measured(variances)}", style="dim")


def _measured(variances: Variances) -> str:
    found = variances.measured
    assert found is not None
    fewest, most = found.repeats
    repeats = numbers.counted(most, "repeat") if fewest == most else f"{fewest} to {most} repeats"
    clusters = f" in {_clusters(found.clusters)}" if found.clusters != found.questions else ""
    start = f"From {numbers.counted(found.questions, 'question')}{clusters} with {repeats}: variance"
    if found.between is None:
        return f"{start} {found.total:.3g} of the difference; {_unparted(found.repeated)}."
    effect = ""
    if found.clusters != found.questions and found.between:
        worth = variances.between / found.between
        effect = f", clusters included ({found.between:.3g} without, a design effect of {worth:.2g})"
    return (
        f"{start} {variances.between:.3g}{_range(variances.between_ci95)} between questions{effect},"
        f" {variances.within:.3g}{_range(variances.within_ci95)} within."
    )


def _unparted(repeated: int) -> str:
    few = "without repeats" if not repeated else f"with repeats of only {numbers.counted(repeated, 'question')}"
    return f"{few}, nothing tells what of it is chance"


def _range(interval: Interval | None) -> str:
    return "" if interval is None else f" ({interval[0]:.2g} .. {interval[1]:.2g})"


def _by_comparison(table: PowerTable) -> Fitted:
    """A row each, at the design's own number of repeats."""
    sights = table.sights
    rows = [next(row for row in sight.rows if row.repeats == table.design.repeats) for sight in sights]
    contrasts = [sight.variances.contrast for sight in sights]
    several, aims = table.design.comparisons > 1, table.aim.effect_points is not None
    columns = [
        names("model", [one_line(sight.variances.model) for sight in sights], common=True),
        names("condition", [one_line(sight.variances.condition) for sight in sights]),
        *([names("contrast", contrasts)] if any(contrasts) else []),
        figures("from", [_pilot(sight.variances) for sight in sights], common=True, spare=2),
        figures("between", [_between(sight.variances) for sight in sights], spare=3),
        figures("within", [_within(sight.variances) for sight in sights], spare=3),
        figures("MDE", [_marked(sight.variances, row.plain) for sight, row in zip(sights, rows, strict=True)]),
        figures("95 % interval", [_interval(row.plain) for row in rows], spare=6),
    ]
    if several:
        columns.append(figures("corrected", [_points(row.corrected) for row in rows], spare=7))
    if aims:
        columns.append(figures("questions", [_questions(row.plain) for row in rows]))
        columns.append(figures("repeats", [_repeats(sight.needed) for sight in sights]))
    return Fitted(tuple(columns))


def _compared(table: PowerTable) -> Iterator[Text]:
    baselines = [each.variances.baseline for each in table.sights if not each.variances.contrast]
    contrasts = "; each contrast with the arm before" if len(baselines) < len(table.sights) else ""
    yield Text(f" Compared with {one_line(baselines[0])}{contrasts}")


def _pilot(variances: Variances) -> str:
    found = variances.measured
    return numbers.UNKNOWN if found is None else f"{found.questions:,} x {found.repeats[1]}"


def _between(variances: Variances) -> str:
    least = f"{variances.between_least:.2g} .. " if not variances.parted else ""
    return f"{least}{variances.between:.2g}"


def _within(variances: Variances) -> str:
    most = f" .. {variances.within_most:.2g}" if not variances.parted else ""
    return f"{variances.within:.2g}{most}"


def _marked(variances: Variances, found: Smallest) -> str:
    return f"{UNSURE if _unsure(variances) else ''}{_points(found)}"


def _unsure(variances: Variances) -> bool:
    """Whether all that was seen to differ between questions may be chance."""
    return variances.between_ci95 is not None and variances.between_ci95[0] <= 0 and bool(variances.within)


def _by_repeats(table: PowerTable) -> Fitted:
    """A row for each number of repeats; of several comparisons, from the least figure to the most."""
    own, several, single = table.design.repeats, table.design.comparisons > 1, len(table.sights) == 1
    rows = list(zip(*(sight.rows for sight in table.sights), strict=True))

    def column(title: str, cell: Callable[[Smallest], str], *, corrected: bool = False, spare: int = 0) -> Column:
        return figures(title, [_reach([_level(row, corrected) for row in of], cell) for of in rows], spare=spare)

    columns = [
        names("repeats", [f"{of[0].repeats} (plan)" if of[0].repeats == own else str(of[0].repeats) for of in rows]),
        column("MDE", _points),
    ]
    if single and table.sights[0].variances.measured is not None:
        columns.append(column("95 % interval", _interval, spare=2))
    if several:
        columns.append(column("corrected", _points, corrected=True))
    if single and table.aim.effect_points is not None:
        columns.append(column("questions", _questions))
        if several:
            columns.append(column("corrected questions", _questions, corrected=True, spare=1))
    return Fitted(tuple(columns), tuple("bold" if of[0].repeats == own else "" for of in rows))


def _level(row: AtRepeats, corrected: bool) -> Smallest:
    return row.corrected if corrected else row.plain


def _reach(found: list[Smallest], cell: Callable[[Smallest], str]) -> str:
    if len(found) == 1:
        return cell(found[0])
    ends = [end for each in found if each.points is not None for end in (each.least_points, each.points)]
    known = [end for end in ends if end is not None]
    return _span(min(known), max(known)) if known else numbers.UNKNOWN


def _span(least: float, most: float) -> str:
    ends = f"{least:.1f}", f"{most:.1f}"
    return ends[0] if ends[0] == ends[1] else " .. ".join(ends)


def _points(found: Smallest) -> str:
    if found.points is None or found.least_points is None:
        return numbers.UNKNOWN
    return _span(found.least_points, found.points)


def _interval(found: Smallest) -> str:
    return numbers.UNKNOWN if found.ci95 is None else f"{found.ci95[0]:.1f} .. {found.ci95[1]:.1f}"


def _questions(found: Smallest) -> str:
    if found.questions is None:
        return numbers.UNKNOWN
    step = 10 ** max(0, math.floor(math.log10(found.questions)) + 1 - DIGITS_NEEDED)
    return f"{'' if found.least_points == found.points else 'up to '}{math.ceil(found.questions / step) * step:,}"


def _takes(table: PowerTable, sight: Sight) -> Iterator[Text]:
    """How many repeats the effect aimed at takes on the questions that there are."""
    if sight.needed is None:
        return
    parts = [_sentence(sight.needed)]
    if table.design.comparisons > 1 and sight.corrected_needed is not None:
        parts.append(f"corrected, {_sentence(sight.corrected_needed)}")
    yield Text(f" To see {table.aim.effect_points:g} points on these questions takes {'; '.join(parts)}.")


def _sentence(needed: Needed) -> str:
    if needed.repeats is None and (needed.ci95 is None or needed.ci95[0] is None):
        return f"more than {MOST_REPEATS:,} repeats: more questions are needed"
    if needed.ci95 is None or needed.ci95[0] == needed.ci95[1]:
        return numbers.counted(needed.repeats or MOST_REPEATS, "repeat")
    return f"{_repeats(needed)} repeats"


def _repeats(needed: Needed | None) -> str:
    if needed is None:
        return numbers.UNKNOWN
    if needed.ci95 is None or needed.ci95[0] == needed.ci95[1]:
        return _count(needed.repeats)
    return f"{_count(needed.repeats)} ({_count(needed.ci95[0])} .. {_count(needed.ci95[1])})"


def _count(repeats: int | None) -> str:
    return f"over {MOST_REPEATS:,}" if repeats is None else f"{repeats:,}"


def _footnotes(table: PowerTable) -> Iterator[str]:
    design, aim = table.design, table.aim
    found = [level for sight in table.sights for row in sight.rows for level in (row.plain, row.corrected)]
    corrected = f" (corrected: {aim.alpha:g} / {design.comparisons})" if design.comparisons > 1 else ""
    yield (
        f"MDE (minimum detectable effect): the smallest true difference, in points, that a two-sided test"
        f" at level {aim.alpha:g}{corrected} finds with {100 * aim.power:g} % probability."
    )
    if aim.effect_points is not None:
        yield f"questions: about how many are needed to detect {aim.effect_points:g} points, clustered like these."
    yield from _of_variances(table)
    unknown = {level.unknown for level in found}
    if "nothing varied" in unknown:
        yield f"{numbers.UNKNOWN}: nothing varied in the earlier run, so its variances are unknown."
    if "too few questions" in unknown:
        yield (
            f"{numbers.UNKNOWN}: too few questions. The smallest p-value that"
            f" {_clusters(design.clusters)} can give is {table.smallest_p:.2g}, and no effect exceeds 100 points."
        )
    if design.questions / design.design_effect < FEW_CLUSTERS:
        yield f"Optimistic below {FEW_CLUSTERS} independent questions (nominal power 80 %: 75 % at 20, 69 % at 10)."
    if table.left_out:
        yield f"Too few questions, left out: {', '.join(map(one_line, table.left_out))}."
    yield "What each figure means: docs/statistics.md."


def _of_variances(table: PowerTable) -> Iterator[str]:
    design, variances = table.design, [sight.variances for sight in table.sights]
    measured = [each.measured for each in variances if each.measured is not None]
    if not measured:
        yield "Assumed variances are a guess. Better: run some dozens of questions, repeats = 3, and give --from STORE."
        if design.clusters != design.questions:
            yield (
                "The worst is assumed of clusters: one true difference for all questions of one"
                f" (a design effect of {design.design_effect:.2g})."
            )
        return
    few = min(found.clusters for found in measured) < FEW_CLUSTERS
    less = f"; below {FEW_CLUSTERS} it covers less" if few else ""
    yield f"95 % interval: over other questions of the same kind, from the earlier run{less}."
    if unsure := [each for each in variances if _unsure(each)]:
        most = max(each.between_ci95[1] for each in unsure if each.between_ci95 is not None)
        cut = " The estimate was negative and is set to 0." if any(found.cut for found in measured) else ""
        reach = f": anything from 0 to {most:.2g}" if most else ""
        yield (
            f"{UNSURE if len(variances) > 1 else 'between'}: the earlier run is too small to tell what differs between"
            f" questions from chance{reach}.{cut} The gain from more repeats is unknown."
        )
    if any(found.between is None for found in measured):
        yield "a .. b: the variances cannot be separated; bounds from all within-question variance to none."
    if design.clusters != design.questions or any(found.clusters != found.questions for found in measured):
        yield "The plan's questions are assumed to be clustered like those of the earlier run."
