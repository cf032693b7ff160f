"""What the viewer shows of many trials at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolablate.analysis.selection import Ending, Turn
from toolablate.traces.records import Distraction, Mechanism, Method, Outcome, Verdict

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
