"""Scenarios of planted failures: what happens at each turn, and what a model that fails so believes."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, get_args

from toolablate.benchmarks.planted import results
from toolablate.benchmarks.planted.cases import (
    Half,
    ScenarioCase,
    before_calls,
    final_words,
    make_case,
    templates,
    weight_for,
)
from toolablate.benchmarks.planted.results import PageKind, PlantedDocument
from toolablate.traces.records import Distraction, Question

Nats = Mapping[str, float]
Turn = dict[str, Any]
"""A turn of `agents.simulated.planted.scenario`, as JSON has it."""

Reaction = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScenarioBlock:
    turns: tuple[Turn, ...]
    reactions: tuple[Reaction, ...] = ()
    documents: tuple[PlantedDocument, ...] = ()

    def __add__(self, other: "ScenarioBlock") -> "ScenarioBlock":
        return ScenarioBlock(
            self.turns + other.turns, self.reactions + other.reactions, self.documents + other.documents
        )


NOTHING = ScenarioBlock(())
_NUMBERS = {"search": range(10, 60), "code": range(60, 99)}
"""Of pages, which tell them apart within a case."""


class Writer:
    """Writes blocks for one case and toolset; the numbers of its pages tell nothing of the order in which they were
    written, since what moves is written first."""

    def __init__(self, case: ScenarioCase, toolset: str, rng: random.Random) -> None:
        self.case, self.toolset, self.rng = case, toolset, rng
        self._numbers = iter(rng.sample(_NUMBERS[toolset], len(_NUMBERS[toolset])))

    def turn(self, calls: Sequence[tuple[str, str]], commits: Nats | None = None) -> Turn:
        return {
            "says": before_calls(self.case, self.toolset),
            "calls": [{"kind": kind, "text": text} for kind, text in calls],
            "commits": dict(commits or {}),
        }

    def harmless(self) -> ScenarioBlock:
        """One turn whose results say nothing; at times an error that the next call recovers from."""
        rng, case = self.rng, self.case
        if self.toolset == "code":
            after = ("code", results.harmless(case, rng).text)
            if rng.random() < 0.25:
                return ScenarioBlock((self.turn([("code", results.broken(case, rng).text)]), self.turn([after])))
            several = [after, ("code", results.harmless(case, rng).text)] if rng.random() < 0.15 else [after]
            return ScenarioBlock((self.turn(several),))
        if rng.random() < 0.5:
            return ScenarioBlock((self.turn([("query", results.query(case, rng))]),))
        neutral = self.page("neutral", case.right)
        opened = ("open", neutral.url)
        if rng.random() < 0.3:
            gone = ("open", results.missing(case, rng))
            return ScenarioBlock((self.turn([gone]), self.turn([opened])), documents=(neutral,))
        return ScenarioBlock((self.turn([opened]),), documents=(neutral,))

    def ignored(self) -> ScenarioBlock:
        """What could mislead and does not: a stand-in that runs, a page that is read."""
        if self.toolset == "code":
            return ScenarioBlock((self.turn([("code", results.stand_in(self.case, self.rng).text)]),))
        kind: PageKind = self.rng.choice(("claim", "existence"))
        found = self.page(kind, self.case.lure)
        return ScenarioBlock((self.turn([("open", found.url)]),), documents=(found,))

    def seen(self, kind: PageKind, letter: str, moves: Nats, *, opened_only: bool = False) -> ScenarioBlock:
        """A page that moves: found and opened, or read in the list of results alone."""
        short = not opened_only and self.rng.random() < 0.35
        found = self.page(kind, letter, short=short)
        words = ("query", results.query(self.case, self.rng))
        opened = self.turn([words if short else ("open", found.url)])
        searched_before = not short and self.rng.random() < 0.5
        turns = (self.turn([words]), opened) if searched_before else (opened,)
        reaction = holds("query" if short else "open", found.phrase, moves)
        return ScenarioBlock(turns, (reaction,), (found,))

    def computed(self, shown: results.ShownText, moves: Nats, commits: Nats | None = None) -> ScenarioBlock:
        return ScenarioBlock((self.turn([("code", shown.text)], commits),), (holds("code", shown.phrase, moves),))

    def page(self, kind: PageKind, letter: str, *, short: bool = False) -> PlantedDocument:
        return results.page(self.case, kind, letter, self.rng, next(self._numbers), short=short)


def holds(kind: str, phrase: str, moves: Nats) -> Reaction:
    return {"kind": kind, "when": "holds", "phrase": phrase, "moves": dict(moves)}


def fails(kind: str, moves: Nats) -> Reaction:
    return {"kind": kind, "when": "fail", "moves": dict(moves)}


# What happens to a model that may call one kind of tools: nine ways to be wrong, and ways to be right.


Story = Literal[
    "lock_in",
    "misleading_adoption",
    "existence_as_norm",
    "over_engineering",
    "tool_fault",
    "budget",
    "availability",
    "gain",
    "fine",
]
TURNS = 6
"""Of the budget of every condition. A script of five turns is near it; one that the budget stops has more."""

_ALSO_OFFERED = 0.1
"""How often the offer of tools moves the model too, where what they do draws it away."""

_MOVING: frozenset[Story] = frozenset(
    {"lock_in", "misleading_adoption", "existence_as_norm", "over_engineering", "tool_fault"}
)
_IN_VAIN = 0.12
"""How often a script has harmless turns beyond the budget, so that the budget ends what it has no part in."""

_BEYOND = 0.5
"""What a result beyond the budget says for the right answer, in nats, on top of what makes up for the way there."""


@dataclass(frozen=True, slots=True)
class ToolScript:
    """The script of a toolset, as JSON has it, with the pages that it needs."""

    script: dict[str, Any]
    documents: tuple[results.PlantedDocument, ...]


def tell(case: ScenarioCase, toolset: str, story: Story, prior: Nats, rng: random.Random) -> ToolScript:
    """`prior` holds the weights of all letters, of which a story moves one by as much as it needs."""
    writer = Writer(case, toolset, rng)
    offered: Nats = {}
    match story:
        case "availability":
            block = _padded(writer, NOTHING) if rng.random() < 0.5 else NOTHING
            offered = toward(prior, rng.choice(_wrong(case)), rng)
        case "budget":
            block = _too_long(writer, prior)
        case "tool_fault":
            # Nothing comes after it, for a call that works would make up for it.
            faulty = _faulty(writer, prior)
            block = _of_turns(writer, _length(writer, faulty) - len(faulty.turns)) + faulty
        case _:
            block = _padded(writer, _TOLD[story](writer, prior))
    if story in _MOVING and rng.random() < _ALSO_OFFERED:
        offered = toward(prior, rng.choice(_wrong(case)), rng, 0.25, 0.45)
    if rng.random() < 0.5:
        unread = writer.page(rng.choice(("claim", "neutral")), case.lure)
        block = ScenarioBlock(block.turns, block.reactions, (*block.documents, unread))
    script = {"turns": list(block.turns), "reactions": list(block.reactions), "offered": dict(offered)}
    return ToolScript(script, block.documents)


def toward(prior: Nats, letter: str, rng: random.Random, least: float = 0.82, most: float = 0.94) -> dict[str, float]:
    """What brings a letter to a probability between these."""
    others = [weight for other, weight in prior.items() if other != letter]
    return {letter: round(weight_for(rng.uniform(least, most), others) - prior[letter], 3)}


def _wrong(case: ScenarioCase) -> list[str]:
    return [letter for letter in case.letters if letter != case.right]


def _harmless(writer: Writer, count: int) -> ScenarioBlock:
    block = NOTHING
    for _ in range(count):
        block += writer.ignored() if writer.rng.random() < 0.3 else writer.harmless()
    return block


def _length(writer: Writer, block: ScenarioBlock) -> int:
    """How many turns a story takes within the budget: as many, whatever it is about."""
    return max(len(block.turns), writer.rng.randint(2, TURNS - 1))


def _padded(writer: Writer, block: ScenarioBlock) -> ScenarioBlock:
    """With harmless calls before and after, within the budget, or beyond it in vain."""
    room = _length(writer, block) - len(block.turns)
    before = writer.rng.randint(0, room)
    padded = _of_turns(writer, before) + block + _of_turns(writer, room - before)
    if writer.rng.random() < _IN_VAIN:
        padded += _of_turns(writer, writer.rng.randint(TURNS, TURNS + 3) - len(padded.turns))
    return padded


def _of_turns(writer: Writer, turns: int) -> ScenarioBlock:
    """Harmless calls in so many turns."""
    block = NOTHING
    while len(block.turns) < turns:
        block += _harmless(writer, 1)
    return _at_most(turns, block)


def _at_most(turns: int, block: ScenarioBlock) -> ScenarioBlock:
    """The last turns, so that no error is left that nothing recovers from."""
    return ScenarioBlock(block.turns[max(0, len(block.turns) - turns) :], block.reactions, block.documents)


def _lock_in(writer: Writer, prior: Nats) -> ScenarioBlock:
    """The model puts the question into code that answers another one, and believes in it twice: for having put it so,
    and for what comes out."""
    case, rng = writer.case, writer.rng
    moves = toward(prior, case.tempting, rng)
    share = rng.uniform(0.25, 0.75)
    commits = {letter: round(share * nats, 3) for letter, nats in moves.items()}
    rest = {letter: round(nats - commits[letter], 3) for letter, nats in moves.items()}
    return writer.computed(results.stand_in(case, rng), rest, commits)


def _misleading(writer: Writer, prior: Nats) -> ScenarioBlock:
    return writer.seen("claim", writer.case.lure, toward(prior, writer.case.lure, writer.rng))


def _norm(writer: Writer, prior: Nats) -> ScenarioBlock:
    return writer.seen("existence", writer.case.lure, toward(prior, writer.case.lure, writer.rng))


def _faulty(writer: Writer, prior: Nats) -> ScenarioBlock:
    """Calls that tell nothing where they work. Where they fail the model loses its way."""
    case, rng = writer.case, writer.rng
    moves = toward(prior, rng.choice(_wrong(case)), rng)
    tries = rng.randint(1, 2)
    if writer.toolset == "code":
        turns = tuple(writer.turn([("code", results.harmless(case, rng).text)]) for _ in range(tries))
        return ScenarioBlock(turns, (fails("code", moves),))
    if rng.random() < 0.5:
        turns = tuple(writer.turn([("query", results.query(case, rng))]) for _ in range(tries))
        return ScenarioBlock(turns, (fails("query", moves),))
    found = tuple(writer.page("neutral", case.right) for _ in range(tries))
    turns = tuple(writer.turn([("open", each.url)]) for each in found)
    return ScenarioBlock(turns, (fails("open", moves),), found)


def _too_long(writer: Writer, prior: Nats) -> ScenarioBlock:
    """The model goes astray at first, and what would bring it back is beyond the budget."""
    case, rng = writer.case, writer.rng
    astray = toward(prior, rng.choice(_wrong(case)), rng)
    back = {case.right: _BEYOND, **{letter: -nats for letter, nats in astray.items()}}
    if writer.toolset == "code":
        first = ScenarioBlock((writer.turn([("code", results.harmless(case, rng).text)], astray),))
        last = writer.computed(results.general(case, rng), back)
    else:
        first = ScenarioBlock((writer.turn([("query", results.query(case, rng))], astray),))
        last = writer.seen("support", case.right, back, opened_only=True)
    return first + _of_turns(writer, rng.randint(TURNS - 1, TURNS + 1)) + last


def _gain(writer: Writer, prior: Nats) -> ScenarioBlock:
    case, rng = writer.case, writer.rng
    moves = toward(prior, case.right, rng)
    if writer.toolset == "code":
        return writer.computed(results.general(case, rng), moves)
    return writer.seen("support", case.right, moves)


def _fine(writer: Writer, prior: Nats) -> ScenarioBlock:
    """Nothing that moves for good: something ignored, a belief broken and repaired, or near the budget's end."""
    drawn = writer.rng.random()
    if drawn < 0.3:
        return writer.ignored()
    if drawn < 0.65:
        return _repaired(writer, prior)
    return _harmless(writer, 2)


def _repaired(writer: Writer, prior: Nats) -> ScenarioBlock:
    case, rng = writer.case, writer.rng
    if writer.toolset == "code":
        away = toward(prior, case.tempting, rng, 0.5, 0.85)
        back = {letter: -nats for letter, nats in away.items()}
        return writer.computed(results.stand_in(case, rng), away) + writer.computed(results.general(case, rng), back)
    away = toward(prior, case.lure, rng, 0.5, 0.85)
    back = {letter: -nats for letter, nats in away.items()}
    return writer.seen("claim", case.lure, away) + writer.seen("support", case.right, back)


_TOLD: Mapping[Story, Callable[[Writer, Nats], ScenarioBlock]] = {
    "lock_in": _lock_in,
    "misleading_adoption": _misleading,
    "existence_as_norm": _norm,
    "over_engineering": _norm,
    "gain": _gain,
    "fine": _fine,
}


Nature = Literal["tools", "sampling_noise", "own_error", "format"]
"""What a question is about: tools move the model, it wavers without any, it is wrong without any, or it loses the form
of its answer once it has called tools."""

NATURES: Mapping[Nature, float] = {"tools": 0.58, "sampling_noise": 0.22, "own_error": 0.1, "format": 0.1}
STORIES: Mapping[str, Mapping[Story, float]] = {
    "code": {"lock_in": 0.3, "tool_fault": 0.26, "budget": 0.16, "availability": 0.12, "gain": 0.04, "fine": 0.12},
    "search": {
        "misleading_adoption": 0.22,
        "existence_as_norm": 0.12,
        "over_engineering": 0.12,
        "tool_fault": 0.22,
        "budget": 0.12,
        "availability": 0.1,
        "gain": 0.04,
        "fine": 0.06,
    },
}
_SECOND_CAUSE = 0.1
_STEPS = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)
_DISTRACTIONS: frozenset[str] = frozenset(get_args(Distraction))


@dataclass(frozen=True, slots=True)
class Planted:
    """`scenario` is a line of a scenarios file (agents.simulated.planted.scenario), as JSON has it. `nature` and
    `stories`, by toolset, say what was planted; no run reads them."""

    question: Question
    scenario: dict[str, Any]
    documents: tuple[PlantedDocument, ...]
    nature: Nature
    stories: Mapping[str, Story]

    @property
    def distraction(self) -> str:
        """How pages draw the model away, "" where they do not."""
        return self.stories["search"] if self.stories["search"] in _DISTRACTIONS else ""


def compose(half: Half, questions: int, seed: int = 0) -> tuple[Planted, ...]:
    """So many questions of the templates of one half. A longer list begins with the shorter one."""
    return tuple(_planted(half, number, seed) for number in range(questions))


def _planted(half: Half, number: int, seed: int) -> Planted:
    rng = random.Random(f"{seed} {half} {number}")  # noqa: S311 - a simulation, not a secret
    known = templates(half)
    nature, *drawn = _spread(half, number, seed)
    stories: dict[str, Story] = {
        toolset: story if nature == "tools" else "fine" for toolset, story in zip(STORIES, drawn, strict=True)
    }
    elaborate = stories["search"] in ("existence_as_norm", "over_engineering")
    case = make_case(half, rng.choice(known), number, rng, elaborate_lure=elaborate)
    prior = _prior(case, nature, "gain" in stories.values(), rng)
    told = {toolset: tell(case, toolset, story, prior, rng) for toolset, story in stories.items()}
    loses_format = rng.uniform(0.75, 0.95) if nature == "format" else 0.0
    if nature == "tools" and rng.random() < _SECOND_CAUSE:
        loses_format = rng.uniform(0.3, 0.6)
    scenario = {
        "question": case.id,
        "prior": prior,
        "scripts": {toolset: each.script for toolset, each in told.items()},
        "loses_format": round(loses_format, 3),
        "ignore_tools": round(rng.uniform(0.0, 0.25), 3),
        "says": final_words(case, tuple(stories.values()), rng),
    }
    documents = tuple(document for each in told.values() for document in each.documents)
    return Planted(case.question(), scenario, documents, nature, stories)


def _prior(case: ScenarioCase, nature: Nature, gains: bool, rng: random.Random) -> dict[str, float]:
    """Weights with which the right answer has the probability that the question's nature says."""
    wrong = {letter: round(rng.uniform(-0.7, 0.7), 3) for letter in case.letters if letter != case.right}
    if nature == "own_error":
        peak = rng.choice(sorted(wrong))
        others = [nats for letter, nats in wrong.items() if letter != peak]
        wrong[peak] = round(weight_for(rng.uniform(0.9, 0.97), [*others, 0.0]), 3)
        return dict(sorted({**wrong, case.right: 0.0}.items()))
    shares = (0.15, 0.35) if gains else (0.55, 0.75) if nature == "sampling_noise" else (0.8, 0.95)
    right = round(weight_for(rng.uniform(*shares), list(wrong.values())), 3)
    return dict(sorted({**wrong, case.right: right}.items()))


def _spread(half: Half, number: int, seed: int) -> list[Any]:
    """The nature of a question, and a story for each toolset. Few questions have their shares of each as well as many
    do: they are spread by an additive recurrence in three dimensions (Roberts 2018, "The unreasonable effectiveness of
    quasirandom sequences"), from a start of each half and seed."""
    start = random.Random(f"{seed} {half}")  # noqa: S311 - a simulation, not a secret
    dimensions: tuple[Mapping[Any, float], ...] = (NATURES, *STORIES.values())
    return [_at((start.random() + number * step) % 1, shares) for step, shares in zip(_STEPS, dimensions, strict=True)]


def _at(place: float, shares: Mapping[Any, float]) -> Any:
    """Which of the shares, laid end to end, holds this place in [0, 1)."""
    ends = accumulate(shares.values())
    return next((name for name, end in zip(shares, ends, strict=True) if place < end), list(shares)[-1])
