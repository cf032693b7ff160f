"""What a stage is: what it makes of an item depends on the item's content, its settings and replies alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from toolablate.benchmarks.judging.answers import Ask
from toolablate.traces.records import digest_json

Role = Literal["writer", "checker", "reader"]
"""Who is asked: the `writer` assesses and converts, the `checker` filters and compares, the `reader` sees pictures of
pages."""

Content = Mapping[str, Any]
"""What an item is by now, as JSON."""

ABOUT = frozenset(
    ("url", "forum", "licence", "discipline", "field", "subfield", "page", "boxes", "section", "names", "maybe_names")
)
"""Where an item is from and by whom, under which terms, on what subject: no part of what models and people work on.
Where that alone is corrected, an item stays the one that was paid for and decided on."""


def worked_on(content: Content) -> Content:
    return {key: value for key, value in content.items() if key not in ABOUT}


PARTS = "parts"
"""What a stage that takes items apart makes of one: under this key, the contents of those that go on."""


def going_on(item: str, content: Content) -> Iterator[tuple[str, Content]]:
    """What of a kept item goes on to the next stage, by id: itself, or its parts, whose ids are those of rows of
    statements with this text and book."""
    if PARTS not in content:
        yield item, content
    for part in content.get(PARTS, ()):
        yield digest_json({"text": part["text"], "book": part["book"]}), part


ID_DIGITS = 16
"""Of an item's id, where it is printed and published."""


def beginning(content: Content) -> str:
    """The text by which a person knows an item."""
    keys = ("title", "question", "text", "url", "book")
    return next((content[key] for key in keys if content.get(key, "").strip()), "")


def explained(content: Content) -> str:
    """The answer of a question with its explanation, if any."""
    return "\n\n".join(filter(None, (content["answer"], content["explanation"])))


@dataclass(frozen=True, slots=True)
class Kept:
    content: Content


@dataclass(frozen=True, slots=True)
class Dropped:
    """`reason` is one of few, and counted; `note` is what a model or a person said of this item. `repeats` is the
    earlier item in whose favour it was dropped, if any."""

    reason: str
    note: str = ""
    repeats: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """For people, or for a reply that can be read. The item is neither lost nor published. `note` is what was wrong
    with the last reply, as the model was told."""

    reason: str
    note: str = ""


Outcome = Kept | Dropped | Waiting
UNREAD = "reply unread"
"""Why an item waits none of whose replies can be used."""
REFUSED = "request refused"
"""Why one waits whose request the endpoint would take at no time, while it takes others."""
NOT_ASKED = "not asked for"
"""Why one waits whose model could not be asked."""


FullText = Annotated[str, Field(pattern=r"\S")]
"""Not blank."""


class NoContext:
    """A stage whose outcome depends on its own item alone."""

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        return {}


class Stage(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int:
        """Counted up when what the stage makes of the same content changes."""
        ...

    @property
    def role(self) -> Role | None:
        """None where no model is asked."""
        ...

    def settings(self) -> Mapping[str, Any]:
        """What of the pipeline changes its outcomes: with other settings it is done anew."""
        ...

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        """By item, what of the other items (or of people) it depends on; items without are left out."""
        ...

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        """Raises ToolablateError where a model cannot be asked: the item stays where it is; StaysUnreadError where none
        of its replies can be used."""
        ...
