"""What a simulated model would write for a question: programs and queries, from a JSONL file or made up."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from toolablate.traces.errors import InputError
from toolablate.traces.records import Message, ModelRequest, Question, Usage

R = TypeVar("R", bound=BaseModel)


def numbered(path: Path, kind: type[R], what: str) -> Iterator[tuple[int, R]]:
    """The records with the numbers of their lines, from 1; empty lines are passed over. `what` is what users call the
    file. Raises InputError (`unreadable_WHAT`, `bad_WHAT`) that names the line and the key."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removeprefix(b"\xef\xbb\xbf").strip()
                if line:
                    yield number, kind.model_validate_json(line)
    except OSError as error:
        raise InputError(f"cannot read the {what} {path}: {error.strerror}", code=f"unreadable_{what}") from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        said = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}:{number}: {where}{': ' if where else ''}{said}", code=f"bad_{what}") from None


_NUMBER = re.compile(r"(?<![\w.])\d{1,15}(?:\.\d{1,15})?(?![\w.])")
_WORD = re.compile(r"[^\W\d_][\w-]{3,}")
_QUERY_WORDS = 8


class Program(BaseModel):
    """Code that a model would run; `faithful` where it computes what was asked and not a finite stand-in for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    faithful: bool


class Play(BaseModel):
    """One line of a playbook. `distractor` is the letter that a model believes in when it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    distractor: str | None = None
    programs: tuple[Program, ...] = ()
    queries: tuple[str, ...] = ()

    def repertoire(self, literal: bool) -> tuple[str, ...]:
        """The programs that a model tries, in order. A literal one writes stand-ins where it knows any; another writes
        nothing where no program can answer the question."""
        chosen = [program for program in self.programs if program.faithful is not literal]
        if literal and not chosen:
            chosen = list(self.programs)
        return tuple(program.code for program in chosen)


class Playbook:
    """Plays by question id. Raises InputError that names the line where a file is wrong."""

    def __init__(self, path: Path | None = None) -> None:
        self._plays: dict[str, Play] = {}
        if path is not None:
            for number, play in numbered(path, Play, "playbook"):
                if play.question in self._plays:
                    raise InputError(
                        f"{path}:{number}: question {play.question!r} is there already", code="bad_playbook"
                    )
                self._plays[play.question] = play

    def play(self, question: Question) -> Play:
        return self._plays.get(question.id) or improvised(question)


def improvised(question: Question) -> Play:
    """For a question that no playbook knows: code from its numbers, which says little, and a query from its words."""
    numbers = list(dict.fromkeys(_NUMBER.findall(question.prompt)))[:6]
    code = f"import math\nvalues = [{', '.join(numbers)}]\nprint(math.prod(values))" if numbers else ""
    words = sorted(dict.fromkeys(_WORD.findall(question.prompt)), key=len, reverse=True)[:_QUERY_WORDS]
    in_order = [word for word in dict.fromkeys(_WORD.findall(question.prompt)) if word in words]
    return Play(
        question=question.id,
        programs=(Program(code=code, faithful=False),) if code else (),
        queries=(" ".join(in_order) or question.prompt[:80],),
    )


# How many tokens a simulated model says that it read and wrote.


_CHARACTERS_PER_TOKEN = 4


def usage_of(request: ModelRequest, message: Message) -> Usage:
    def tokens(*texts: str) -> int:
        return -(-sum(map(len, texts)) // _CHARACTERS_PER_TOKEN)

    read = tokens(
        *(text for sent in request.messages for text in (sent.content, *(call.arguments for call in sent.tool_calls))),
        *(spec.to_json() for spec in request.tools),
    )
    return Usage(
        input_tokens=read, output_tokens=tokens(message.content, *(call.arguments for call in message.tool_calls)) + 1
    )
