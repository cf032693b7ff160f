"""Who failed when: predictions by set and by length, and what baselines are right for."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import Accuracy
from toolablate.benchmarks.who_and_when.accuracy import Row, WhoAndWhen
from toolablate.reports import numbers
from toolablate.reports.numbers import SMALL
from toolablate.reports.tables import Column, Fitted, figures, names
from toolablate.traces.terminal_text import inert, one_line


def who_and_when_view(found: WhoAndWhen) -> RenderableType:
    parts: list[RenderableType] = []
    if found.predicted:
        parts += [
            _title("Predictions, right in percent of runs"),
            _table(found.predicted, _names("of", [row.group for row in found.predicted])),
        ]
    for group in dict.fromkeys(row.group for row in found.baselines):
        some = [row for row in found.baselines if row.group == group]
        title = f"Baselines on {one_line(group)}, {numbers.counted(some[0].runs, 'run')}"
        parts += [_title(title), _table(some, _names("what is said", [row.method for row in some]))]
    return Group(*parts, Padding(Text("\n".join(_footnotes(found)), style="dim"), (0, 1, 1, 1)))


def _title(text: str) -> Text:
    return Text(f" {text}", style="bold", overflow="fold")


def _names(title: str, cells: Sequence[str]) -> Column:
    return names(title, [inert(one_line(cell)) for cell in cells])


def _table(rows: Sequence[Row], first: Column) -> Fitted:
    missing = [figures("missing", [str(row.missing) for row in rows])] if any(row.missing for row in rows) else []
    return Fitted(
        (
            first,
            figures("n", [f"{SMALL if row.step.small else ''}{row.runs}" for row in rows]),
            figures("agent", [numbers.percent(row.agent.percent) for row in rows]),
            figures("step", [Text(numbers.percent(row.step.percent), style="bold") for row in rows]),
            figures("95 % interval", [_interval(row.step) for row in rows]),
            figures("±1", [numbers.percent(row.within_1.percent) for row in rows]),
            figures("±3", [numbers.percent(row.within_3.percent) for row in rows]),
            figures("both", [numbers.percent(row.both.percent) for row in rows]),
            figures("digits", [numbers.percent(row.by_substring) for row in rows]),
            *missing,
        )
    )


def _interval(share: Accuracy) -> str:
    return numbers.UNKNOWN if share.ci95 is None else f"{share.ci95[0]:.1f} .. {share.ci95[1]:.1f}"


def _footnotes(found: WhoAndWhen) -> Iterator[str]:
    yield "step: as whole numbers, from 0; ±1, ±3: at most so far from it; both: agent and step."
    yield "digits: the right step's digits stand in the predicted one's, as the published scorer has it."
    yield "95 % interval: of step, from a bootstrap over questions (BCa)."
    yield "A random step's figures are expected ones, not drawn."
    if any(row.step.small for row in (*found.predicted, *found.baselines)):
        yield numbers.small_note("that are right, or wrong")
    yield "Constants are the best of their kind on the very runs that they are scored on."
    if any(row.missing for row in found.predicted):
        yield "missing: runs without a prediction, which count as wrong."
    if found.elsewhere:
        runs = numbers.counted(found.elsewhere, "run")
        yield f"In {runs} the step to blame is another agent's than the one to blame."
    if found.published:
        said = ", ".join(f"{figure} % ({one_line(group)})" for group, figure in found.published.items())
        yield f"For scale, the best published step accuracies: {said}; West et al. 2025, arXiv 2509.10401."
