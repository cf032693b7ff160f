"""Net preference in a terminal: each condition against the baseline, above its noise floor."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.preference import PreferenceFigures
from toolablate.reports import numbers
from toolablate.reports.numbers import SMALL
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.terminal_text import inert, one_line


def preference_table(
    baseline: str, keys: Sequence[tuple[str, str, str]], rows: Sequence[PreferenceFigures], noise: Sequence[bool]
) -> RenderableType:
    """`keys` are judge, model and condition of each row; a row of `noise` is two repeats of the baseline."""
    shown = [f"{baseline} again" if floor else condition for (_, _, condition), floor in zip(keys, noise, strict=True)]
    table = Fitted(
        (
            names("condition", [inert(one_line(each)) for each in shown]),
            names("model", [inert(one_line(model)) for _, model, _ in keys], common=True),
            names("judge", [inert(one_line(judge)) for judge, _, _ in keys], common=True),
            figures("pairs", [f"{SMALL if row.small else ''}{row.pairs}" for row in rows]),
            figures("won", [str(row.wins) for row in rows]),
            figures("lost", [str(row.losses) for row in rows]),
            figures("tied", [str(row.ties) for row in rows]),
            figures("net", [Text(numbers.signed(row.net_points), style="bold") for row in rows]),
            figures("95 % interval", [numbers.interval(row.net_ci95) for row in rows]),
            figures("p", [numbers.p_value(row.p_value) for row in rows]),
            figures("turned %", [numbers.percent(row.turned) for row in rows]),
            figures("at equal length", [numbers.signed(row.equal_length_points) for row in rows]),
            figures("at equal length, 95 %", [numbers.interval(row.equal_length_ci95) for row in rows], spare=4),
            figures("longer", [numbers.signed(row.longer_points) for row in rows], spare=3),
            figures("like longer %", [numbers.percent(row.like_longer) for row in rows], spare=2),
            figures("first %", [numbers.percent(row.first_share) for row in rows], spare=1),
        )
    )
    title = Text(f" Answers preferred to those of {one_line(baseline)}", style="bold", overflow="fold")
    notes = Padding(Text("\n".join(_notes(rows, any(noise), baseline)), style="dim"), (0, 1, 1, 1))
    return Group(title, table, notes)


def _notes(rows: Sequence[PreferenceFigures], has_floor: bool, baseline: str) -> Iterator[str]:
    yield "net: won less lost, in points of all pairs; interval by a bootstrap over clusters, p by sign flips."
    yield "turned: of pairs, those whose verdict turned with the order, which count as ties."
    yield "at equal length: net where both answers are equally long, by a line through log lengths, and its interval."
    yield "longer: what net would be if the longer answer always won."
    yield "like longer: of the pairs that the judge decided, the share in which it prefers the longer answer."
    yield "first: decided readings that prefer what stood first; 50 without a bias of place."
    if has_floor:
        yield f"{one_line(baseline)} again: two repeats of the baseline, judged the same way: the noise floor."
    else:
        yield f"No noise floor: {one_line(baseline)} has no two scored repeats of a question (repeats = 2 in the plan)."
    if any(row.small for row in rows):
        yield numbers.small_note()
