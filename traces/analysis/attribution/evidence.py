"""What is known of one trial with tools when it is said why it went as it did."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolablate.traces.analysis.attribution.belief import Flip, Trajectory
from toolablate.traces.analysis.attribution.layer_one import Bare
from toolablate.traces.analysis.attribution.ledger import Chain, Scores
from toolablate.traces.analysis.attribution.shapley import Worth
from toolablate.traces.analysis.attribution.signals import Signals
from toolablate.traces.records import Attribution, Diagnosis, Score


@dataclass(frozen=True, slots=True)
class Turning:
    """What the result at which a belief fell has to do with it: scores of runs that go on from the tool call `event`
    with its result as it was (`kept`), and with none (`without`)."""

    event: int
    kept: Scores
    without: Scores


@dataclass(frozen=True, slots=True)
class Evidence:
    """One trial of a condition with tools.

    bare        its question's trials without tools, of the same model
    steps       the events of its `belief_steps`; step k of the trajectory is before event steps[k]
    trajectory  by answers asked for before these; None where none were, or too few steps
    repeats     scores of the question's other trials under the condition, of the same model
    outset      scores of answers that were asked for before anything was called, of `repeats`: to the model they are
                one with this trial there
    flip        where the belief in the right answer falls for good
    closing     scores of answers that were asked for once more after the final reply
    set_aside   scores of answers for which the tools' results were to be set aside
    turning     None where the belief did not fall at a result, or nobody looked
    worth       of its results, by their events: Shapley values of being right
    chain       what the ledger needs
    diagnoses   labels of judges, without what these were asked
    """

    model: str
    condition: str
    question: str
    domain: str
    signals: Signals
    score: Score
    chain: Chain
    bare: tuple[Bare, ...] = ()
    steps: tuple[int, ...] = ()
    trajectory: Trajectory | None = None
    repeats: Scores = ()
    outset: Scores = ()
    flip: Flip | None = None
    closing: Scores = ()
    set_aside: Scores = ()
    turning: Turning | None = None
    worth: Mapping[int, Worth] = field(default_factory=dict)
    diagnoses: tuple[Diagnosis, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """A trial's evidence, and what each method makes of it. `attribution` is the one to go by: by replay where there
    is one, else by trace; None for a trial that is right. `hypotheses` are the others."""

    evidence: Evidence
    attribution: Attribution | None
    hypotheses: tuple[Attribution, ...] = ()
