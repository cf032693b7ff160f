"""Evidence and decompositions made by hand, and what a terminal shows of them."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from tests.analysis.attribution.stories import QUESTION, ended, read, right, searched, trace, wrong
from tests.analysis.attribution.test_simulated_decompositions import Replaying, World, trials

from toolablate.analysis.attribution.belief import Probe, Trajectory, belief_steps, flip_step, trajectory
from toolablate.analysis.attribution.decomposition import (
    Arms,
    Decomposition,
    DecompositionInputs,
    Replay,
    decompositions,
)
from toolablate.analysis.attribution.evidence import Evidence, Explained, Explanation, PivotalResult
from toolablate.analysis.attribution.report import AttributionReport
from toolablate.analysis.attribution.trace_rules import NoToolTrial
from toolablate.analysis.flips import Chance, Floor
from toolablate.analysis.shapley import ShapleyEstimate
from toolablate.reports.why.page import OTHER_TRIALS, RUN_AGAIN, why
from toolablate.reports.why.rungs import ROUNDED, THE_REST, Rung, RunLine
from toolablate.traces.records import Attribution, Event, ReplayDesign

HARMED = World(availability=-0.02, calling=-0.03, use=-0.04, search=-0.25, code=0.08, fault=0.2, format=0.2)
MISLEADING = "1. Green plants breathe nitrogen\nPlants take molecular nitrogen from the air.\nMore on the next page."
EVENTS: tuple[Event, ...] = (
    *searched("which gas do plants take", MISLEADING, "I hold it for carbon dioxide. Let me look."),
    *ended("By what I found it is molecular nitrogen.\nAnswer: B"),
)
DESIGN = ReplayDesign(failures=1.0, successes=0.3)
IDENTITY = trace(EVENTS).trial.id


def page(view: RenderableType, width: int = 80, *, markup: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=markup, color_system="truecolor" if markup else None).print(
        view, crop=False
    )
    return out.getvalue()


def decomposition(
    *, questions: int = 120, replayed: bool = True, model: str = "", condition: str = ""
) -> Decomposition:
    """Of a world in which what is found misleads."""
    some = list(trials(HARMED.kinds(), questions, Replaying(), np.random.default_rng(0)))
    if not replayed:
        some = [replace(each, inclusion_probability=0.0, replay=None) for each in some]
    (found,) = decompositions(some, resamples=500)
    return replace(found, model=model or found.model, condition=condition or found.condition)


def floor(of: Decomposition, noise: float | None = 6.0) -> Floor:
    chance = Chance(14.0, 3.0, noise, 0 if noise is None else 120, noise, 0 if noise is None else 120)
    return Floor(of.model, "none", of.condition, of.questions, chance)


def believed(rights: tuple[int, ...] = (8, 7, 0), samples: int = 8) -> Trajectory:
    probes = [Probe(step, {"A": right, "B": samples - right}, 0, right) for step, right in enumerate(rights)]
    return trajectory(probes)


def inputs(score: float = 0.0, replay: Replay | None = None, **more: Any) -> DecompositionInputs:
    return DecompositionInputs(
        *("m", "search", "q", ("question", "q"), IDENTITY, score, Arms((1.0, 1.0, 0.0, 1.0))),
        tools=frozenset({"search"}),
        inclusion_probability=1.0,
        replay=replay,
        **more,
    )


REPLAYED = Replay(
    rollouts={frozenset(): (0.0, 0.0, 0.0, 1.0), frozenset({"search"}): (1.0, 1.0, 1.0, 0.0)},
)


def evidence(events: tuple[Event, ...] = EVENTS, **more: Any) -> Evidence:
    """A trial that read a page which misleads; replayed, unless `more` says otherwise."""
    no_tools = NoToolTrial(read(*ended("Answer: A")), right().model_copy(update={"extracted": ("A",)}))
    other = NoToolTrial(read(*ended("Answer: C")), wrong().model_copy(update={"extracted": ("C",)}))
    signals = read(*events)
    found = believed()
    known: dict[str, Any] = {
        "signals": signals,
        "score": wrong().model_copy(update={"trial": signals.trial, "extracted": ("B",)}),
        "inputs": inputs(replay=REPLAYED),
        "no_tools": (no_tools, no_tools, other, no_tools),
        "steps": (0, 1, 2),
        "trajectory": found,
        "flip": flip_step(found, 0.3),
        "re_asked": (0.0,) * 8,
        "ignore_tools": (1.0,) * 7 + (0.0,),
        "pivotal": PivotalResult(1, (0.0, 0.0, 1.0, 0.0), (1.0, 1.0, 1.0, 0.0)),
        "shapley": {1: ShapleyEstimate(-0.5, 0.2)},
    }
    return Evidence("m", "search", "q", "biology", **(known | more))


UNREPLAYED: dict[str, Any] = {
    "inputs": inputs(), "trajectory": None, "flip": None, "re_asked": (), "ignore_tools": (), "pivotal": None, "shapley": {},
}  # fmt: skip


def attribution(**more: Any) -> Attribution:
    known: dict[str, Any] = {
        "trial": IDENTITY,
        "mechanism": "retrieval_distraction",
        "method": "replay",
        "confidence": 0.82,
        "distraction": "misleading_adoption",
        "turned_at": 1,
        "evidence": (1,),
        "note": "without the result it is right in 3 of 4",
    }
    return Attribution(**(known | more))


def explained(of: Evidence | None = None, **more: Any) -> Explained:
    guessed = attribution(method="trace", mechanism="lock_in", distraction=None, confidence=0.4, note="code decides")
    return Explained(of or evidence(), attribution(**more), (guessed,))


def explanation(of: Explained | None = None, **more: Any) -> Explanation:
    known: dict[str, Any] = {
        "question": QUESTION, "conversation": EVENTS, "outcome": "answered", "repeat": 0, "store": "runs/a.sqlite",
    }  # fmt: skip
    return Explanation(of or explained(), **(known | more))


def report(*found: Decomposition, **more: Any) -> AttributionReport:
    mine = found or (decomposition(),)
    known: dict[str, Any] = {
        "design": DESIGN,
        "decompositions": mine,
        "floors": tuple(map(floor, mine)),
        "explained": (explained(),),
    }
    return AttributionReport(**(known | more))


# Pages, and what stands in them.


def part(told: Explanation, title: str) -> str:
    """What it says beside the table."""
    lines = (line for each in why(told) if each.title == title for line in (*each.lines, *each.notes))
    return " ".join(getattr(line, "text", str(line)) for line in lines if not _is_lead(line))


def _is_lead(line: object) -> bool:
    return str(line).startswith((RUN_AGAIN, OTHER_TRIALS))


def rungs_of(told: Explanation) -> tuple[Rung, ...]:
    return next((each.rungs for each in why(told) if each.rungs), ())


def kinds_of_run(told: Explanation) -> list[RunLine]:
    """Of all rungs, each with its count."""
    return [RunLine(row.name, row.came or rung.came) for rung in rungs_of(told) for row in rung.rows]


_CHANCE = re.compile(
    r"([a-z][a-z' -]*?[a-z]) ((?:under |over )?\d?\.\d\d?)(?: \(before: ((?:under |over )?\d?\.\d\d?)\))?"
)


_PART = re.compile(r", \.\d+ of its \.\d+")
"""Of a probability that another line has whole."""


def chances_of(told: Explanation) -> dict[str, tuple[str, str]]:
    """By the name of a cause its probability in the table, and that before its runs."""
    # What is left is at no rung, so that its line is its name.
    left = (THE_REST, ROUNDED)
    said = (f"{rung.taken} {rung.cause}" if rung.taken in left else rung.cause for rung in rungs_of(told))
    return {name: (now, before) for each in said for name, now, before in _CHANCE.findall(_PART.sub("", each))}


def of_search(score_right: int, score_of: int) -> Replay:
    right = (1.0,) * score_right + (0.0,) * (score_of - score_right)
    return Replay(rollouts={frozenset(): (0.0,) * 4, frozenset({"search"}): right}, last_reply=(0.0,) * 4)


def told_by(events: Sequence[Event], **more: Any) -> Explanation:
    """Of a trial with these events."""
    known = {key: more.pop(key) for key in ("mechanism", "distraction", "shares", "confidence") if key in more}
    found = evidence(tuple(events), **({"steps": tuple(belief_steps(tuple(events)))} | more))
    return explanation(explained(found, **({"distraction": None} | known)), conversation=tuple(events))
