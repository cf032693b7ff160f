"""A scenario: what a simulated model believes of one question, what it does with tools, and what moves it."""

from collections.abc import Iterator
from string import ascii_uppercase
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

CallKind = Literal["code", "query", "open"]
Toolset = Literal["code", "search"]
Nats = dict[str, float]
"""By answer, what is added to its weight, in nats; answers that are not named get 0. An answer is a letter, or several
in their order ("DE")."""

TOOLSET_OF: dict[CallKind, Toolset] = {"code": "code", "query": "search", "open": "search"}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PlannedCall(_Part):
    """A call that the model makes: code to run, words to search for, or an address to open."""

    kind: CallKind
    text: str


class Turn(_Part):
    """One reply with calls. `says` are variants of what stands before them; `commits` moves the belief as soon as the
    reply is in the conversation, whatever comes back: a model that has put a question into code believes in what it
    made of it."""

    says: tuple[str, ...] = Field(default=("",), min_length=1)
    calls: tuple[PlannedCall, ...] = Field(min_length=1)
    commits: Nats = {}


class Reaction(_Part):
    """How results of one kind of call move the belief, once each however many results fit: that one `holds` the phrase
    (in whatever case), or that they `fail`: some ended in an error, and none after that worked."""

    kind: CallKind
    when: Literal["holds", "fail"] = "holds"
    phrase: str = ""
    moves: Nats

    @model_validator(mode="after")
    def _phrase_fits(self) -> Self:
        if (self.when == "holds") is not bool(self.phrase.strip()):
            raise ValueError("a reaction has a phrase that results hold, or is to results that fail and has none")
        return self


class ScenarioScript(_Part):
    """What the model does where it may call such tools: its turns, one after the other; then it answers. An answer that
    is asked for before all turns are done is drawn from the belief as it is then."""

    turns: tuple[Turn, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    called: Nats = {}
    offered: Nats = {}

    @property
    def kinds(self) -> set[CallKind]:
        """Of all calls that it speaks of."""
        made = {call.kind for turn in self.turns for call in turn.calls}
        return made | {reaction.kind for reaction in self.reactions}

    def moves(self) -> Iterator[Nats]:
        yield from (self.called, self.offered)
        yield from (turn.commits for turn in self.turns)
        yield from (reaction.moves for reaction in self.reactions)


class Scenario(_Part):
    """One question to one model.

    prior         weights of all letters before anything else, and of answers of several letters
    scripts       by what is offered; where both are, the search comes first
    prompted      what a system prompt does
    loses_format  probability that a final reply that follows tool calls names no letter; asked again, it does
    ignore_tools     share of all that tools did to the belief that is left when it is told to set that aside
    says          variants of the final reply's words, with {answer} for the letter and {text} for its option; they may
                  name a cause that is none
    reasons       the same by answer, where an answer has words of its own
    """

    question: str
    prior: Nats
    scripts: dict[Toolset, ScenarioScript] = {}
    prompted: Nats = {}
    loses_format: float = Field(default=0.0, ge=0, le=1)
    ignore_tools: float = Field(default=0.0, ge=0, le=1)
    says: tuple[str, ...] = Field(default=("The answer is {answer}.",), min_length=1)
    reasons: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = {}

    @model_validator(mode="after")
    def _letters_are_known(self) -> Self:
        known = {"".join(letter for letter in ascii_uppercase if letter in answer) for answer in self.prior}
        if len(self.prior) < 2 or known != self.prior.keys() or "" in known:
            found = ", ".join(self.prior) or "none"
            raise ValueError(f"prior: two answers or more, each a capital or several in their order; found {found}")
        if self.loses_format and any(len(answer) > 1 for answer in self.prior):
            raise ValueError("loses_format: only answers of one letter can lose their form")
        moves = (move for script in self.scripts.values() for move in script.moves())
        unknown = {answer for move in (self.prompted, *moves) for answer in move} - self.prior.keys()
        if unknown:
            raise ValueError(f"it moves {', '.join(sorted(unknown))}, which the prior has no weight for")
        if others := sorted(self.reasons.keys() - self.prior.keys()):
            raise ValueError(f"reasons: {', '.join(others)} is no answer, since the prior has no weight for it")
        return self

    @model_validator(mode="after")
    def _scripts_call_their_tools(self) -> Self:
        for toolset, script in self.scripts.items():
            others = sorted(kind for kind in script.kinds if TOOLSET_OF[kind] != toolset)
            if others:
                raise ValueError(f"scripts.{toolset}: {others[0]!r} is a call of another script")
        return self
