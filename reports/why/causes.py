"""Causes in words, their probabilities as a page gives them, and the runs that decide whether one is the cause."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import (
    WITHOUT_CALLS,
    WITHOUT_TOOLS,
    Level,
    told_levels,
)
from toolablate.analysis.attribution.replay_rules import (
    LIKELY,
    deciding,
    due_to,
    levels_without,
)
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.reports.cause_wording import chance
from toolablate.reports.why.changed_runs import (
    AS_WAS,
    IN_REPEATS,
    NOTHING_CHANGED,
    RE_ASKED,
    REPAIRED_TOO,
    Row,
    is_alone,
    levels_of,
    of_scores,
    row_of,
)
from toolablate.traces.records import Attribution, Mechanism

FEW = 8
"""Fewer runs of a kind are called few."""

POSSIBLE = 10
"""Other causes are named from so many hundredths on."""
CLOSE = 15
"""Two that are as many hundredths apart, or fewer, are not ranked."""

WORDS: tuple[tuple[float, str], ...] = (
    (0.95, "almost certainly"),
    (0.8, "very likely"),
    (0.6, "probably"),
    (0.51, "more likely than not"),
    (LIKELY, "about as likely as not"),
)
"""How sure a cause is called, from which probability on."""

_WHAT: Mapping[Mechanism, str] = {
    "retrieval_distraction": "what a search or page gave cost it the right answer",
    "lock_in": "its own computation cost it the right answer",
    "other_results": "what they gave cost it the right answer",
    "interaction": "the results of two kinds of tools had a part in the wrong answer",
    "volume": "so much text, whatever it says, cost it the right answer",
    "calling": "making calls, whatever they return, cost it the right answer",
    "availability": "the mere offer of tools, called or not, cost it the right answer",
    "prompt": "the condition's words, without any tool, cost it the right answer",
    "budget": "a limit that ended it cost it the right answer",
    "tool_fault": "a tool that did not work cost it the right answer",
    "format": "it had the right answer, and gave it in no form that counts",
    "sampling_noise": "asked in the same way it comes out right or wrong by chance, this time wrong",
    "own_error": "it is mostly wrong, with tools or without",
    "unknown": "it is not known what",
}
CAUSES: Mapping[Mechanism, tuple[str, str]] = {
    cause: ("something that the condition brings" if cause == "unknown" else mechanism_name(cause), what)
    for cause, what in _WHAT.items()
}
"""Their names, as in all lists and marks, and what they are."""


def how_sure(probability: float) -> str:
    """Empty under .5."""
    return next((word for least, word in WORDS if probability >= least), "")


def ranked(attribution: Attribution) -> list[tuple[Mechanism, float]]:
    """Causes with their probabilities, the most probable first. What is not known is a cause only where it is the one
    that a trial is attributed to."""
    shares = dict(attribution.shares) or {attribution.mechanism: attribution.confidence}
    found = {each: share for each, share in shares.items() if each != "unknown" or attribution.mechanism == each}
    return sorted(found.items(), key=lambda each: (-each[1], each[0] != attribution.mechanism))


def _together(attribution: Attribution) -> bool:
    """Whether sampling noise and the model's own error are likelier together than the cause that is likelier than
    either."""
    apart = {each: hundredths(share) for each, share in attribution.shares.items()}
    needless, first = [apart.get(each, 0) for each in BY_CHANCE], first_of(attribution)
    return first not in (*BY_CHANCE, "unknown") and all(needless) and sum(needless) > apart[first]


def first_of(attribution: Attribution) -> Mechanism:
    return ranked(attribution)[0][0]


@dataclass(frozen=True, slots=True)
class Shares:
    """What a page says of probabilities, in hundredths that add to 100: of the likeliest cause, of others that it
    names, and of the rest. `together` are sampling noise and the model's own error, where these are likelier
    together than the likeliest cause, and neither is alone; else None."""

    cause: Mechanism
    hundredths: int
    others: tuple[tuple[Mechanism, int], ...]
    rest: int
    together: int | None = None

    @property
    def probability(self) -> str:
        return hundred(self.hundredths)

    @property
    def named(self) -> tuple[Mechanism, ...]:
        return self.cause, *(each for each, _ in self.others)


def shares_of(attribution: Attribution, also: Collection[Mechanism] = ()) -> Shares:
    """`also` are named however improbable they are."""
    (cause, probability), *others = ranked(attribution)
    together = _together(attribution)
    also = {*also, *(BY_CHANCE if together else ())}
    known = {each: hundredths(share) for each, share in others}
    named = [(each, known.get(each, 0)) for each in (*known, *(each for each in also if each not in known))]
    told = [each for each in named if each[0] != cause and (each[1] >= POSSIBLE or each[0] in also)]
    whole = hundredths(probability)
    rest = 100 - whole - sum(share for _, share in told)
    if rest < 0:
        # Two that end in a half were both rounded up.
        most = max(range(len(told)), key=lambda place: told[place][1])
        told[most] = (told[most][0], told[most][1] + rest)
    needless = sum(share for each, share in told if each in BY_CHANCE) if together else None
    return Shares(cause, whole, tuple(told), max(rest, 0), needless)


def hundredths(probability: float) -> int:
    """What is less likely than not is never shown as one half, and nothing as certain."""
    return min(49 if probability < LIKELY else 99, round(100 * probability))


def as_likely(shares: Shares) -> tuple[tuple[Mechanism, int], ...]:
    """Other causes that are as likely as the first, or nearly so, alone or together; beside such a one all that are at
    least half as likely as the first. What is not known is set against none."""
    if shares.cause == "unknown":
        return ()
    needless = () if shares.together is None else BY_CHANCE
    half = [each for each in shares.others if 2 * each[1] >= shares.hundredths]
    near = any(shares.hundredths - share <= CLOSE for _, share in half)
    return tuple(each for each in shares.others if each[0] in needless or (near and each in half))


def hundred(of: int) -> str:
    return chance(of / 100)


LEAST_TOLD = 0.01
"""Of the probability of a cause."""


def told_chance(share: float) -> str:
    return chance(share) if share >= LEAST_TOLD else f"under {chance(LEAST_TOLD)}"


def with_chance(cause: Mechanism, told: Explanation) -> str:
    """`“retrieval distraction” (.02)`; without a probability where nothing that was run again tells it."""
    attribution = told.explained.attribution
    if attribution is None or attribution.method != "replay":
        return quoted_name(cause)
    return f"{quoted_name(cause)} ({told_chance(dict(ranked(attribution)).get(cause, 0.0))})"


def told_hundredths(share: int) -> str:
    return hundred(share) if share else f"under {hundred(1)}"


def name_of(cause: Mechanism) -> str:
    return CAUSES[cause][0]


def quoted_name(cause: Mechanism) -> str:
    """`“computational lock-in”`, within a sentence that says something of it."""
    return f"“{name_of(cause)}”"


def defined(cause: Mechanism, told: Explanation) -> str:
    """`computational lock-in (its own computation cost it the right answer)`, for where it is used first."""
    return f"{name_of(cause)} ({what_it_is(cause, told)})"


def what_it_is(cause: Mechanism, told: Explanation) -> str:
    """Of sampling noise also what most of it is: chance in its first reply, which its replays keep, or an answer that
    may be wrong whatever is taken away."""
    if cause != "sampling_noise" or told.explained.attribution is None:
        return CAUSES[cause][1]
    half = dict(ranked(told.explained.attribution)).get(cause, 0.0) / 2
    if first_reply_part(told) > half:
        return FIRST_REPLY
    return WRONG_ANYWAY if wrong_anyway_part(told) > half else CAUSES[cause][1]


FIRST_REPLY = "its first reply comes out well or badly by chance, this time badly"
WRONG_ANYWAY = "answers are wrong at times by chance, whatever is taken away, and so is this one"


# The runs that decide whether a cause is one.


def restores(pair: Sequence[Row]) -> bool:
    """Whether more are right without it, of `pair_of`."""
    return pair[0].share > pair[1].share


def pair_of(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """The runs that decide: without a cause, and those with it that are right most often, where there are any. Nothing
    where none are without."""
    if cause == "format" and evidence.re_asked:
        return [of_scores(RE_ASKED, evidence.re_asked, evidence)]
    found = deciding(cause, evidence)
    if found is None:
        return []
    undone, before = found
    if cause in _NEXT_TO:
        before = _just_before(undone, evidence)
    return [row_of(each, evidence) for each in (undone, before) if each is not None and not is_alone(each)]


_NEXT_TO: tuple[Mechanism, ...] = ("availability", "prompt", "volume")
"""Causes whose deciding rows differ in nothing else."""


def _just_before(undone: Level, evidence: Evidence) -> Level | None:
    """The level that differs from this one by the cause alone, where there is one: a part of it each."""
    for levels in told_levels(evidence):
        if undone in levels:
            place = levels.index(undone)
            return levels[place - 1] if place else None
    return None


def lacking(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """All that are without it."""
    if cause in BY_CHANCE:
        return []
    return list(dict.fromkeys(row_of(level, evidence) for level in levels_without(cause, evidence)))


def unchanged(evidence: Evidence) -> list[Row]:
    """Runs in which nothing was taken away, so that chance alone decides. Of a trial that was not replayed its other
    repeats, without this one, which is here because it is wrong."""
    if evidence.all_runs is None:
        return [of_scores(IN_REPEATS, evidence.repeats, evidence)] if evidence.repeats else []
    kept = (row for row in levels_of(evidence) if row.changed.startswith(NOTHING_CHANGED))
    return [row for row in kept if REPAIRED_TOO not in row.changed]


def tells_form(attribution: Attribution, evidence: Evidence) -> bool:
    """Whether answers that were asked for once more are what the form of the answer is weighed from."""
    weighed = attribution.method == "replay" and "format" in attribution.shares
    return weighed and bool(evidence.re_asked) and evidence.score.verdict == "unparsed"


def counted_runs(evidence: Evidence) -> list[Row]:
    """All that a probability is weighed from."""
    return [row for row in levels_of(evidence) if row.changed != AS_WAS]


def without_tools(evidence: Evidence) -> Row | None:
    return next((row for row in levels_of(evidence) if row.changed == WITHOUT_TOOLS), None)


def first_reply_part(told: Explanation) -> float:
    """Of the probability of sampling noise that of a first reply, which all its replays keep; 0 of little, or where no
    other trial that called tools tells it from calls."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay":
        return 0.0
    anew = [level for levels in told_levels(evidence) for level in levels if level.part == "first_reply"]
    if all(level.what in WITHOUT_CALLS for level in anew):
        return 0.0
    whole = dict(ranked(attribution)).get("sampling_noise", 0.0)
    part = whole * due_to("first_reply", "sampling_noise", evidence, told.rates)
    return part if part >= LEAST_PART else 0.0


LEAST_PART = 0.1
"""Of probability, from which on it is told."""


def wrong_anyway_part(told: Explanation) -> float:
    """Of the probability of sampling noise that of an answer that is wrong whatever is taken away, though most are
    right then; 0 of little."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay":
        return 0.0
    whole = dict(ranked(attribution)).get("sampling_noise", 0.0)
    part = whole * due_to("anyway", "sampling_noise", evidence, told.rates)
    return part if part >= LEAST_PART else 0.0


def computing_part(told: Explanation) -> float:
    """Of the probability of a lock-in that of calling its code at all, whatever this gave; 0 of little."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay":
        return 0.0
    part = dict(ranked(attribution)).get("lock_in", 0.0) * due_to("calling", "lock_in", evidence, told.rates)
    return part if part >= LEAST_PART else 0.0
