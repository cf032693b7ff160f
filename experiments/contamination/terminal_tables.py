"""The contamination test's figures, what they differ by between benchmarks, and the questions of which most came
back."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.experiments.contamination.overlap import (
    LONG_RUN,
    ContaminationDifference,
    ContaminationResult,
    ContaminationResults,
    Figure,
    QuestionOverlap,
    most_contaminated,
)
from toolablate.experiments.contamination.perplexity import PerplexityResult
from toolablate.reports import numbers
from toolablate.reports.tables import Column, Fitted, figures, names
from toolablate.traces.terminal_text import inert, one_line

SMALL = "*"


def contamination_view(found: ContaminationResults, *, questions: int = 0) -> RenderableType:
    """With so many of the questions of which most came back."""
    parts: list[RenderableType] = [_title("Contamination: ROUGE-L of continuations"), _figures(found.results)]
    parts += [_title("Verbatim runs of tokens, and what is not in the figures"), _runs(found.results)]
    parts += [_title("Share of n-grams that came back, in percent"), _ngrams(found.results)]
    if found.perplexities:
        parts += [_title("Perplexity of the rests, given the beginnings"), _perplexities(found.perplexities)]
    if found.differences:
        parts += [_title("Differences between benchmarks, in points"), _differences(found.differences)]
    if questions and any(each.of_questions for each in found.results):
        parts += [_title("Questions of which most came back"), _worst(found, questions)]
    return Group(*parts, Padding(Text("\n".join(_footnotes(found)), style="dim"), (0, 1, 1, 1)))


def _title(text: str) -> Text:
    return Text(f" {text}", style="bold", overflow="fold")


def _named(title: str, cells: Sequence[str]) -> Column:
    return names(title, [inert(one_line(cell)) for cell in cells], common=title == "model")


def _figures(rows: Sequence[ContaminationResult]) -> Fitted:
    return Fitted(
        (
            _named("benchmark", [row.benchmark for row in rows]),
            _named("model", [row.model for row in rows]),
            figures("n", [f"{SMALL if row.small else ''}{row.questions}" for row in rows]),
            figures("ROUGE-L", [Text(_value(row.rouge_l), style="bold") for row in rows]),
            figures("95 % interval", [_interval(row.rouge_l) for row in rows]),
            figures("by chance", [_value(row.by_chance) for row in rows]),
            figures("above chance", [_signed(row.above_chance) for row in rows]),
            figures("95 % of that", [_signed_interval(row.above_chance) for row in rows]),
        )
    )


def _runs(rows: Sequence[ContaminationResult]) -> Fitted:
    return Fitted(
        (
            _named("benchmark", [row.benchmark for row in rows]),
            _named("model", [row.model for row in rows]),
            figures(f"runs ≥{LONG_RUN}", [_share(row.long_runs, row.able) for row in rows]),
            figures("by chance", [_runs_by_chance(row) for row in rows]),
            figures("longest", [str(row.longest_run) for row in rows]),
            figures("empty", [str(row.empty) for row in rows]),
            figures("missing", [str(row.missing) for row in rows]),
            figures("too short", [str(row.too_short) for row in rows]),
        )
    )


def _ngrams(results: Sequence[ContaminationResult]) -> Fitted:
    rows = [(row, each) for row in results for each in row.ngrams]
    return Fitted(
        (
            _named("benchmark", [row.benchmark for row, _ in rows]),
            _named("model", [row.model for row, _ in rows]),
            figures("tokens", [str(each.length) for _, each in rows]),
            figures("n", [str(each.questions) for _, each in rows]),
            figures("came back", [Text(_value(each.own), style="bold") for _, each in rows]),
            figures("95 % interval", [_interval(each.own) for _, each in rows]),
            figures("by chance", [_value(each.by_chance) for _, each in rows]),
        )
    )


def _perplexities(rows: Sequence[PerplexityResult]) -> Fitted:
    return Fitted(
        (
            _named("benchmark", [row.benchmark for row in rows]),
            _named("model", [row.model for row in rows]),
            figures("n", [f"{SMALL if row.small else ''}{row.questions}" for row in rows]),
            figures("bits per byte", [Text(_exact(row.bits_per_byte), style="bold") for row in rows]),
            figures("95 % interval", [_exact_interval(row.bits_per_byte) for row in rows]),
            figures("perplexity", [_exact(row.perplexity) for row in rows]),
            figures("95 % of that", [_exact_interval(row.perplexity) for row in rows]),
            figures("missing", [str(row.missing) for row in rows]),
        )
    )


def _exact(figure: Figure | None) -> str:
    return numbers.UNKNOWN if figure is None else f"{figure.value:.3g}"


def _exact_interval(figure: Figure | None) -> str:
    if figure is None or figure.ci95 is None:
        return numbers.UNKNOWN
    return f"{figure.ci95[0]:.3g} .. {figure.ci95[1]:.3g}"


def _differences(rows: Sequence[ContaminationDifference]) -> Fitted:
    return Fitted(
        (
            _named("benchmark", [row.benchmark for row in rows]),
            _named("less", [row.other for row in rows]),
            _named("model", [row.model for row in rows]),
            figures("ROUGE-L", [Text(_signed(row.rouge_l), style="bold") for row in rows]),
            figures("95 % interval", [_signed_interval(row.rouge_l) for row in rows]),
            figures("above chance", [_signed(row.above_chance) for row in rows]),
            figures("95 % of that", [_signed_interval(row.above_chance) for row in rows]),
        )
    )


def _worst(found: ContaminationResults, count: int) -> Fitted:
    rows = most_contaminated(found, count)
    return Fitted(
        (
            names("question", [inert(one_line(each.question)) for _, each in rows]),
            _named("benchmark", [row.benchmark for row, _ in rows]),
            _named("model", [row.model for row, _ in rows]),
            figures("ROUGE-L", [numbers.percent(each.own.rouge_l) for _, each in rows]),
            figures("by chance", [_chance(each) for _, each in rows]),
            figures("longest run", [f"{each.own.run} of {each.own.tokens}" for _, each in rows]),
        )
    )


def _value(figure: Figure | None) -> str:
    return numbers.percent(None if figure is None else figure.value)


def _signed(figure: Figure | None) -> str:
    return numbers.signed(None if figure is None else figure.value)


def _interval(figure: Figure | None) -> str:
    if figure is None or figure.ci95 is None:
        return numbers.UNKNOWN
    return f"{figure.ci95[0]:.1f} .. {figure.ci95[1]:.1f}"


def _signed_interval(figure: Figure | None) -> str:
    return numbers.interval(None if figure is None else figure.ci95)


def _chance(question: QuestionOverlap) -> str:
    return numbers.percent(None if question.chance is None else question.chance.rouge_l)


def _share(count: int, of: int) -> str:
    return f"{count} of {of} ({100 * count / of:.1f} %)" if of else numbers.UNKNOWN


def _runs_by_chance(row: ContaminationResult) -> str:
    return numbers.UNKNOWN if row.chance_runs is None else str(row.chance_runs)


def _footnotes(found: ContaminationResults) -> Iterator[str]:
    yield (
        f"Each model was given the first {100 * found.share:.3g} % of each prompt's tokens: words, and Han or kana"
        " characters one by one."
    )
    yield "ROUGE-L: F-measure x 100 of the rest with the continuation, cut to as many tokens."
    yield "by chance: the same continuations with rests of other questions of the benchmark, as long as their own."
    yield f"runs ≥{LONG_RUN}: questions of which so many tokens in a row came back, of those whose rest has as many."
    yield "n-grams: runs of so many tokens of the rest that stand in the continuation, of questions whose rest has one."
    yield "95 % interval: from a bootstrap over questions, those of one cluster taken together (BCa)."
    if found.perplexities:
        yield "bits per byte: how unexpected the rest is to the model; perplexity: the same by its own tokens."
    if any(each.small for each in found.results) or any(each.small for each in found.perplexities):
        yield f"{SMALL}: fewer than {FEW_CLUSTERS} independent questions; do not rely on their intervals."
    yield "empty: no token came, which counts as 0; missing: no reply came; too short: too few tokens to be cut in two."
    yield "A high figure may mean that texts are predictable; compare with chance, and look at the questions."
