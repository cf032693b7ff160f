"""The table of trials: what became of them on each side, and what they cost."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from toolablate.analysis import Comparison
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.fitted import Column, Fitted, figures, names
from toolablate.traces.plain import inert, one_line


def trials(rows: Sequence[Comparison]) -> Fitted:
    totals = [row for row in rows if row.group is None]
    base = totals[0]

    def counted(title: str, style: str, of_base: int | None, counts: list[int]) -> Column:
        first = Text() if of_base is None else _count(of_base, style)
        return figures(title, [first, *(_count(count, style) for count in counts)], common=True)

    tokens, costs = [row.baseline_tokens for row in totals], [row.baseline_cost_usd for row in totals]
    return Fitted(
        (
            names("", [inert(one_line(name)) for name in (base.baseline, *(row.condition for row in totals))]),
            figures("trials", [str(base.baseline_trials), *(str(row.trials) for row in totals)]),
            counted("unparsed", "yellow", base.baseline_unparsed, [row.unparsed for row in totals]),
            counted("unscored", "yellow", base.baseline_unscored, [row.unscored for row in totals]),
            counted("budget", "yellow", base.baseline_budget, [row.budget for row in totals]),
            counted("failed", "red", base.baseline_failed, [row.failed for row in totals]),
            counted("left out", "yellow", None, [row.excluded_questions for row in totals]),
            figures("tokens", [_either(map(numbers.tokens, tokens)), *(numbers.tokens(row.tokens) for row in totals)]),
            figures("cost", [_either(map(numbers.dollars, costs)), *(numbers.dollars(row.cost_usd) for row in totals)]),
        )
    )


def _either(shown: Iterable[str]) -> str:
    # A baseline's mean is over the questions that it shares with a condition, so it may differ between conditions.
    distinct = list(dict.fromkeys(shown))
    return distinct[0] if len(distinct) == 1 else "varies"


def _count(number: int, style: str) -> Text:
    return Text(str(number), style=f"bold {style}" if number else "")
