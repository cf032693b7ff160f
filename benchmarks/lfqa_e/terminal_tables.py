"""Tables of LFQA-E in a terminal: all metrics by their figures, then by language and setting, then by topic."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.benchmarks.lfqa_e.tables import ALL, LfqaTables, MetricFigures
from toolablate.reports import numbers
from toolablate.reports.numbers import SMALL
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.terminal_text import inert, one_line

TAU = "_tau"


def lfqa_view(found: LfqaTables) -> RenderableType:
    whole = found.groups[ALL]
    shown = [name for name in whole if not name.endswith(TAU)]
    labels = ", ".join(f"{count} {verdict}" for verdict, count in found.labels.items())
    parts: list[RenderableType] = [_title(f"All comparisons (experts: {labels})"), _figures(whole, shown)]
    cells = [name for name in found.groups if name != ALL]
    if any(found.groups[name] is not whole for name in cells):
        parts += [_title("Accuracy / macro-F1 by language and setting"), _by_group(found.groups, cells, shown)]
    if found.topics:
        parts += [_title("Accuracy / macro-F1 by topic"), _by_group(found.topics, list(found.topics), shown)]
    return Group(*parts, Padding(Text("\n".join(_footnotes(found)), style="dim"), (0, 1, 1, 1)))


def _title(text: str) -> Text:
    return Text(f" {text}", style="bold", overflow="fold")


def _figures(rows: dict[str, MetricFigures], shown: Sequence[str]) -> Fitted:
    some = [rows[name] for name in shown]
    failed = [figures("failed", [str(row.failed) for row in some])] if any(row.failed for row in some) else []
    unread = [figures("unread", [str(row.unread) for row in some])] if any(row.unread for row in some) else []
    turned = (
        [figures("turned %", [_turned(row) for row in some])] if any(row.turned is not None for row in some) else []
    )
    return Fitted(
        (
            names("metric", [inert(one_line(name)) for name in shown]),
            figures("n", [f"{SMALL if row.small else ''}{row.n}" for row in some]),
            figures("acc", [Text(numbers.percent(row.acc), style="bold") for row in some]),
            figures("95 % interval", [_interval(row) for row in some]),
            figures("acc, τ", [_fitted(rows, name) for name in shown], spare=2),
            figures("macro-F1", [numbers.percent(row.macro_f1) for row in some]),
            figures("kappa", [_kappa(row.kappa) for row in some]),
            figures("ties", [f"{row.ties_predicted:.0f}" for row in some]),
            figures("tie acc", [numbers.percent(row.tie_acc) for row in some], spare=1),
            *turned,
            *unread,
            *failed,
        )
    )


def _by_group(groups: dict[str, dict[str, MetricFigures]], columns: Sequence[str], shown: Sequence[str]) -> Fitted:
    """A group that holds the same comparisons as one before it, or all, is left out."""
    kept: list[str] = []
    for name in columns:
        if groups[name] is not groups.get(ALL) and not any(groups[name] is groups[other] for other in kept):
            kept.append(name)
    return Fitted(
        (
            names("metric", [inert(one_line(name)) for name in shown]),
            *(
                figures(
                    f"{one_line(name)} ({max(row.n for row in groups[name].values())})",
                    [_both(groups[name][of]) for of in shown],
                )
                for name in kept
            ),
        )
    )


def _both(row: MetricFigures) -> str:
    return f"{numbers.percent(row.acc)} / {numbers.percent(row.macro_f1)}"


def _turned(row: MetricFigures) -> str:
    return "" if row.turned is None else numbers.percent(row.turned)


def _fitted(rows: dict[str, MetricFigures], name: str) -> str:
    fitted = rows.get(f"{name}{TAU}")
    return "" if fitted is None else numbers.percent(fitted.acc)


def _interval(row: MetricFigures) -> str:
    return numbers.UNKNOWN if row.acc_ci95 is None else f"{row.acc_ci95[0]:.1f} .. {row.acc_ci95[1]:.1f}"


def _kappa(value: float | None) -> str:
    return numbers.UNKNOWN if value is None else f"{value:.2f}".replace("-", numbers.MINUS)


def _footnotes(found: LfqaTables) -> Iterator[str]:
    yield "acc: verdicts (a, b, same) that are the experts', in percent; interval: a bootstrap over questions."
    yield "acc, τ: scores are the same up to a difference fitted on all other questions, else where they are equal."
    yield "ties: predicted ones; tie acc: of the experts' ties, those found; kappa: with the experts."
    yield "longer, shorter: by characters; random: an even draw, as is to be expected of it."
    if found.triples.closed:
        of = found.triples
        yield (
            f"Of {numbers.counted(of.closed, 'closed triple')} of verdicts, {of.consistent} are consistent,"
            f" {of.cycles} cycles, {of.no_order} without a weak order."
        )
    if any(row.small for row in found.groups[ALL].values()):
        yield f"{SMALL}: fewer than {FEW_CLUSTERS} independent questions; do not rely on intervals."
