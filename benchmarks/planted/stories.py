"""What happens to a model that may call one kind of tools: nine ways to be wrong, and ways to be right."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolablate.benchmarks.planted import cells, pages
from toolablate.benchmarks.planted.blocks import NOTHING, Block, Nats, Writer, fails
from toolablate.benchmarks.planted.case import Case, weight_for

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
class Told:
    """The script of a toolset, as JSON has it, with the pages that it needs."""

    script: dict[str, Any]
    documents: tuple[pages.Document, ...]


def tell(case: Case, toolset: str, story: Story, prior: Nats, rng: random.Random) -> Told:
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
        block = Block(block.turns, block.reactions, (*block.documents, unread))
    script = {"turns": list(block.turns), "reactions": list(block.reactions), "offered": dict(offered)}
    return Told(script, block.documents)


def toward(prior: Nats, letter: str, rng: random.Random, least: float = 0.82, most: float = 0.94) -> dict[str, float]:
    """What brings a letter to a probability between these."""
    others = [weight for other, weight in prior.items() if other != letter]
    return {letter: round(weight_for(rng.uniform(least, most), others) - prior[letter], 3)}


def _wrong(case: Case) -> list[str]:
    return [letter for letter in case.letters if letter != case.right]


def _harmless(writer: Writer, count: int) -> Block:
    block = NOTHING
    for _ in range(count):
        block += writer.ignored() if writer.rng.random() < 0.3 else writer.harmless()
    return block


def _length(writer: Writer, block: Block) -> int:
    """How many turns a story takes within the budget: as many, whatever it is about."""
    return max(len(block.turns), writer.rng.randint(2, TURNS - 1))


def _padded(writer: Writer, block: Block) -> Block:
    """With harmless calls before and after, within the budget, or beyond it in vain."""
    room = _length(writer, block) - len(block.turns)
    before = writer.rng.randint(0, room)
    padded = _of_turns(writer, before) + block + _of_turns(writer, room - before)
    if writer.rng.random() < _IN_VAIN:
        padded += _of_turns(writer, writer.rng.randint(TURNS, TURNS + 3) - len(padded.turns))
    return padded


def _of_turns(writer: Writer, turns: int) -> Block:
    """Harmless calls in so many turns."""
    block = NOTHING
    while len(block.turns) < turns:
        block += _harmless(writer, 1)
    return _at_most(turns, block)


def _at_most(turns: int, block: Block) -> Block:
    """The last turns, so that no error is left that nothing recovers from."""
    return Block(block.turns[max(0, len(block.turns) - turns) :], block.reactions, block.documents)


def _lock_in(writer: Writer, prior: Nats) -> Block:
    """The model puts the question into code that answers another one, and believes in it twice: for having put it so,
    and for what comes out."""
    case, rng = writer.case, writer.rng
    moves = toward(prior, case.tempting, rng)
    share = rng.uniform(0.25, 0.75)
    commits = {letter: round(share * nats, 3) for letter, nats in moves.items()}
    rest = {letter: round(nats - commits[letter], 3) for letter, nats in moves.items()}
    return writer.computed(cells.stand_in(case, rng), rest, commits)


def _misleading(writer: Writer, prior: Nats) -> Block:
    return writer.seen("claim", writer.case.lure, toward(prior, writer.case.lure, writer.rng))


def _norm(writer: Writer, prior: Nats) -> Block:
    return writer.seen("existence", writer.case.lure, toward(prior, writer.case.lure, writer.rng))


def _faulty(writer: Writer, prior: Nats) -> Block:
    """Calls that tell nothing where they work. Where they fail the model loses its way."""
    case, rng = writer.case, writer.rng
    moves = toward(prior, rng.choice(_wrong(case)), rng)
    tries = rng.randint(1, 2)
    if writer.toolset == "code":
        turns = tuple(writer.turn([("code", cells.harmless(case, rng).text)]) for _ in range(tries))
        return Block(turns, (fails("code", moves),))
    if rng.random() < 0.5:
        turns = tuple(writer.turn([("query", pages.query(case, rng))]) for _ in range(tries))
        return Block(turns, (fails("query", moves),))
    found = tuple(writer.page("neutral", case.right) for _ in range(tries))
    turns = tuple(writer.turn([("open", each.url)]) for each in found)
    return Block(turns, (fails("open", moves),), found)


def _too_long(writer: Writer, prior: Nats) -> Block:
    """The model goes astray at first, and what would bring it back is beyond the budget."""
    case, rng = writer.case, writer.rng
    astray = toward(prior, rng.choice(_wrong(case)), rng)
    back = {case.right: _BEYOND, **{letter: -nats for letter, nats in astray.items()}}
    if writer.toolset == "code":
        first = Block((writer.turn([("code", cells.harmless(case, rng).text)], astray),))
        last = writer.computed(cells.general(case, rng), back)
    else:
        first = Block((writer.turn([("query", pages.query(case, rng))], astray),))
        last = writer.seen("support", case.right, back, opened_only=True)
    return first + _of_turns(writer, rng.randint(TURNS - 1, TURNS + 1)) + last


def _gain(writer: Writer, prior: Nats) -> Block:
    case, rng = writer.case, writer.rng
    moves = toward(prior, case.right, rng)
    if writer.toolset == "code":
        return writer.computed(cells.general(case, rng), moves)
    return writer.seen("support", case.right, moves)


def _fine(writer: Writer, prior: Nats) -> Block:
    """Nothing that moves for good: something ignored, a belief broken and repaired, or near the budget's end."""
    drawn = writer.rng.random()
    if drawn < 0.3:
        return writer.ignored()
    if drawn < 0.65:
        return _repaired(writer, prior)
    return _harmless(writer, 2)


def _repaired(writer: Writer, prior: Nats) -> Block:
    case, rng = writer.case, writer.rng
    if writer.toolset == "code":
        away = toward(prior, case.tempting, rng, 0.5, 0.85)
        back = {letter: -nats for letter, nats in away.items()}
        return writer.computed(cells.stand_in(case, rng), away) + writer.computed(cells.general(case, rng), back)
    away = toward(prior, case.lure, rng, 0.5, 0.85)
    back = {letter: -nats for letter, nats in away.items()}
    return writer.seen("claim", case.lure, away) + writer.seen("support", case.right, back)


_TOLD: Mapping[Story, Callable[[Writer, Nats], Block]] = {
    "lock_in": _lock_in,
    "misleading_adoption": _misleading,
    "existence_as_norm": _norm,
    "over_engineering": _norm,
    "gain": _gain,
    "fine": _fine,
}
