"""The tables of Encyclo-K, one section for each analysis that there is something of."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import Accuracy
from toolablate.benchmarks.encyclo_k.analysis_results import (
    ArmAccuracy,
    By,
    ChiSquare,
    EncycloKTables,
    Length,
    PairRanking,
    PositionBias,
    ReplyLength,
    SingleAndComposed,
    Stability,
)
from toolablate.reports import numbers
from toolablate.reports.numbers import SMALL
from toolablate.reports.tables import Column, Fitted, figures, names, simulated_banner
from toolablate.traces.terminal_text import inert, one_line

TITLES: dict[By, str] = {
    "discipline": "Accuracy by discipline",
    "options": "Accuracy by number of options",
    "statements": "Accuracy by number of statements",
}


def encyclo_k_view(tables: EncycloKTables) -> RenderableType:
    parts: list[RenderableType] = []
    if any(arm.simulated for arm in tables.arms):
        parts.append(simulated_banner())
    if tables.arms:
        parts += _titled("Accuracy", _levels(tables.arms))
        for by, title in TITLES.items():
            parts += _titled(title, _groups(tables.arms, by))
        parts += _titled(
            "By the place of the right option, and what wrong answers choose", _positions(tables.positions)
        )
        parts += _titled("Whether the place matters (chi-square tests)", _tests(tables.positions))
    if tables.stability:
        parts += _titled("Question sets of several seeds", _stability(tables.stability))
        parts.append(_noted(_rank_lines(tables.rankings)))
    if tables.arms:
        parts += _titled("Tokens of replies", _lengths(tables.lengths))
    if tables.single:
        parts += _titled("Single statements beside composed questions", _single(tables.single))
    return Group(*parts, _noted(_footnotes(tables)))


def _titled(title: str, table: Fitted) -> list[RenderableType]:
    return [Text(f" {title}", style="bold"), table] if table.columns[0].cells else []


def _noted(lines: Iterable[str]) -> RenderableType:
    return Padding(Text("\n".join(lines), style="dim"), (0, 1, 1, 1))


def _arm_columns(rows: Sequence[tuple[str, str]]) -> tuple[Column, Column]:
    return (
        names("model", [inert(one_line(model)) for model, _ in rows], common=True),
        names("condition", [inert(one_line(condition)) for _, condition in rows], common=True),
    )


def _accuracies(title: str, found: Sequence[Accuracy]) -> tuple[Column, Column, Column]:
    return (
        figures("n", [f"{SMALL if each.small else ''}{each.questions}" for each in found]),
        figures(title, [Text(numbers.percent(each.percent), style="bold") for each in found]),
        figures("95 % interval", [_interval(each.ci95) for each in found]),
    )


def _interval(bounds: tuple[float, float] | None) -> str:
    return numbers.UNKNOWN if bounds is None else f"{bounds[0]:.1f} .. {bounds[1]:.1f}"


def _levels(arms: Sequence[ArmAccuracy]) -> Fitted:
    rows = [(arm, level) for arm in arms for level in arm.levels]
    return Fitted(
        (
            names(
                "over",
                [f"{level.level}s ({level.groups})" if level.level != "sample" else "questions" for _, level in rows],
            ),
            *_arm_columns([(arm.model, arm.condition) for arm, _ in rows]),
            *_accuracies("accuracy", [level.accuracy for _, level in rows]),
            figures("missed", [str(arm.missed) if level.level == "sample" else "" for arm, level in rows], spare=1),
        )
    )


def _groups(arms: Sequence[ArmAccuracy], by: By) -> Fitted:
    rows = [(arm, group) for arm in arms for group in arm.groups if group.by == by]
    return Fitted(
        (
            names(by, [inert(one_line(group.group)) for _, group in rows]),
            *_arm_columns([(arm.model, arm.condition) for arm, _ in rows]),
            *_accuracies("accuracy", [group.accuracy for _, group in rows]),
        )
    )


def _positions(biases: Sequence[PositionBias]) -> Fitted:
    rows = [(bias, position) for bias in biases for position in bias.positions]
    return Fitted(
        (
            names("place", [position.letter for _, position in rows]),
            *_arm_columns([(bias.model, bias.condition) for bias, _ in rows]),
            *_accuracies("accuracy", [position.right for _, position in rows]),
            figures("chosen", [str(position.chosen) for _, position in rows]),
            figures("wrongly", [str(position.wrongly) for _, position in rows]),
            figures("expected", [f"{position.wrongly_expected:.1f}" for _, position in rows]),
        )
    )


def _tests(biases: Sequence[PositionBias]) -> Fitted:
    rows = [
        (bias, name, test)
        for bias in biases
        for name, test in (("accuracy", bias.by_right), ("wrong answers", bias.by_choice))
    ]
    return Fitted(
        (
            names("of", [name for _, name, _ in rows]),
            *_arm_columns([(bias.model, bias.condition) for bias, _, _ in rows]),
            figures("χ²", [_statistic(test) for _, _, test in rows]),
            figures("df", [str(test.degrees) for _, _, test in rows]),
            figures("p", [numbers.p_value(test.p_value) for _, _, test in rows]),
            figures("p Holm", [numbers.p_value(test.p_holm) for _, _, test in rows]),
        )
    )


def _statistic(test: ChiSquare) -> str:
    return f"{test.statistic:.1f}" if test.degrees else numbers.UNKNOWN


def _stability(found: Sequence[Stability]) -> Fitted:
    rows = [(each, one) for each in found for one in each.sets]
    last = {id(each.sets[-1]): each for each in found}
    return Fitted(
        (
            names("seed", [str(one.seed) for _, one in rows]),
            *_arm_columns([(each.model, each.condition) for each, _ in rows]),
            *_accuracies("accuracy", [one.accuracy for _, one in rows]),
            figures("mean", [f"{each.mean:.1f}" if id(one) in last else "" for each, one in rows]),
            figures("range", [f"{each.low:.1f} .. {each.high:.1f}" if id(one) in last else "" for each, one in rows]),
        )
    )


def _rank_lines(rankings: Sequence[PairRanking]) -> Iterator[str]:
    if not rankings:
        return
    turned = [each for each in rankings if each.reversed]
    pairs = numbers.counted(len(rankings), "pair")
    yield f"Rank reversals: in {len(turned)} of {pairs} of models under one condition."
    for each in turned:
        seeds = ", ".join(map(str, each.reversed))
        yield (
            f"{one_line(each.higher)} is above {one_line(each.lower)} under {one_line(each.condition)}, and below under"
            f" {len(each.reversed)} of {len(each.seeds)} seeds: {seeds}."
        )


def _lengths(found: Sequence[ReplyLength]) -> Fitted:
    rows = [
        (each, name, length)
        for each in found
        for name, length in (("right", each.right), ("wrong", each.wrong), ("missed", each.missed))
        if length.replies
    ]
    return Fitted(
        (
            names("replies", [name for _, name, _ in rows]),
            *_arm_columns([(each.model, each.condition) for each, _, _ in rows]),
            figures("n", [f"{SMALL if length.small else ''}{length.replies}" for _, _, length in rows]),
            figures("mean", [Text(numbers.tokens(length.mean), style="bold") for _, _, length in rows]),
            figures("95 % interval", [_token_interval(length) for _, _, length in rows]),
            figures("median", [numbers.tokens(length.median) for _, _, length in rows], spare=1),
        )
    )


def _token_interval(length: Length) -> str:
    if length.ci95 is None:
        return numbers.UNKNOWN
    return " .. ".join(map(numbers.tokens, length.ci95))


def _single(found: Sequence[SingleAndComposed]) -> Fitted:
    rows = [
        (each, name, accuracy)
        for each in found
        for name, accuracy in (
            ("statements", each.statements),
            ("mean of a question's statements", each.questions),
            ("composed questions", each.composed),
        )
    ]
    return Fitted(
        (
            names("of", [name for _, name, _ in rows]),
            *_arm_columns([(each.model, each.condition) for each, _, _ in rows]),
            *_accuracies("accuracy", [accuracy for _, _, accuracy in rows]),
        )
    )


def _footnotes(tables: EncycloKTables) -> Iterator[str]:
    yield "accuracy: percent, over repeats, then questions. Over subfields, fields, disciplines each weighs the same."
    yield "95 % interval: from a bootstrap over questions, those that share statements taken together (BCa)."
    yield numbers.small_note("that are right, or wrong")
    if tables.arms:
        yield "missed: no answer could be read from the reply, which counts as wrong."
        yield "chosen: first repeats whose answer is this place; wrongly: the wrong ones of these."
        yield "expected: how many of the wrong ones would, if they preferred no place."
        yield "Tests: of accuracy, among questions with as many options; of wrong answers, among the options left."
        yield "p Holm: corrected over the models and conditions shown."
    if unknown := sum(each.unknown for each in tables.lengths):
        yield f"Replies whose tokens are unknown: {unknown:,}."
