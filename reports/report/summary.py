"""What a reader should know first: the scores without tools, and the effects and mechanisms that are no chance."""

from collections.abc import Iterator, Sequence

from toolablate.analysis.attribution.decomposition import Account, Ledger
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.findings import Findings
from toolablate.reports import numbers
from toolablate.reports.plots.figures.effects import is_sure
from toolablate.reports.plots.plates import in_order, ledgers_of
from toolablate.reports.report.tables import model_name

MOST_MODELS, MOST_NAMED = 8, 3


def in_short(findings: Findings) -> Iterator[str]:
    """A sentence or more for each model; none where nothing can be compared."""
    rows = in_order(findings, findings.comparisons)
    models = list(dict.fromkeys(each.model for each in rows))
    for model in models[:MOST_MODELS]:
        yield _of_model(model, [each for each in rows if each.model == model], findings)
    for ledger in ledgers_of(findings):
        if ledger.model in models[:MOST_MODELS] and (sure := _sure_mechanisms(ledger)):
            yield _of_ledger(ledger, sure, findings)
    if len(models) > MOST_MODELS:
        yield f"{numbers.counted(len(models) - MOST_MODELS, 'more model')}: see the effects below."


def _of_model(model: str, rows: Sequence[Comparison], findings: Findings) -> str:
    scores = {(arm.model, arm.condition): arm.accuracy.percent for arm in findings.arms}
    base = scores.get((model, findings.baseline))
    score = "" if base is None else f" {base:.1f} % right under {findings.baseline}."
    told = [each for each in rows if each.delta_points is not None]
    sure = sorted((each for each in told if is_sure(each)), key=lambda each: each.delta_points or 0.0)
    worse, better = ([each for each in sure if ((each.delta_points or 0.0) < 0) is way] for way in (True, False))
    few = [each for each in told if each.small and (each.p_holm or 1.0) < numbers.SIGNIFICANT]
    unsure = sorted((each for each in told if each not in sure and each not in few), key=_size, reverse=True)
    parts = [
        f"{numbers.counted(len(found), 'condition')} {'changes' if len(found) == 1 else 'change'} it for the {word}"
        f" (in points: {_named(found)})"
        for found, word in ((worse, "worse"), (better[::-1], "better"))
        if found
    ]
    asked = numbers.counted(max((each.questions for each in told), default=0), "question")
    if few:
        named = _named(sorted(few, key=lambda each: -abs(each.delta_points or 0.0)))
        parts.append(
            f"{numbers.counted(len(few), 'condition')} {'differs' if len(few) == 1 else 'differ'} from it by more than"
            f" chance gives, over {asked}, which are too few to rely on the intervals (in points: {named})"
        )
    if unsure:
        parts.append(
            f"of {numbers.counted(len(unsure), 'condition')} {asked} cannot tell a difference from chance (in points:"
            f" {_named(unsure)})"
        )
    return f"{model_name(model, findings)}:{score} {_sentence('; '.join(parts))}".rstrip()


def _size(comparison: Comparison) -> float:
    return abs(comparison.delta_points or 0.0)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _named(found: Sequence[Comparison]) -> str:
    named = [f"{each.condition} {_points(each.delta_points or 0.0, each.ci95)}" for each in found[:MOST_NAMED]]
    return ", ".join([*named, *([f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else [])])


def _sure_mechanisms(ledger: Ledger) -> list[Account]:
    found = [
        each
        for each in ledger.mechanisms
        if each.name != "unresolved"
        and not each.small
        and each.p_holm is not None
        and each.p_holm < numbers.SIGNIFICANT
    ]
    return sorted(found, key=lambda each: -abs(each.points))[:MOST_NAMED]


def _of_ledger(ledger: Ledger, sure: Sequence[Account], findings: Findings) -> str:
    whole = _points(ledger.effect.points, ledger.effect.ci95)
    parts = ", ".join(f"{mechanism_name(each.name)} {_points(each.points, each.ci95)}" for each in sure)
    return f"{model_name(ledger.model, findings)}, {ledger.condition}: of {whole} points against no tools, {parts}."


def _points(points: float, ci95: tuple[float, float] | None) -> str:
    between = "" if ci95 is None else f" ({numbers.signed(ci95[0])} to {numbers.signed(ci95[1])})"
    return f"{numbers.signed(points)}{between}"
