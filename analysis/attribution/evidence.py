"""What is known of one trial with tools when it is said why it went as it did."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from toolablate.analysis.attribution.belief import Flip, Trajectory
from toolablate.analysis.attribution.layer_one import Bare
from toolablate.analysis.attribution.ledger import Chain, Scores
from toolablate.analysis.attribution.shapley import Worth
from toolablate.analysis.attribution.signals import Signals
from toolablate.traces.records import Attribution, Diagnosis, Score


@dataclass(frozen=True, slots=True)
class Turning:
    """What the result at which a belief fell has to do with it: scores of runs that go on from the tool call `event`
    with its result as it was (`kept`), and with none (`without`)."""

    event: int
    kept: Scores
    without: Scores


@dataclass(frozen=True, slots=True)
class Outline:
    """Of one trial of a condition with tools what lists and ledgers are made of, of however many trials.

    score       without what a judge was asked
    chain       what the ledger needs
    steps       the events of its `belief_steps`; step k of the trajectory is before event steps[k]
    trajectory  by answers asked for before these; None where none were, or too few steps
    flip        where the belief in the right answer falls for good
    diagnoses   labels of judges, without what these were asked
    """

    model: str
    condition: str
    question: str
    domain: str
    score: Score
    chain: Chain
    steps: tuple[int, ...] = field(default=(), kw_only=True)
    trajectory: Trajectory | None = field(default=None, kw_only=True)
    flip: Flip | None = field(default=None, kw_only=True)
    diagnoses: tuple[Diagnosis, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Evidence(Outline):
    """Of one trial all that a page about it is made of; `score` is whole.

    bare        its question's trials without tools, of the same model
    repeats     scores of the question's other trials under the condition, of the same model
    outset      scores of answers that were asked for before anything was called, of `repeats`: to the model they are
                one with this trial there
    closing     scores of answers that were asked for once more after the final reply
    set_aside   scores of answers for which the tools' results were to be set aside
    turning     None where the belief did not fall at a result, or nobody looked
    worth       of its results, by their events: Shapley values of being right
    """

    signals: Signals
    bare: tuple[Bare, ...] = ()
    repeats: Scores = ()
    outset: Scores = ()
    closing: Scores = ()
    set_aside: Scores = ()
    turning: Turning | None = None
    worth: Mapping[int, Worth] = field(default_factory=dict)

    @property
    def called(self) -> bool:
        """Whether it made any call, be it that all were refused."""
        return bool(self.signals.calls)

    def outline(self) -> Outline:
        known = {each.name: getattr(self, each.name) for each in fields(Outline)}
        return Outline(**{**known, "score": self.score.model_copy(update={"judgement": None})})


@dataclass(frozen=True, slots=True)
class Outlined:
    """A trial in outline, and what each method makes of it. `attribution` is the one to go by: by replay where there
    is one, else by trace; None for a trial that is right. `hypotheses` are the others."""

    evidence: Outline
    attribution: Attribution | None
    hypotheses: tuple[Attribution, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained(Outlined):
    """The same with all evidence."""

    evidence: Evidence

    def outlined(self) -> Outlined:
        return Outlined(self.evidence.outline(), self.attribution, self.hypotheses)
