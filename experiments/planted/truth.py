"""What is true of the trials of a store whose model acts out scenarios: computed from these, and never from a
replay."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

from toolablate.agents.simulated.planted.chat import chance
from toolablate.agents.simulated.planted.mind import Influence, belief, believed, drawn, situation
from toolablate.agents.simulated.planted.reading import Scenarios
from toolablate.agents.simulated.planted.wording import answer_of, is_in_form
from toolablate.analysis.arms import ArmKind, has_ladder, ladders
from toolablate.analysis.attribution.belief import belief_steps
from toolablate.analysis.attribution.decomposition import EffectMechanism as DecompositionMechanism
from toolablate.analysis.attribution.decomposition import Term
from toolablate.experiments.plans.plan import file_digest
from toolablate.experiments.planted.levels import FALL, Levels, Parts, extension, levels, moved_by, parts, repair
from toolablate.experiments.planted.setups import (
    Outputs,
    ScenarioRun,
    ScenarioSetup,
    Way,
    calls_of,
    offers_of,
    refuse_unknown,
    runs,
)
from toolablate.experiments.replay.changes import changed_start
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Answer,
    AnswerNow,
    Condition,
    Mechanism,
    Message,
    ModelCall,
    ModelRequest,
    Question,
    SimulatedModel,
    Trace,
)
from toolablate.traces.store import Store

Belief = Mapping[str, float]

OFTEN_RIGHT = 0.5
"""The probability of being right without tools from which on an error that no tool had a part in is sampling noise."""


@dataclass(frozen=True, slots=True)
class Causes:
    """What a run would have believed with one thing removed each, in the order of the decomposition's inputs.

    now      what it did believe
    no_tools     without tools and prompt
    without  by what is removed
    """

    right: str
    now: Belief
    no_tools: Belief
    without: Mapping[Mechanism, Belief]


def causes(setup: ScenarioSetup, run: ScenarioRun, trial: str) -> Causes:
    """Of the run of the trial `trial`."""
    without: dict[Mechanism, Belief] = {}
    if run.limit:
        without["budget"] = _mean_belief(setup, extension(setup, run, trial))
    if run.fault is not None:
        without["tool_fault"] = _mean_belief(setup, repair(setup, run, trial))
    every = setup.influences(run)
    removed: dict[Mechanism, Iterable[Influence]] = {
        "retrieval_distraction": moved_by(setup, run, "search"),
        "lock_in": moved_by(setup, run, "code"),
        "calling": [each for each in every if each.source == "called"],
        "availability": [each for each in every if each.source == "offered"],
        "prompt": [each for each in every if each.source == "prompted"],
    }
    without |= {mechanism: setup.believed(run, tuple(each)) for mechanism, each in removed.items() if each}
    return Causes(setup.right, setup.believed(run), believed(setup.scenario, ()), without)


def cause_at(found: Causes, u: float) -> Mechanism:
    """Of an answer that the draw `u` makes wrong.

    What makes the same draw right when it alone is removed did it; of several, and where the draw is right only without
    all of them, the one that moved the most from the right letter to the one that was drawn, in nats. Where the draw is
    wrong without tools as well, no tool did it: that is `sampling_noise` where such draws are the rarer ones, and else
    the model's own error.
    """
    wrong = drawn(found.now, u)
    alone = {each for each, belief in found.without.items() if drawn(belief, u) == found.right}
    candidates = alone or (set(found.without) if drawn(found.no_tools, u) == found.right else set())
    if not candidates:
        return "sampling_noise" if found.no_tools[found.right] >= OFTEN_RIGHT else "own_error"
    ordered = [each for each in found.without if each in candidates]
    return max(ordered, key=lambda each: _odds(found.without[each], found.right, wrong))


def chances(found: Causes, letter: str) -> dict[Mechanism, float]:
    """The probability of each cause given that this wrong letter was drawn: what can be known at best."""
    begin, end = _span(found.now, letter)
    cuts = {begin, end}
    for held in (found.no_tools, *found.without.values()):
        cuts |= {cut for cut in _span(held, found.right) if begin < cut < end}
    shares: dict[Mechanism, float] = {}
    for low, high in pairwise(sorted(cuts)):
        cause = cause_at(found, (low + high) / 2)
        shares[cause] = shares.get(cause, 0.0) + (high - low) / (end - begin)
    return shares


def _mean_belief(setup: ScenarioSetup, way: Way) -> Belief:
    ended = [(probability, setup.believed(run)) for probability, run in runs(setup, way)]
    _, first = ended[0]
    return {letter: sum(probability * belief[letter] for probability, belief in ended) for letter in first}


def _span(belief: Belief, letter: str) -> tuple[float, float]:
    """The draws that give this letter."""
    upper = dict(zip(belief, accumulate(belief.values()), strict=True))
    return upper[letter] - belief[letter], upper[letter]


def _odds(belief: Belief, right: str, wrong: str) -> float:
    tiny = 1e-300
    return math.log(max(belief[right], tiny)) - math.log(max(belief[wrong], tiny))


@dataclass(frozen=True, slots=True)
class TrialTruth:
    """One trial of a condition with tools.

    letter      its answer, in whatever form
    steps       the events of its `belief_steps`; `trajectory` is the probability of being right before each
    flip        the step at which that has fallen for good; None where it does not
    turned_at   the event since the step before that it fell at: the reply, or the first of the results
    levels      exact means, before its answer was drawn
    parts       of its score less the mean without tools, given its answer
    mechanism   why it is wrong, by its own draw; None where it is right
    chances     of each mechanism given its answer: no method can be expected to know more than this
    """

    trial: str
    model: str
    condition: str
    question: str
    score: float
    letter: str
    steps: tuple[int, ...]
    trajectory: tuple[float, ...]
    flip: int | None
    turned_at: int | None
    levels: Levels
    parts: Parts
    mechanism: Mechanism | None
    chances: Mapping[Mechanism, float]


@dataclass(frozen=True, slots=True)
class ConditionTruth:
    """A condition against no tools, over its questions: `expected` is what any number of repeats tends to, `realised`
    what its trials come to, given their answers and with nothing else left to chance."""

    model: str
    condition: str
    questions: int
    effect: float
    expected: Parts
    realised: Parts


@dataclass(frozen=True, slots=True)
class Truth:
    trials: tuple[TrialTruth, ...]
    conditions: tuple[ConditionTruth, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """Questions by the ids of their records, and what holds for all trials of one model; `setups` are those that were
    needed so far, by question and condition."""

    questions: Mapping[str, Question]
    scenarios: Scenarios
    outputs: Outputs
    setups: dict[tuple[str, str], ScenarioSetup] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Arm:
    """A condition with tools, its model, and the arms of its ladder that the store has."""

    model: SimulatedModel
    condition: Condition
    there: frozenset[ArmKind]
    traces: tuple[Trace, ...]


def truth_of(store: Store, scenarios: Path | None = None) -> Truth:
    """Of every trial of a condition with tools whose model has scenarios, but for those that infrastructure spoiled.

    `scenarios` is the file of all models where it is not where it was. Raises InputError where it cannot be read or is
    another one, and for conditions whose runs have no closed form.
    """
    questions = {question.identity(): question for question in store.questions()}
    trials: list[TrialTruth] = []
    conditions: list[ConditionTruth] = []
    for model in store.models():
        if not isinstance(model, SimulatedModel) or not model.scenarios:
            continue
        ran = _ran(store, model)
        outputs = Outputs(
            (trace, questions[trace.trial.question].id, condition) for condition, traces in ran for trace in traces
        )
        known = _Known(questions, _scenarios_of(model, scenarios), outputs)
        for arm in _arms(model, ran):
            found = [_trial(known, arm, trace) for trace in arm.traces]
            trials += found
            conditions += [_condition(known, arm, found)] if found else []
    return Truth(tuple(trials), tuple(conditions))


def exact_flip(trajectory: Sequence[float], fall: float = FALL) -> int | None:
    """The first step after a fall of at least `fall` from which the belief never comes back by half of it: the rule of
    `flip_step`, for probabilities that are known."""
    for step in range(1, len(trajectory)):
        before = trajectory[step - 1]
        if before - trajectory[step] >= fall and max(trajectory[step:]) <= before - fall / 2:
            return step
    return None


def _ran(store: Store, model: SimulatedModel) -> list[tuple[Condition, list[Trace]]]:
    by_id: dict[str, list[Trace]] = {}
    for trace in store.traces(model=model.identity()):
        if trace.scorable and trace.answer is not None:
            by_id.setdefault(trace.trial.condition, []).append(trace)
    return [(store.condition(identity), traces) for identity, traces in by_id.items()]


def _scenarios_of(model: SimulatedModel, path: Path | None) -> Scenarios:
    asked = path or Path(model.scenarios)
    if file_digest(asked, f"model {model.name!r}: scenarios") != model.scenarios_digest:
        raise InputError(
            f"{asked} is not the file of scenarios that model {model.name!r} acted out",
            hint="name the file that was there when the plan was run",
            code="other_scenarios",
        )
    return Scenarios(asked)


def _arms(model: SimulatedModel, ran: Sequence[tuple[Condition, list[Trace]]]) -> Iterator[_Arm]:
    """The conditions in which a model meets real tools."""
    there = {ladder.toolset: frozenset(ladder.arms) for ladder in ladders({each.identity(): each for each, _ in ran})}
    for condition, traces in ran:
        if has_ladder(condition):
            refuse_unknown(condition)
            kinds = there.get(condition.identity(), frozenset[ArmKind]({"none"}))
            yield _Arm(model, condition, kinds, tuple(traces))


def _setup(known: _Known, arm: _Arm, question: Question) -> ScenarioSetup:
    if question.target.kind != "choice" or len(question.target.letters) != 1:
        raise InputError(
            f"question {question.id!r} has not one right letter, so no truth can be computed", code="no_truth"
        )
    (right,) = question.target.letters
    key = (question.id, arm.condition.identity())
    if key not in known.setups:
        offers = offers_of(arm.traces[0])
        known.setups[key] = ScenarioSetup(known.scenarios.of(question), right, arm.condition, offers, known.outputs)
    return known.setups[key]


def _trial(known: _Known, arm: _Arm, trace: Trace) -> TrialTruth:
    question = known.questions[trace.trial.question]
    setup, run = _setup(known, arm, question), run_of(trace)
    said = Message(role="assistant", content=trace.answer or "")
    letter = answer_of([said], question)
    if letter is None:
        raise InputError(f"trial {trace.trial.id} has an answer that no scenario gives", code="no_truth")
    right = letter == setup.right
    score = float(right and is_in_form(said))
    found, why = levels(setup, run, trace.trial.id), causes(setup, run, trace.trial.id)
    trajectory = tuple(_believed_at(setup, trace, event) for event in belief_steps(trace.events))
    flip, steps = exact_flip(trajectory), belief_steps(trace.events)
    mechanism, likely = _cause(arm, trace, question, why, letter) if score < 1 else (None, {})
    return TrialTruth(
        trial=trace.trial.id,
        model=arm.model.name,
        condition=arm.condition.name,
        question=question.id,
        score=score,
        letter=letter,
        steps=steps,
        trajectory=trajectory,
        flip=flip,
        turned_at=None if flip is None else steps[flip - 1],
        levels=found,
        parts=parts(setup, run, found, score, float(right), arm.there),
        mechanism=mechanism,
        chances=likely,
    )


def run_of(trace: Trace) -> ScenarioRun:
    """A recorded trial as far as a belief depends on it."""
    replies = (event.reply for event in trace.events if isinstance(event, ModelCall) and event.purpose == "ask")
    limit = next((event.limit for event in trace.events if isinstance(event, Answer)), None)
    made = tuple(made for _, made in calls_of(trace))
    return ScenarioRun(sum(bool(reply.message.tool_calls) for reply in replies), made, limit)


def _cause(
    arm: _Arm, trace: Trace, question: Question, why: Causes, letter: str
) -> tuple[Mechanism, dict[Mechanism, float]]:
    """Why a trial is wrong by its own draw, and what can be known of that."""
    if letter == why.right:
        return "format", {"format": 1.0}
    u = chance(arm.model, question, arm.condition, trace.trial.repeat, "answer").random()
    return cause_at(why, u), chances(why, letter)


def _believed_at(setup: ScenarioSetup, trace: Trace, event: int) -> float:
    """The probability that an answer that is asked for before this event is right."""
    change = AnswerNow()
    start = changed_start(trace.events, event, change, setup.condition)
    specs = next(each.request.tools for each in trace.events if isinstance(each, ModelCall))
    closing = Message(role="user", content=start.closing)
    request = ModelRequest(messages=(*start.messages, closing), tools=specs, tool_choice="none")
    return belief(setup.scenario, situation(request))[setup.right]


def _condition(known: _Known, arm: _Arm, trials: Sequence[TrialTruth]) -> ConditionTruth:
    by_id = {question.id: question for question in known.questions.values()}
    asked = {trial.question: [each for each in trials if each.question == trial.question] for trial in trials}
    expected: list[tuple[float, Parts]] = []
    realised: list[tuple[float, Parts]] = []
    for name, own in asked.items():
        setup = _setup(known, arm, by_id[name])
        ways = [(p / len(asked), run, levels(setup, run)) for p, run in runs(setup, Way(arm.condition.budget))]
        expected += [(p, parts(setup, run, found, found.observed, found.re_asked, arm.there)) for p, run, found in ways]
        realised += [(1 / len(asked) / len(own), trial.parts) for trial in own]
    total = summed(expected)
    return ConditionTruth(
        model=arm.model.name,
        condition=arm.condition.name,
        questions=len(asked),
        effect=sum(total.terms.values()),
        expected=total,
        realised=summed(realised),
    )


def summed(weighted: Iterable[tuple[float, Parts]]) -> Parts:
    """The parts of several trials, each times its weight."""
    terms: dict[Term, float] = defaultdict(float)
    named: dict[DecompositionMechanism, float] = defaultdict(float)
    for weight, each in weighted:
        for term, value in each.terms.items():
            terms[term] += weight * value
        for mechanism, value in each.mechanisms.items():
            named[mechanism] += weight * value
    return Parts(dict(terms), dict(named))
