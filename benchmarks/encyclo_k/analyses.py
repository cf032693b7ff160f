"""The analyses of Encyclo-K from the trials of a store."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from toolablate.analysis.effect import FEW_CLUSTERS, accuracy
from toolablate.analysis.from_store import chosen_run, observe, scorer_meant
from toolablate.analysis.pairing import RIGHT, Unit, counts, unit
from toolablate.analysis.statistics.intervals import bootstrap_interval, effective_clusters
from toolablate.analysis.statistics.p_values import holm
from toolablate.benchmarks.encyclo_k.analysis_results import (
    ArmAccuracy,
    By,
    ChiSquare,
    EncycloKTables,
    GroupAccuracy,
    Length,
    Level,
    LevelAccuracy,
    PairRanking,
    Position,
    PositionBias,
    ReplyLength,
    SeedAccuracy,
    SingleAndComposed,
    Stability,
)
from toolablate.benchmarks.encyclo_k.composing import SOURCE, clusters, statement_ids
from toolablate.benchmarks.encyclo_k.statements import MOST_STATEMENTS, numeral
from toolablate.benchmarks.prompt import LETTERS
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question
from toolablate.traces.store import Store, TrialSummary
from toolablate.traces.terminal_text import one_line

_NUMERAL = re.compile(r"^\s*([ivx]{1,7})[.):、．]", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reply:
    """A trial, its question, the letter that was read from its reply ("" for none) and the tokens of its final reply
    (None where unknown)."""

    seen: TrialSummary
    question: Question
    chosen: str = ""
    tokens: int | None = None

    @property
    def value(self) -> float:
        return self.seen.value or 0.0

    @property
    def right(self) -> bool:
        return self.value >= RIGHT

    @property
    def missed(self) -> bool:
        return self.seen.verdict == "unparsed"


@dataclass(frozen=True, slots=True)
class Arm:
    """The scored replies of one model under one condition to composed or published questions, and to statements judged
    one by one."""

    model: str
    condition: str
    composed: tuple[Reply, ...]
    single: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A question with its mean score over repeats, in [0, 1]."""

    question: Question
    score: float
    unit: Unit


def is_ours(question: Question) -> bool:
    return question.source == SOURCE and question.target.kind == "choice"


def arms(replies: Iterable[Reply], order: Sequence[str] = ()) -> list[Arm]:
    """By model name, then by condition: those named in `order` first, the others by name. What has no score is left
    out."""
    found: dict[tuple[str, str], list[Reply]] = defaultdict(list)
    for reply in replies:
        if is_ours(reply.question) and counts(reply.seen):
            found[reply.seen.model, reply.seen.condition].append(reply)
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    keys = sorted(found, key=lambda key: (key[0], places.get(key[1], len(places)), key[1]))
    return [
        Arm(
            *key,
            composed=tuple(reply for reply in found[key] if "statement" not in reply.question.metadata),
            single=tuple(reply for reply in found[key] if "statement" in reply.question.metadata),
        )
        for key in keys
    ]


def joined(arm: Arm) -> Arm:
    """With questions of one cluster where they share statements, in question sets of other seeds and forms too: when a
    set was composed nothing was known of the others."""
    asked = {reply.seen.question: reply for reply in arm.composed}
    shared = [
        [unit(reply.seen), *(("statement", each) for each in statement_ids(reply.question))] for reply in asked.values()
    ]
    cluster = dict(zip(asked, clusters(shared, list(asked)), strict=True))
    composed = tuple(
        replace(reply, seen=replace(reply.seen, cluster=cluster[reply.seen.question])) for reply in arm.composed
    )
    return replace(arm, composed=composed)


def scored(replies: Iterable[Reply]) -> list[Scored]:
    """One of each question, in the order of its first reply."""
    of_question: dict[str, list[Reply]] = defaultdict(list)
    for reply in replies:
        of_question[reply.seen.question].append(reply)
    return [
        Scored(
            found[0].question,
            math.fsum(reply.value for reply in found) / len(found),
            unit(found[0].seen),
        )
        for found in of_question.values()
    ]


def first_repeats(replies: Iterable[Reply]) -> list[Reply]:
    """One reply to each question, so that they are independent as far as questions are."""
    first: dict[str, Reply] = {}
    for reply in replies:
        kept = first.setdefault(reply.seen.question, reply)
        if reply.seen.repeat < kept.seen.repeat:
            first[reply.seen.question] = reply
    return list(first.values())


def statement_count(question: Question) -> int | None:
    """How many statements a question has: what was kept when it was composed, else the lines of its prompt that begin
    with i, ii, iii ... in turn. None where it has no such lines."""
    if identities := statement_ids(question):
        return len(identities)
    found = [each.lower() for each in _NUMERAL.findall(question.prompt)]
    count = 0
    for each in found:
        if count < MOST_STATEMENTS and each == numeral(count + 1):
            count += 1
    return count or None


# Accuracy over all questions, over groups of them, and within each group.


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


# Whether the place of an option matters.


LEAST_EXPECTED = 5

Floats = NDArray[np.float64]


def position_biases(arms: Sequence[Arm], *, seed: int = 0) -> list[PositionBias]:
    """One for each arm; p-values are corrected over all arms, for each of the two tests."""
    found = [_bias(arm, seed) for arm in arms]
    by_right = _corrected([each.by_right for each in found])
    by_choice = _corrected([each.by_choice for each in found])
    return [
        replace(each, by_right=right, by_choice=choice)
        for each, right, choice in zip(found, by_right, by_choice, strict=True)
    ]


def _bias(arm: Arm, seed: int) -> PositionBias:
    first = first_repeats(arm.composed)
    answers = [reply for reply in first if reply.chosen]
    wrong = [reply for reply in answers if not reply.right]
    chosen, wrongly = (Counter(reply.chosen for reply in replies) for replies in (answers, wrong))
    expected = _wrongly_expected(wrong)
    by_place = defaultdict(list)
    for each in scored(arm.composed):
        by_place[_right(each.question.target)].append(each)
    places = max((len(reply.question.choices) for reply in first), default=0)
    return PositionBias(
        model=arm.model,
        condition=arm.condition,
        positions=tuple(
            Position(
                letter,
                accuracy([each.score for each in by_place[place]], [each.unit for each in by_place[place]], seed=seed),
                chosen[letter],
                wrongly[letter],
                float(expected[place]),
            )
            for place, letter in enumerate(LETTERS[:places])
        ),
        by_right=accuracy_test(first),
        by_choice=choice_test(wrong),
    )


def accuracy_test(replies: Sequence[Reply]) -> ChiSquare:
    """Whether accuracy differs by the place of the right option, among questions with as many options.

    Within these, since the last places are those of questions with many options, which are harder. Generalised
    Cochran-Mantel-Haenszel test of general association over strata; source: Landis, Heyman and Koch (1978), "Average
    partial association in three-way contingency tables", International Statistical Review 46. Questions count as
    independent.
    """
    away, spread = np.zeros(len(LETTERS)), np.zeros((len(LETTERS),) * 2)
    rights, wrongs, most = 0, 0, 1
    strata = defaultdict(list)
    for reply in replies:
        strata[len(reply.question.choices)].append(reply)
    for options, found in strata.items():
        total, right = len(found), sum(reply.right for reply in found)
        if total < 2 or right in (0, total):
            continue
        places = _counts(found)
        away += _counts([reply for reply in found if reply.right]) - right * places / total
        scale = right * (total - right) / (total**2 * (total - 1))
        spread += scale * (total * np.diag(places) - np.outer(places, places))
        rights, wrongs = rights + right, wrongs + total - right
        most = max(most, options)
    return _test(away, spread, min(rights, wrongs) / most)


def choice_test(wrong: Sequence[Reply]) -> ChiSquare:
    """Whether wrong answers prefer a place: each would name any of the other options but the right one as often.

    The score test of that; like Pearson's where all questions have as many options, and their right one in one place.
    """
    away, spread = -_wrongly_expected(wrong), np.zeros((len(LETTERS),) * 2)
    for reply in wrong:
        away[LETTERS.index(reply.chosen)] += 1
    for even, count in _even_chances(wrong):
        spread += count * (np.diag(even) - np.outer(even, even))
    places = max((len(reply.question.choices) for reply in wrong), default=1)
    return _test(away, spread, len(wrong) / places)


def _wrongly_expected(wrong: Sequence[Reply]) -> Floats:
    return sum((count * even for even, count in _even_chances(wrong)), start=np.zeros(len(LETTERS)))


def _even_chances(wrong: Sequence[Reply]) -> Iterator[tuple[Floats, int]]:
    """The chance of each place under a wrong answer that prefers none, and of how many wrong answers."""
    kinds = Counter((len(reply.question.choices), _right(reply.question.target)) for reply in wrong)
    for (options, right), count in kinds.items():
        even = np.zeros(len(LETTERS))
        even[:options] = 1 / (options - 1)
        even[right] = 0
        yield even, count


def _counts(replies: Sequence[Reply]) -> Floats:
    return np.bincount([_right(reply.question.target) for reply in replies], minlength=len(LETTERS)).astype(float)


def _right(target: object) -> int:
    letters: tuple[str, ...] = getattr(target, "letters", ())
    return LETTERS.index(letters[0])


def _test(away: Floats, spread: Floats, expected: float) -> ChiSquare:
    degrees = int(np.linalg.matrix_rank(spread, hermitian=True))
    if not degrees:
        return ChiSquare(0.0, 0, None)
    statistic = float(away @ np.linalg.pinv(spread, hermitian=True) @ away)
    enough = expected >= LEAST_EXPECTED
    return ChiSquare(statistic, degrees, float(chi2.sf(statistic, degrees)) if enough else None)


def _corrected(tests: Sequence[ChiSquare]) -> list[ChiSquare]:
    p_values = iter(holm([each.p_value for each in tests if each.p_value is not None]))
    return [each if each.p_value is None else replace(each, p_holm=next(p_values)) for each in tests]


# Whether question sets of other seeds say the same.


def stabilities(arms: Sequence[Arm], *, seed: int = 0) -> list[Stability]:
    """One for each arm with composed questions of two seeds or more."""
    return [found for arm in arms for found in _stability(arm, seed)]


def _stability(arm: Arm, seed: int) -> Iterator[Stability]:
    sets: dict[int, list[Scored]] = defaultdict(list)
    for each in scored(arm.composed):
        composed_from = each.question.metadata.get("seed")
        if isinstance(composed_from, int):
            sets[composed_from].append(each)
    if len(sets) < 2:
        return
    found = tuple(
        SeedAccuracy(name, accuracy([each.score for each in sets[name]], [each.unit for each in sets[name]], seed=seed))
        for name in sorted(sets)
    )
    percents = [each.accuracy.percent or 0.0 for each in found]
    yield Stability(arm.model, arm.condition, found, math.fsum(percents) / len(percents), min(percents), max(percents))


def rankings(found: Sequence[Stability]) -> list[PairRanking]:
    """Every two models under one condition that have two seeds or more in common. Equal scores reverse nothing."""
    return [
        _ranking(one, other)
        for one, other in combinations(found, 2)
        if one.condition == other.condition and len(_percents(one).keys() & _percents(other).keys()) > 1
    ]


def _ranking(one: Stability, other: Stability) -> PairRanking:
    seeds = tuple(sorted(_percents(one).keys() & _percents(other).keys()))
    if math.fsum(_percents(one)[seed] - _percents(other)[seed] for seed in seeds) < 0:
        one, other = other, one
    above, below = _percents(one), _percents(other)
    turned = tuple(seed for seed in seeds if below[seed] > above[seed])
    return PairRanking(one.condition, one.model, other.model, seeds, turned)


def _percents(found: Stability) -> Mapping[int, float]:
    return {each.seed: each.accuracy.percent or 0.0 for each in found.sets}


# How long replies are that are right, and those that are wrong.


def reply_length(arm: Arm, *, seed: int = 0) -> ReplyLength:
    right = [reply for reply in arm.composed if reply.right]
    wrong = [reply for reply in arm.composed if not reply.right and not reply.missed]
    missed = [reply for reply in arm.composed if reply.missed]
    return ReplyLength(
        model=arm.model,
        condition=arm.condition,
        right=_length(right, seed),
        wrong=_length(wrong, seed),
        missed=_length(missed, seed),
        unknown=sum(reply.tokens is None for reply in arm.composed),
    )


def _length(replies: Sequence[Reply], seed: int) -> Length:
    sums: dict[Unit, float] = defaultdict(float)
    sizes: dict[Unit, float] = defaultdict(float)
    tokens = []
    for reply in replies:
        if reply.tokens is not None:
            sums[unit(reply.seen)] += reply.tokens
            sizes[unit(reply.seen)] += 1
            tokens.append(reply.tokens)
    return Length(
        replies=len(tokens),
        mean=math.fsum(tokens) / len(tokens) if tokens else None,
        ci95=bootstrap_interval(list(sums.values()), list(sizes.values()), seed=seed),
        median=float(median(tokens)) if tokens else None,
        small=effective_clusters(list(sizes.values())) < FEW_CLUSTERS,
    )


# Statements judged one by one beside the questions that they are composed into.


def singles_and_composed(arms: Sequence[Arm], *, seed: int = 0) -> list[SingleAndComposed]:
    """One for each arm in which statements were judged one by one."""
    return [found for arm in arms for found in _of_arm(arm, seed)]


def _of_arm(arm: Arm, seed: int) -> Iterator[SingleAndComposed]:
    judged = scored(arm.single)
    if not judged:
        return
    of_statement = {str(each.question.metadata["statement"]): each.score for each in judged}
    whole = [
        (each, [of_statement[one] for one in statements])
        for each in scored(arm.composed)
        for statements in [statement_ids(each.question)]
        if statements and all(one in of_statement for one in statements)
    ]
    means = [math.fsum(scores) / len(scores) for _, scores in whole]
    units = [each.unit for each, _ in whole]
    yield SingleAndComposed(
        arm.model,
        arm.condition,
        statements=accuracy([each.score for each in judged], [each.unit for each in judged], seed=seed),
        questions=accuracy(means, units, seed=seed),
        composed=accuracy([each.score for each, _ in whole], units, seed=seed),
    )


def tables(replies: Iterable[Reply], *, order: Sequence[str] = (), seed: int = 0) -> EncycloKTables:
    """All analyses of the replies to Encyclo-K's questions, by model and condition; `order` is that of the conditions.

    Replies to other questions, and those without a score, are left out.
    """
    found = arms(replies, order)
    composed = [arm for arm in found if arm.composed]
    over_seeds = stabilities(composed, seed=seed)
    pooled = [joined(arm) for arm in composed]
    return EncycloKTables(
        arms=tuple(arm_accuracy(arm, seed=seed) for arm in pooled),
        positions=tuple(position_biases(pooled, seed=seed)),
        stability=tuple(over_seeds),
        rankings=tuple(rankings(over_seeds)),
        lengths=tuple(reply_length(arm, seed=seed) for arm in pooled),
        single=tuple(singles_and_composed([joined(arm) for arm in found], seed=seed)),
    )


# Encyclo-K from files and stores: what the command line does with it.


ID_CHARS = 8


def read_tables(path: Path, *, run: str = "all", scorer: str | None = None, seed: int = 0) -> EncycloKTables:
    """The analyses of a store's trials, of those that one run called for (`latest`, or the beginning of its id), or of
    `all` that it holds. Raises InputError where none of them is of Encyclo-K, and StoreError."""
    with Store(path) as store, store.at_one_moment():
        summaries = observe(store, run=run, scorer=scorer)
        order = [condition.name for condition in store.conditions()]
        replies = list(_replies(store, summaries, _scorers(store, run, scorer)))
    found = tables(replies, order=order, seed=seed)
    if not found.arms and not found.single:
        raise InputError(
            f"{one_line(str(path))} has no scored trial of Encyclo-K",
            hint="Run a plan on questions that `toolablate encyclo-k compose` or `import` wrote.",
            code="no_encyclo_k",
        )
    return found


def _scorers(store: Store, run: str, scorer: str | None) -> Collection[str]:
    """Those whose scores `observe` takes."""
    known = store.scorers()
    if scorer:
        return [scorer_meant(known, scorer)]
    return [name for name in chosen_run(store, run).scorers if name in known] or known


def _replies(store: Store, summaries: Sequence[TrialSummary], scorers: Collection[str]) -> Iterator[Reply]:
    questions = store.questions()
    # Where questions share a name, each is observed as name@digest.
    named = {question.id: question for question in questions}
    named |= {f"{question.id}@{question.identity()[:ID_CHARS]}": question for question in questions}
    for seen in summaries:
        question = named[seen.question]
        if is_ours(question) and seen.outcome != "failed":
            yield Reply(seen, question, _chosen(store, seen, scorers), _tokens(store, seen))


def _chosen(store: Store, seen: TrialSummary, scorers: Collection[str]) -> str:
    scores = [
        score
        for score in store.scores(seen.trial)
        if score.scorer in scorers and (score.value, score.verdict) == (seen.value, seen.verdict)
    ]
    newest = max(scores, key=lambda score: score.scorer_version, default=None)
    return newest.extracted[0] if newest is not None and len(newest.extracted) == 1 else ""


def _tokens(store: Store, seen: TrialSummary) -> int | None:
    calls = [event for event in store.trace(seen.trial).events if event.kind == "model_call"]
    return calls[-1].reply.usage.output_tokens if calls else None
