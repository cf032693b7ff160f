"""Wrong trials of which it is known why: chances of being right at every level, runs drawn from these, and the one draw
that made the trial wrong put to each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.analysis.attribution.stories import CONDITION, QUESTION, ended, ran, searched, trace, wrong

from toolablate.analysis.attribution.belief import Probe, belief_steps, flip_step, trajectory
from toolablate.analysis.attribution.decomposition import Arms, DecompositionInputs, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.traces.records import Event, Mechanism

PROBES = 8
ROLLOUTS = 4

CELL = ran("print(all(p(n) for n in range(40)))", "B")
FLAKY = ran("f()", "no answer", status="error", error="timeout")
PAGE = searched("gas", "1. Plants\n   They take molecular nitrogen from the air.")
REPLY = ended("Answer: B")


@dataclass(frozen=True, slots=True)
class World:
    """Chances of being right.

    believed   before each step of the trial; the last is the one that it had
    inputs      from the first thing that is taken away to the question without tools, each with what it is
    ignore_tools  told to ignore the tool results
    """

    name: str
    events: Sequence[Event]
    believed: Sequence[float]
    inputs: Mapping[str, float]
    parts: Mapping[str, Mechanism] = field(default_factory=dict)
    kind: ToolKind | None = None
    ignore_tools: float = 0.9


def worlds(high: float, low: float) -> list[World]:
    """One for each mechanism, with chances of being right without its cause and with it."""
    top, bottom = [high, high, low], dict.fromkeys(("extended", "repaired", "again", "swapped", "sham"), low)
    free = dict.fromkeys(("offered", "none"), high)
    return [
        World("search", [*PAGE, *REPLY], top, {**bottom, "swapped": high, "sham": high, **free}, {"swapped": "retrieval_distraction"}, "search"),
        World("code", [*CELL, *REPLY], top, {**bottom, "swapped": high, "sham": high, **free}, {"swapped": "lock_in"}, "code", high),
        World("commits", [*CELL, *REPLY], [high, low, low], {**bottom, **free}, {"offered": "lock_in"}, "code", high),
        World("calling", [*PAGE, *REPLY], [high, low, low], {**bottom, **free}, {"offered": "calling"}, "search", low),
        World("fault", [*FLAKY, *REPLY], top, {**dict.fromkeys(bottom, high), "extended": low, **free}, {"repaired": "tool_fault"}, "code"),
        World("budget", [*PAGE, *ended("Answer: B", "turns")], [low, low, low], {**dict.fromkeys(bottom, high), **free}, {"extended": "budget"}, "search"),
        World("availability", REPLY, [low], {"again": low, "offered": low, "none": high}, {"none": "availability"}),
    ]  # fmt: skip


def steady(chance: float, kind: ToolKind | None) -> World:
    """One in which nothing has any effect."""
    events = {"search": [*PAGE, *REPLY], "code": [*CELL, *REPLY]}.get(kind or "", REPLY)
    names = ("again", "swapped", "sham", "offered", "none")
    return World("steady", events, [chance] * (3 if kind else 1), dict.fromkeys(names, chance), {}, kind, chance)


def truth(world: World, draw: float) -> Mechanism:
    """What has to be taken away for the draw to be right."""
    for name, chance in world.inputs.items():
        if draw <= chance:
            return world.parts.get(name, "sampling_noise")
    return "sampling_noise" if world.inputs["none"] >= 0.5 else "own_error"


def evidence(world: World, rng: np.random.Generator, *, repeats: int = 3) -> Evidence:
    """With so many trials of each arm."""
    chances = world.inputs

    def drawn(chance: float, runs: int) -> Scores:
        return tuple(rng.binomial(1, chance, runs).astype(float).tolist())

    told = trace(world.events)
    signals = signals_of(told, QUESTION, CONDITION.model_copy(update={"prompt": ""}))
    found = trajectory(_probe(step, drawn(chance, PROBES)) for step, chance in enumerate(world.believed))
    extended = drawn(chances["extended"], ROLLOUTS) if signals.budget.stopped else (0.0,)
    tools: frozenset[ToolKind] = frozenset({world.kind}) if world.kind else frozenset()
    rollouts = {frozenset[ToolKind](): drawn(chances["again"], ROLLOUTS)}
    if tools:
        rollouts[tools] = drawn(chances["swapped"], ROLLOUTS)
    replay = Replay(
        extended=extended,
        repaired=drawn(chances["repaired"], ROLLOUTS) if signals.troubles else extended,
        rollouts=rollouts,
        short=drawn(chances["short"], ROLLOUTS) if "short" in chances else None,
    )
    none = drawn(chances["none"], repeats)
    sham = chances.get("sham", chances["offered"])
    arms = Arms(none, none, drawn(chances["offered"], repeats), drawn(sham, repeats), drawn(sham, repeats))
    return Evidence(
        *("m", "T", "q", "", wrong()),
        DecompositionInputs("m", "T", "q", ("question", "q"), told.trial.id, 0.0, arms, tools, 0.0, 1.0, replay),
        signals,
        steps=belief_steps(told.events),
        trajectory=found,
        flip=flip_step(found, 0.3, resamples=20),
        ignore_tools=drawn(world.ignore_tools, PROBES) if tools else (),
    )


def _probe(step: int, scores: Scores) -> Probe:
    good = int(sum(scores))
    return Probe(step, {"A": good, "B": len(scores) - good}, 0, good)
