"""Parts of a script: calls of a model, and how their results move it."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolablate.benchmarks.planted import cells, pages
from toolablate.benchmarks.planted.case import Case
from toolablate.benchmarks.planted.pages import Document, PageKind
from toolablate.benchmarks.planted.wording import before_calls

Nats = Mapping[str, float]
Turn = dict[str, Any]
"""A turn of `agents.simulated.planted.scene`, as JSON has it."""

Reaction = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    turns: tuple[Turn, ...]
    reactions: tuple[Reaction, ...] = ()
    documents: tuple[Document, ...] = ()

    def __add__(self, other: "Block") -> "Block":
        return Block(self.turns + other.turns, self.reactions + other.reactions, self.documents + other.documents)


NOTHING = Block(())
_NUMBERS = {"search": range(10, 60), "code": range(60, 99)}
"""Of pages, which tell them apart within a case."""


class Writer:
    """Writes blocks for one case and toolset; the numbers of its pages tell nothing of the order in which they were
    written, since what moves is written first."""

    def __init__(self, case: Case, toolset: str, rng: random.Random) -> None:
        self.case, self.toolset, self.rng = case, toolset, rng
        self._numbers = iter(rng.sample(_NUMBERS[toolset], len(_NUMBERS[toolset])))

    def turn(self, calls: Sequence[tuple[str, str]], commits: Nats | None = None) -> Turn:
        return {
            "says": before_calls(self.case, self.toolset),
            "calls": [{"kind": kind, "text": text} for kind, text in calls],
            "commits": dict(commits or {}),
        }

    def harmless(self) -> Block:
        """One turn whose results say nothing; at times an error that the next call recovers from."""
        rng, case = self.rng, self.case
        if self.toolset == "code":
            after = ("code", cells.harmless(case, rng).text)
            if rng.random() < 0.25:
                return Block((self.turn([("code", cells.broken(case, rng).text)]), self.turn([after])))
            several = [after, ("code", cells.harmless(case, rng).text)] if rng.random() < 0.15 else [after]
            return Block((self.turn(several),))
        if rng.random() < 0.5:
            return Block((self.turn([("query", pages.query(case, rng))]),))
        neutral = self.page("neutral", case.right)
        opened = ("open", neutral.url)
        if rng.random() < 0.3:
            gone = ("open", pages.missing(case, rng))
            return Block((self.turn([gone]), self.turn([opened])), documents=(neutral,))
        return Block((self.turn([opened]),), documents=(neutral,))

    def ignored(self) -> Block:
        """What could mislead and does not: a stand-in that runs, a page that is read."""
        if self.toolset == "code":
            return Block((self.turn([("code", cells.stand_in(self.case, self.rng).text)]),))
        kind: PageKind = self.rng.choice(("claim", "existence"))
        found = self.page(kind, self.case.lure)
        return Block((self.turn([("open", found.url)]),), documents=(found,))

    def seen(self, kind: PageKind, letter: str, moves: Nats, *, opened_only: bool = False) -> Block:
        """A page that moves: found and opened, or read in the list of results alone."""
        short = not opened_only and self.rng.random() < 0.35
        found = self.page(kind, letter, short=short)
        words = ("query", pages.query(self.case, self.rng))
        opened = self.turn([words if short else ("open", found.url)])
        searched_before = not short and self.rng.random() < 0.5
        turns = (self.turn([words]), opened) if searched_before else (opened,)
        reaction = holds("query" if short else "open", found.phrase, moves)
        return Block(turns, (reaction,), (found,))

    def computed(self, shown: cells.Shown, moves: Nats, commits: Nats | None = None) -> Block:
        return Block((self.turn([("code", shown.text)], commits),), (holds("code", shown.phrase, moves),))

    def page(self, kind: PageKind, letter: str, *, short: bool = False) -> Document:
        return pages.page(self.case, kind, letter, self.rng, next(self._numbers), short=short)


def holds(kind: str, phrase: str, moves: Nats) -> Reaction:
    return {"kind": kind, "when": "holds", "phrase": phrase, "moves": dict(moves)}


def fails(kind: str, moves: Nats) -> Reaction:
    return {"kind": kind, "when": "fail", "moves": dict(moves)}
