from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.traces.analysis.power import Detectable, PowerTable, Sight, Variances
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.fitted import Fitted, figures, names
from toolablate.traces.terminal.plain import one_line
from toolablate.traces.terminal.simulated import simulated_banner

FEW_CLUSTERS = 30
"""Below this the normal quantiles that the figures rest on are more than 3.5 % smaller than Student's: in simulations
of 20 independent questions the sign-flip test finds 75 % where 80 % is said, of 10 questions 69 %."""


def power_view(table: PowerTable) -> RenderableType:
    """What a design can see, comparison by comparison, and what its figures rest on."""
    parts: list[RenderableType] = [Text(f" {_design(table)}", style="bold")]
    if any(sight.variances.simulated for sight in table.sights):
        parts.append(simulated_banner())
    for sight in table.sights:
        parts += [*_heading(sight.variances, table.design.design_effect), _rows(table, sight), *_needed(table, sight)]
    parts.append(Text())
    return Group(*parts, Padding(Text("\n".join(_footnotes(table)), style="dim"), (0, 1, 1, 1)))


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
        return f"{start} {found.total:.3g} of the difference; without repeats, nothing tells what of it is chance."
    effect = ""
    if found.clusters != found.questions and found.between:
        effect = f" (clusters included; {found.between:.3g} without, a design effect of {_effect(variances):.2g})"
    cut = " A part came out below 0, by chance, and is taken as 0." if found.cut else ""
    return f"{start} {variances.between:.3g} between questions{effect}, {variances.within:.3g} within.{cut}"


def _effect(variances: Variances) -> float:
    found = variances.measured
    return variances.between / found.between if found and found.between else 1.0


def _rows(table: PowerTable, sight: Sight) -> Fitted:
    own, several = table.design.repeats, table.design.comparisons > 1
    columns = [
        names("repeats", [_own(row, own) for row in sight.rows]),
        figures("could see", [_points(row.least_points, row.points) for row in sight.rows]),
    ]
    if several:
        seen = [_points(row.corrected_least_points, row.corrected_points) for row in sight.rows]
        columns.append(figures("corrected", seen))
    if table.aim.effect_points is not None:
        columns.append(figures("questions", [_questions(row, row.questions) for row in sight.rows]))
        if several:
            needed = [_questions(row, row.corrected_questions) for row in sight.rows]
            columns.append(figures("corrected questions", needed, spare=1))
    return Fitted(tuple(columns), tuple("bold" if row.repeats == own else "" for row in sight.rows))


def _own(row: Detectable, own: int) -> str:
    return f"{row.repeats} (plan)" if row.repeats == own else str(row.repeats)


def _points(least: float | None, most: float | None) -> str:
    if least == most:
        return numbers.percent(most)
    return f"{numbers.percent(least)} .. {numbers.percent(most)}"


def _questions(row: Detectable, needed: int | None) -> str:
    if needed is None:
        return numbers.UNKNOWN
    return f"{'' if row.least_points == row.points else 'up to '}{needed:,}"


def _needed(table: PowerTable, sight: Sight) -> Iterator[Text]:
    """What the effect aimed at takes on the questions that there are."""
    if table.aim.effect_points is None or sight.rows[0].points is None:
        return
    start = f" To see {table.aim.effect_points:g} points on these questions takes "
    parts = [_repeats(sight, sight.repeats)]
    if table.design.comparisons > 1:
        parts.append(f"corrected, {_repeats(sight, sight.corrected_repeats)}")
    yield Text(f"{start}{'; '.join(parts)}.")


def _repeats(sight: Sight, needed: int | None) -> str:
    if needed is not None:
        return numbers.counted(needed, "repeat")
    parted = sight.variances.measured is None or sight.variances.measured.between is not None
    return "more questions: no number of repeats is enough" if parted else "what an earlier run with repeats would tell"


def _footnotes(table: PowerTable) -> Iterator[str]:
    design, aim = table.design, table.aim
    yield (
        f"could see: the smallest true difference, in points, that a two-sided test at level {aim.alpha:g} finds"
        f" with {100 * aim.power:g} % probability."
    )
    yield "With one repeat the test is exact, and finds it a little less often (in simulations 77 % for 80 %)."
    if design.comparisons > 1:
        yield f"corrected: at level {aim.alpha:g} / {design.comparisons}, that of Holm's first step."
    if aim.effect_points is not None:
        yield f"questions: how many it takes to see {aim.effect_points:g} points, clustered like these."
    yield from _of_variances(table)
    if any(row.points is None for sight in table.sights for row in sight.rows):
        yield f"{numbers.UNKNOWN}: nothing varied in the earlier run, which does not say what could."
    if design.clusters < FEW_CLUSTERS:
        yield f"A normal approximation, too hopeful below {FEW_CLUSTERS} independent questions (at 10: 69 % for 80 %)."
    if table.left_out:
        yield f"Too few questions to say anything: {', '.join(map(one_line, table.left_out))}."


def _of_variances(table: PowerTable) -> Iterator[str]:
    design, measured = table.design, [sight.variances.measured for sight in table.sights]
    if None in measured:
        yield "Assumed variances are a guess. Better: run some dozens of questions, repeats = 3, and give --from STORE."
        if design.clusters != design.questions:
            yield (
                "The worst is assumed of clusters: one true difference for all questions of one"
                f" (a design effect of {design.design_effect:.2g})."
            )
        return
    if any(found and found.between is None for found in measured):
        yield "a .. b: without repeats in the earlier run, from all variance being chance to none of it."
    if design.clusters != design.questions or any(found and found.clusters != found.questions for found in measured):
        yield "The plan's questions are taken to be clustered like those of the earlier run."
