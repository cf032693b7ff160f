"""Events as pages show them: what templates make HTML of. Texts in them are foreign, and not escaped yet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from toolablate.traces.records import Artifact, Picture

Form = Literal["prose", "code", "json", "output"]
Role = Literal["system", "user", "assistant", "tool", "change", "failure", "answer", "rebuilt"]
Sign = Literal["", "error", "invalid", "failed", "missed", "changed", "noticed", "budget"]

HEAD_CHARS, TAIL_CHARS = 15_000, 5_000
"""How much is shown of both ends of a text that is longer than both."""


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A stretch of a text that is marked, from character `start` up to `end` of what is shown of it; `says` why, in
    words of ours, and `anchor` is the id by which links lead to it, "" where none does."""

    start: int
    end: int
    says: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of the middle of a long text that is shown for what stands in it: `skipped` characters are left out
    before it."""

    text: str
    skipped: int
    marks: tuple[MarkedSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A text of an event, cut in its middle where it is long: `part` names the whole of it, `chars` characters. `marks`
    are of `head`, `tail_marks` of `tail`; `pieces` of the `middle` are shown where something was looked for in it,
    and `beyond` characters after the last of them are not."""

    part: str
    form: Form
    head: str
    chars: int
    tail: str = ""
    title: str = ""
    folded: bool = False
    marks: tuple[MarkedSpan, ...] = ()
    tail_marks: tuple[MarkedSpan, ...] = ()
    whole: str = ""
    pieces: tuple[Excerpt, ...] = ()
    beyond: int = 0

    @property
    def middle(self) -> str:
        """What is left out, "" where nothing is, or where nobody has it at hand."""
        return self.whole[len(self.head) : len(self.whole) - len(self.tail)]

    @property
    def left_out(self) -> int:
        """Characters that are not shown, of those after the last piece."""
        return self.beyond if self.pieces else self.chars - len(self.head) - len(self.tail)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A rich output or a picture of a message, not looked into yet; `says` what it is, where no tool gave it."""

    part: str
    artifact: Artifact | Picture
    says: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of an event, and no model was told: `about` is foreign."""

    label: str
    about: str = ""
    tone: Literal["quiet", "odd", "failed"] = "odd"


Body = Text | Attachment | Remark


@dataclass(frozen=True, slots=True)
class Panel:
    """What one party said or gave."""

    role: Role
    title: str
    bodies: tuple[Body, ...]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One event. `number` counts from 0 in the whole conversation, as `show` has it.

    kind      as the record calls it; `title` is what an outline says of it, `sign` what was odd about it
    at, took  seconds since the trial began, None where that is not known, and how long
    notes     tokens, cost, and how it ended where that is out of the ordinary
    gist      what an outline shows beside the title: a query, an address, a line of code or of a reply
    panels    first what is new in a request, then the reply; or what a tool gave, then what interventions changed
    """

    number: int
    kind: Literal["model_call", "tool_call", "failure", "answer", "rebuilt"]
    title: str
    at: float | None
    took: float
    panels: tuple[Panel, ...]
    sign: Sign = ""
    notes: tuple[str, ...] = ()
    gist: str = ""

    @property
    def chars(self) -> int:
        """About how much of a page it takes."""
        bodies = [body for panel in self.panels for body in panel.bodies]
        texts = sum(len(body.head) + len(body.tail) for body in bodies if isinstance(body, Text))
        return texts + sum(len(body.artifact.data) for body in bodies if isinstance(body, Attachment))

    @property
    def meant_chars(self) -> int:
        """How much of it takes a reader of Markdown."""
        bodies = [body for panel in self.panels for body in panel.bodies]
        return sum(len(body.head) for body in bodies if isinstance(body, Text) and body.form == "prose")


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of one text of an event by which it is evidence; `says` what they are there, in words of ours.

    They are looked for whatever their case, blanks and marks of bold type; a `number` by its value, `words` whatever
    stands between them. Of `last` ones the last place alone counts.
    """

    part: str
    text: str
    says: str
    kind: Literal["text", "number", "words"] = "text"
    last: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """What an attribution says of one event: why it is evidence, how the belief in the right answer stands before it,
    whether it falls there, and the words that are evidence of this event or of a call that it makes."""

    evidence: tuple[str, ...] = ()
    belief: str = ""
    falls: bool = False
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Links:
    """Where a card's links lead: to an event by its number, and to the whole of a text by its event and part, "" where
    there is no such page, as in a report.

    raw     texts are shown as they were written, else as they were meant; `switch` leads to an event shown the other
            way, where there is such a page
    figure  the address of a figure by its name, without the suffix that says which kind of file it is
    """

    event: Callable[[int], str]
    whole: Callable[[int, str], str]
    raw: bool = True
    switch: Callable[[int], str] | None = None
    figure: Callable[[str], str] | None = None


def cut(text: str, part: str, form: Form, *, title: str = "", folded: bool = False) -> Text:
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return Text(part, form, text, len(text), title=title, folded=folded)
    return Text(part, form, text[:HEAD_CHARS], len(text), text[-TAIL_CHARS:], title, folded, whole=text)
