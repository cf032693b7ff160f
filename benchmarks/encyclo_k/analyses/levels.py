"""Accuracy over all questions, over groups of them, and within each group."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from toolablate.analysis.effect import accuracy
from toolablate.benchmarks.encyclo_k.analyses.replies import Arm, Scored, scored, statement_count
from toolablate.benchmarks.encyclo_k.figures import ArmAccuracy, By, GroupAccuracy, Level, LevelAccuracy
from toolablate.traces.records import Question

GroupOf = Callable[[Question], Sequence[str | int] | None]
"""The names of a question's group, the widest first; None for one that belongs to none."""


def _named(*keys: str) -> GroupOf:
    return lambda question: [str(question.metadata.get(key, "")) for key in keys]


def _statements(question: Question) -> list[str | int] | None:
    count = statement_count(question)
    return None if count is None else [count]


GROUPS: Mapping[By, GroupOf] = {
    "discipline": _named("discipline"),
    "field": _named("discipline", "field"),
    "subfield": _named("discipline", "field", "subfield"),
    "options": lambda question: [len(question.choices)],
    "statements": _statements,
}
LEVELS: Sequence[Level] = ("sample", "subfield", "field", "discipline")


def arm_accuracy(arm: Arm, *, seed: int = 0) -> ArmAccuracy:
    found = scored(arm.composed)
    return ArmAccuracy(
        model=arm.model,
        condition=arm.condition,
        simulated=any(reply.seen.simulated for reply in arm.composed),
        trials=len(arm.composed),
        missed=sum(reply.missed for reply in arm.composed),
        levels=tuple(_level(found, level, seed) for level in LEVELS),
        groups=tuple(each for by in GROUPS for each in _groups(found, by, seed)),
    )


def _level(found: Sequence[Scored], level: Level, seed: int) -> LevelAccuracy:
    names = [() if level == "sample" else tuple(GROUPS[level](each.question) or ()) for each in found]
    sizes = Counter(names)
    # So that each group weighs as much as any other.
    weights = [1 / sizes[name] for name in names]
    scores, units = [each.score for each in found], [each.unit for each in found]
    return LevelAccuracy(level, len(sizes), accuracy(scores, units, weights=weights, seed=seed))


def _groups(found: Sequence[Scored], by: By, seed: int) -> list[GroupAccuracy]:
    groups: dict[tuple[str | int, ...], list[Scored]] = defaultdict(list)
    for each in found:
        if (name := GROUPS[by](each.question)) is not None:
            groups[tuple(name)].append(each)
    return [
        GroupAccuracy(
            by,
            " > ".join(str(part) or f"(no {by})" for part in name),
            accuracy([each.score for each in groups[name]], [each.unit for each in groups[name]], seed=seed),
        )
        for name in sorted(groups)
    ]
