"""What the index answers: records, figures of arms, and conditions of a selection."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from toolablate.analysis.pairing import RIGHT, ScoredTrial, counts, direction, mean
from toolablate.analysis.selection import Ending, Selection, Turn
from toolablate.traces.records import Distraction, Mechanism, Method, Outcome, Verdict
from toolablate.traces.store import TrialSummary

Sort = Literal["order", "name", "domain", "difficulty", "delta", "score", "spread", "tokens", "cost"]
"""`order` is that of the benchmark; `delta` the lowest difference of a condition from the baseline; `score` the mean
over the trials; `spread` how far they are from agreeing. Those and `tokens` and `cost` are of the arms that the table
shows."""


def ending_of(outcome: Outcome, verdict: Verdict | None) -> Ending:
    if outcome == "answered" or verdict == "correct":
        return verdict or "unscored"
    return "failed" if outcome == "failed" else "budget"


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One ended trial. `answer` is what was read from its reply, cut; `tools` the names of those it called, in the
    order of their first calls, `calls` how many times. `mechanism` to `turned_at` are its attribution, `label` what
    people last said; None where there is none."""

    trial: str
    question: str
    model: str
    condition: str
    repeat: int
    outcome: Outcome
    value: float | None
    verdict: Verdict | None
    answer: str
    tools: tuple[str, ...]
    calls: int
    tokens: int | None
    cost_usd: float | None
    seconds: float
    mechanism: Mechanism | None = None
    distraction: Distraction | None = None
    method: Method | None = None
    confidence: float | None = None
    turned_at: int | None = None
    label: Mechanism | None = None

    @property
    def ending(self) -> Ending:
        return ending_of(self.outcome, self.verdict)


@dataclass(frozen=True, slots=True)
class Glance:
    """What one model did with one question under one condition: its trials by repeat, their mean score (None where none
    is scored) and how that stands against the baseline (None for the baseline itself, or where one of both is not
    scored)."""

    model: str
    condition: str
    trials: tuple[TrialRow, ...]
    score: float | None
    flip: Turn | None


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question in a table. `question` is its id, `name` what it is called, `text` the beginning of what is asked."""

    question: str
    name: str
    domain: str
    difficulty: str
    language: str
    text: str
    glances: tuple[Glance, ...]


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """`total` questions are selected, by `trials` of theirs; `page` counts from 1. `pages` is at least 1."""

    rows: tuple[QuestionRow, ...]
    total: int
    trials: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Facets:
    """Which values there are to select by, each with how many trials have it (of domains and difficulties: questions),
    in the order in which they are shown. Models and conditions come in the order of the store."""

    models: Mapping[str, int]
    conditions: Mapping[str, int]
    baseline: str
    domains: Mapping[str, int]
    difficulties: Mapping[str, int]
    endings: Mapping[Ending, int]
    flips: Mapping[Turn, int]
    mechanisms: Mapping[str, int]
    labels: Mapping[str, int]
    tools: Mapping[str, int]
    simulated: frozenset[str] = frozenset()


Counts = Mapping[str, Mapping[str, int]]
"""By a field of a Selection and a value of it: how many questions are selected with that value alone in that field, and
all other fields as they are. Values that none has are left out."""


@dataclass(frozen=True, slots=True)
class ArmCounts:
    """The trials of one model under one condition. `score` is the mean over questions of each one's mean over its
    scored repeats, in [0, 1]; None where there is none. `endings` counts ended trials."""

    model: str
    condition: str
    planned: int
    ended: int
    running: int
    questions: int
    score: float | None
    endings: Mapping[Ending, int] = field(default_factory=dict)
    tokens: int | None = None
    cost_usd: float | None = None


# What a table says of a question as a whole: how each arm did, and what questions are sorted by.


Place = tuple[str, str]
"""Model and condition."""


class Tried(ScoredTrial, Protocol):
    """A trial, as far as figures of its question go: a trial summary, or a row that was made of one."""

    @property
    def model(self) -> str: ...
    @property
    def condition(self) -> str: ...
    @property
    def tokens(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class QuestionStanding:
    """An arm's mean score for one question over its scored repeats, in [0, 1], and how that stands against the
    baseline; None as in Glance."""

    score: float | None
    flip: Turn | None


class QuestionFigures(NamedTuple):
    """What a question is sorted by, as Sort explains. `spread` is the standard deviation of its trials' scores;
    `tokens` and `cost_usd` are means over the trials of which they are known. None where there is nothing to say."""

    delta: float | None
    score: float | None
    spread: float | None
    tokens: float | None
    cost_usd: float | None


def by_question(summaries: Iterable[TrialSummary]) -> dict[str, list[TrialSummary]]:
    """By the names of the questions."""
    found: dict[str, list[TrialSummary]] = defaultdict(list)
    for seen in summaries:
        found[seen.question].append(seen)
    return found


def standings(trials: Iterable[Tried], baseline: str) -> dict[Place, QuestionStanding]:
    """Of the trials of one question."""
    values: dict[Place, list[float]] = defaultdict(list)
    for seen in trials:
        found = values[seen.model, seen.condition]
        if counts(seen):
            found.append(seen.value or 0.0)
    scores = {place: mean(found) if found else None for place, found in values.items()}
    return {
        (model, condition): QuestionStanding(
            score, None if condition == baseline else _turn(scores.get((model, baseline)), score)
        )
        for (model, condition), score in scores.items()
    }


def figures(trials: Sequence[Tried], arms: Mapping[Place, QuestionStanding], baseline: str) -> QuestionFigures:
    """Of one question, with its standings."""
    values = [seen.value or 0.0 for seen in trials if counts(seen)]
    middle = mean(values) if values else None
    differences = [
        arm.score - before.score
        for (model, condition), arm in arms.items()
        if condition != baseline
        and arm.score is not None
        and (before := arms.get((model, baseline))) is not None
        and before.score is not None
    ]
    return QuestionFigures(
        delta=min(differences, default=None),
        score=middle,
        spread=None if middle is None else math.sqrt(mean([(value - middle) ** 2 for value in values])),
        tokens=_mean([seen.tokens for seen in trials]),
        cost_usd=_mean([seen.cost_usd for seen in trials]),
    )


def _turn(before: float | None, after: float | None) -> Turn | None:
    if before is None or after is None:
        return None
    return direction(before, after) or ("both_right" if after >= RIGHT else "both_wrong")


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


# A selection as SQL.


_DIGEST = re.compile(r"[0-9a-f]{8,32}")

_UNLABELLED = """CASE WHEN EXISTS (SELECT 1 FROM trials WHERE mechanism NOT NULL) THEN mechanism NOT NULL
    ELSE value < 0.5 AND condition NOT IN (
        SELECT key FROM conditions WHERE name = (SELECT value FROM facts WHERE name = 'baseline')
    ) END
AND trials.key NOT IN (
    SELECT labelled.key FROM labels JOIN trials AS labelled ON labelled.id = labels.trial
    WHERE labels.person = ? AND labels.mechanism NOT NULL
)"""
"""Failures to which something is attributed; before it is worked out to which, those of other conditions than the
baseline. Substitutes for tools are conditions as well, of which nobody asks why."""


def shown(selection: Selection, baseline: str) -> Selection:
    """The arms that a table of what is selected shows: its models and conditions, these beside the baseline."""
    conditions = (*selection.conditions, baseline) if selection.conditions else ()
    return Selection(models=selection.models, conditions=tuple(sorted(set(conditions))))


def trials_where(selection: Selection) -> tuple[str, list[Any]]:
    """The condition on a row of `trials` that says whether it is selected, with its values."""
    clauses: list[str] = []
    values: list[Any] = []
    for clause, wanted in _clauses(selection):
        clauses.append(clause)
        values += wanted
    return " AND ".join(clauses) or "TRUE", values


def _clauses(selection: Selection) -> Iterator[tuple[str, Sequence[str]]]:
    own = {
        "ending": selection.endings,
        "flip": selection.flips,
        "mechanism": selection.mechanisms,
        "label": selection.labels,
    }
    for column, wanted in own.items():
        if wanted:
            yield f"{column} IN ({_marks(wanted)})", wanted
    for table, wanted in (("model", selection.models), ("condition", selection.conditions)):
        if wanted:
            yield f"{table} IN (SELECT key FROM {table}s WHERE name IN ({_marks(wanted)}))", wanted  # noqa: S608
    for column, wanted in (("domain", selection.domains), ("difficulty", selection.difficulties)):
        if wanted:
            yield f"question IN (SELECT key FROM questions WHERE {column} IN ({_marks(wanted)}))", wanted  # noqa: S608
    if selection.unlabelled:
        yield _UNLABELLED, (selection.unlabelled,)
    if selection.tools:
        called = f"SELECT 1 FROM json_each(names) WHERE json_each.value IN ({_marks(selection.tools)})"  # noqa: S608
        yield f"toolset IN (SELECT key FROM toolsets WHERE EXISTS ({called}))", selection.tools  # noqa: S608
    if selection.text.strip():
        folded = selection.text.casefold()
        # The beginning of an id as addresses and pages show it; "g" is above every id.
        digest = folded.strip() if _DIGEST.fullmatch(folded.strip()) else "g"
        yield (
            (
                "(question IN (SELECT question FROM asked WHERE instr(folded, ?))"
                " OR question IN (SELECT key FROM questions WHERE instr(called, ?))"
                " OR answer IN (SELECT key FROM answers WHERE instr(folded, ?))"
                " OR question IN (SELECT key FROM questions WHERE id >= ? AND id < ?)"
                " OR trials.key IN (SELECT key FROM trials WHERE id >= ? AND id < ?))"
            ),
            (folded, folded, folded, *(digest, f"{digest}g") * 2),
        )


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
