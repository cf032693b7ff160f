"""Tables of LFQA-E in a terminal: all metrics by their figures and by verdict, then by language and setting, by topic,
and their agreement with each other."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.benchmarks.lfqa_e.comparisons import VERDICTS
from toolablate.benchmarks.lfqa_e.tables import ALL, KappaFigure, LfqaTables, MetricFigures
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
    parts += [_title("By which answer is right, and averages"), _by_verdict(found, shown)]
    cells = [name for name in found.groups if name != ALL]
    if any(found.groups[name] is not whole for name in cells):
        parts += [_title("Accuracy / macro-F1 by language and setting"), _by_group(found.groups, cells, shown)]
    if found.topics:
        parts += [_title("Accuracy / macro-F1 by topic"), _by_group(found.topics, list(found.topics), shown)]
    if len(found.between) > 1:
        parts += [_title("Kappa between metrics"), _between(found.between)]
    return Group(*parts, Padding(Text("\n".join(_footnotes(found)), style="dim"), (0, 1, 1, 1)))


def _title(text: str) -> Text:
    return Text(f" {text}", style="bold", overflow="fold")


def _figures(rows: dict[str, MetricFigures], shown: Sequence[str]) -> Fitted:
    some = [rows[name] for name in shown]
    failed = [figures("failed", [str(row.failed) for row in some])] if any(row.failed for row in some) else []
    unread = [figures("unread", [str(row.unread) for row in some])] if any(row.unread for row in some) else []
    told = [
        figures(title, ["" if share is None else numbers.percent(share) for share in shares], spare=spare)
        for title, spare, shares in (
            ("turned %", 0, [row.turned for row in some]),
            ("asked again %", 4, [row.asked_again for row in some]),
            ("contradicted %", 3, [row.contradicted for row in some]),
        )
        if any(share is not None for share in shares)
    ]
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
            *told,
            *unread,
            *failed,
        )
    )


def _by_verdict(found: LfqaTables, shown: Sequence[str]) -> Fitted:
    """A metric that prefers a place is right about one side far more often than about the other."""
    rows = [found.groups[ALL][name] for name in shown]
    several = sum("/" in name for name in found.groups) > 1
    averages = [found.averages[name] for name in shown]
    return Fitted(
        (
            names("metric", [inert(one_line(name)) for name in shown]),
            *(
                figures(f"P / R of {verdict}", [_precision_and_recall(row, verdict) for row in rows])
                for verdict in VERDICTS
            ),
            *(
                figures(f"F1 of {verdict}", [numbers.percent(row.classes[verdict].f1) for row in rows], spare=1)
                for verdict in VERDICTS
            ),
            figures("micro-F1", [numbers.percent(row.micro_f1) for row in rows], spare=2),
            *(
                [
                    figures(
                        "AvgAcc / AvgF1 of cells",
                        [
                            f"{numbers.percent(each.acc_of_cells)} / {numbers.percent(each.macro_f1_of_cells)}"
                            for each in averages
                        ],
                    )
                ]
                if several
                else []
            ),
        )
    )


def _precision_and_recall(row: MetricFigures, verdict: str) -> str:
    of = row.classes[verdict]
    return f"{numbers.percent(of.precision)} / {numbers.percent(of.recall)}"


def _between(found: dict[str, dict[str, KappaFigure]]) -> Fitted:
    """Below the diagonal only: it is the same both ways round. Of the static metrics the harmonic means stand for
    precision and recall, so that the table has room."""
    kept = [name for name in found if not (name.startswith("rouge") and name.endswith(("_r", "_p")))]
    return Fitted(
        (
            names("metric", [inert(one_line(name)) for name in kept]),
            *(
                figures(
                    one_line(column),
                    [_kappa(found[row][column].kappa) if kept.index(row) > place else "" for row in kept],
                    spare=len(kept) - place,
                )
                for place, column in enumerate(kept[:-1])
            ),
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
    if any(row.turned is not None for row in found.groups[ALL].values()):
        yield "turned: read in both orders with opposite verdicts, which count as a tie."
    if any(row.contradicted is not None for row in found.groups[ALL].values()):
        yield "asked again: a reply had no verdict that could be read; contradicted: its reasons end with another one."
    yield "P / R: precision and recall of a verdict; recall of a and of b tells whether a metric prefers a place."
    yield "micro-F1: as the official script has it, an unread reply lowers recall only."
    if sum("/" in name for name in found.groups) > 1:
        yield "of cells: the unweighted mean over cells of language and setting; acc and macro-F1 above are pooled."
    yield "longer, shorter: by characters; random: an even draw, as is to be expected of it."
    if found.triples.closed:
        of = found.triples
        yield (
            f"Of {numbers.counted(of.closed, 'closed triple')} of verdicts, {of.consistent} are consistent,"
            f" {of.cycles} cycles, {of.no_order} without a weak order."
        )
    if any(row.small for row in found.groups[ALL].values()):
        yield f"{SMALL}: fewer than {FEW_CLUSTERS} independent questions; do not rely on intervals."
