"""What the signals of a trace are, and a trace as the signals read it: calls, what was shown, what the model said."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from toolablate.traces.records import Limit, ModelCall, ToolCall, Trace
from toolablate.traces.thoughts import after_thoughts

Form = Literal["code", "search", "page", "other"]

_BY_NAME: dict[str, Form] = {
    "python": "code",
    "web_search": "search",
    "search": "search",
    "browser_open": "page",
    "browser_find": "page",
    "document_search": "search",
    "document_open": "page",
    "document_find": "page",
    "open": "page",
    "find": "page",
    # Those of providers.
    "code_interpreter": "code",
    "code_execution": "code",
    "bash_code_execution": "code",
    "text_editor_code_execution": "code",
    "google_search": "search",
    "google_maps": "search",
    "file_search": "search",
    "web_fetch": "page",
    "open_page": "page",
    "find_in_page": "page",
}
_BY_ARGUMENT: dict[str, Form] = {"code": "code", "query": "search", "url": "page"}


@dataclass(frozen=True, slots=True)
class CallSignal:
    """A call that was answered: event `event` of the trace. `asked` is the code, the query or the address, else the
    arguments as they were written."""

    event: int
    form: Form
    asked: str
    made: ToolCall

    @property
    def output(self) -> str:
        return self.made.output


@dataclass(frozen=True, slots=True)
class Said:
    """What a model wrote in one reply, its thoughts before the rest."""

    event: int
    text: str


@dataclass(frozen=True, slots=True)
class Steps:
    """`final` is the text of the answer without thoughts, "" where there is none; `ended` the event that holds it, None
    where the trial ended without one."""

    calls: tuple[CallSignal, ...]
    said: tuple[Said, ...]
    final: str
    ended: int | None

    @classmethod
    def of(cls, trace: Trace) -> "Steps":
        calls = tuple(_call(index, event) for index, event in enumerate(trace.events) if event.kind == "tool_call")
        said = tuple(Said(index, _text(event)) for index, event in model_calls(trace))
        ended = next(
            (index for index, event in reversed(list(enumerate(trace.events))) if event.kind == "answer"), None
        )
        return cls(calls, said, after_thoughts(trace.answer or "").strip(), ended)

    def between(self, first: int, last: int) -> tuple[int, ...]:
        """The results that came after one event and before another."""
        return tuple(call.event for call in self.calls if first < call.event < last)


def model_calls(trace: Trace) -> Iterator[tuple[int, ModelCall]]:
    """The requests that were answered, each with its index."""
    return ((index, event) for index, event in enumerate(trace.events) if event.kind == "model_call")


def _call(index: int, event: ToolCall) -> CallSignal:
    arguments = _arguments(event.call.arguments)
    by_argument: Form = next((_BY_ARGUMENT[name] for name in _BY_ARGUMENT if name in arguments), "other")
    form = _BY_NAME.get(event.call.name.rpartition(".")[2], by_argument)
    named = ("code", "query", "url", "id", "pattern", "command")
    texts = (arguments[name] for name in named if isinstance(arguments.get(name), str))
    return CallSignal(index, form, str(next(texts, event.call.arguments)), event)


def _arguments(text: str) -> dict[str, object]:
    """What a model wrote where it is a JSON object, else nothing: some send code as it is."""
    try:
        parsed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _text(event: ModelCall) -> str:
    message = event.reply.message
    return f"{message.reasoning}\n{message.content}" if message.reasoning else message.content


# What the signals of a trace are. Wherever a field is called `event` or `events`, it holds indices of the trace's
# events: the evidence.


TroubleKind = Literal[
    "exception",
    "missing_package",
    "timeout",
    "dead_kernel",
    "page_not_there",
    "search_failed",
    "nothing_found",
    "not_recorded",
    "injected",
    "cut_off",
    "infrastructure",
    "other",
]
CheckKind = Literal["bounded_loop", "grid", "random_sample", "rounding", "tolerance"]
MisstatedKind = Literal["scale", "rounding", "wording", "more", "part", "unread", "place"]
Answered = tuple[str, ...]
"""An answer in its normal form: letters, plain numbers or lower-cased texts; () for silence."""


@dataclass(frozen=True, slots=True)
class UnusedTool:
    """A tool that was offered, first in the request of `event`, and never called."""

    tool: str
    event: int


@dataclass(frozen=True, slots=True)
class CallSeen:
    """A call that was answered. `gave` tells whether it gave the model something of the tool's own to go by: it worked
    (or printed something before it raised), found something, and was not a substitute. `worked` tells whether it ended
    without an error, also as a substitute. `chars` is the length of what the model was shown. `by_provider` calls were
    made within a reply."""

    event: int
    tool: str
    form: Form
    gave: bool
    chars: int = 0
    worked: bool = True
    by_provider: bool = False


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that named no tool or had arguments that do not fit; `error` is the tool's word for it."""

    event: int
    tool: str
    error: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A call that came to nothing, or an attempt at one that infrastructure spoiled (`event` is then a Failure, and
    `tool` the name of its boundary). `recovered` is the later call of the same tool that worked, None where none did;
    of code that imports a package which the kernel lacks, the later call that gave something."""

    event: int
    tool: str
    kind: TroubleKind
    recovered: int | None


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """`stopped` is the limit that ended the trial, told by event `event`; None where none did. `used` is the share of
    each limit of the condition that was used, in [0, 1] but for what went beyond; `near` names those of which nearly
    all was used by a trial that was not stopped. `not_run` are the replies whose calls were left unanswered.
    """

    stopped: Limit | None
    event: int | None
    used: dict[str, float]
    near: tuple[str, ...]
    not_run: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """The final reply. `cut_off` tells that the endpoint broke it off at its length, `open` that a long one stops in
    the middle of a sentence, `silent` that nothing in it can be an answer in the form that is asked for; `event` is
    None where there is none."""

    event: int | None
    cut_off: bool
    open: bool
    silent: bool


@dataclass(frozen=True, slots=True)
class Misstated:
    """A final answer that is the target in another form: a number of another scale (10, 100 or a power of 1,000) or
    one that only rounding makes the same, the same words put otherwise (`wording`), `more` words than the target's with
    these among them, or a `part` of them. `unread` is the right number as it stands; a scorer may still refuse it.
    `place` is the right option, named by its place in the list."""

    event: int
    kind: MisstatedKind


@dataclass(frozen=True, slots=True)
class Leaning:
    """The answer that a reply supported, where it supported one."""

    event: int
    answer: Answered


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """A model that supported another answer than it last did; `results` are the results that it saw in between."""

    before: Leaning
    after: Leaning
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EchoRun:
    """A run of words that the final reply has in common with a result (event `event`) or, where that is None, with the
    question: from word `start` of the reply, `words` long; `text` is how it begins."""

    event: int | None
    start: int
    words: int
    text: str


@dataclass(frozen=True, slots=True)
class Echo:
    """How much of the final reply stands in results, in the question, and in results alone, each a share of its
    `words` in [0, 1]; a Chinese character counts as a word. `runs` are the longest of results, then of the question."""

    words: int
    from_tools: float
    from_question: float
    from_tools_alone: float
    by_event: dict[int, float]
    runs: tuple[EchoRun, ...]


@dataclass(frozen=True, slots=True)
class Adoption:
    """A final answer that stands in results: `event` is the first of them, `results` all, `last` tells that the last
    result of all is among them. `said_before` is the reply that supported it before `event`, None where none did;
    `in_question` that it is a number or text of the question's prompt; `others` how many other options stand in that
    result as well. `form` is that of the tool.
    """

    answer: Answered
    event: int
    form: Form
    results: tuple[int, ...]
    last: bool
    said_before: int | None
    in_question: bool
    others: int

    @property
    def is_new(self) -> bool:
        """Whether the answer can only have come from the result, as far as the trace tells."""
        return self.said_before is None and not self.in_question and self.others == 0


@dataclass(frozen=True, slots=True)
class Check:
    """A line of a cell that looks at finitely many cases, or at numbers nearly; `line` counts from 1."""

    event: int
    line: int
    kind: CheckKind
    text: str


@dataclass(frozen=True, slots=True)
class Reformulation:
    """Code that answers a finite, numeric question in place of a general one. `asks` are the question's words that ask
    in general; `score` is in [0, 1], and 0 where there are none or no checks; `symbolic` are cells that compute exactly
    as well, which halve it.
    """

    score: float
    asks: tuple[str, ...]
    checks: tuple[Check, ...]
    symbolic: tuple[int, ...]

    @property
    def events(self) -> tuple[int, ...]:
        return tuple(sorted({check.event for check in self.checks}))


@dataclass(frozen=True, slots=True)
class Repair:
    """A program (the call of `event`) that needs no other computation to be right: it only states something (`stated`),
    or the numbers of the question that it starts from are the wrong ones (`literal`)."""

    event: int
    kind: Literal["stated", "literal"]


@dataclass(frozen=True, slots=True)
class NormHint:
    """A reply that says what is possible or described, and soon after what should be: a hint and no more, that what
    exists was taken for what is right."""

    event: int
    text: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """A search for the same words, in whatever order and case, as an earlier one."""

    event: int
    earlier: int


@dataclass(frozen=True, slots=True)
class Backing:
    """What the result of `event` says of the answer: it is `claimed` to be better than others, or right, or to be
    taken; or it is `offered`: possible, to be had, described, and no more. `text` is the sentence, "" where a letter is
    announced."""

    event: int
    kind: Literal["claimed", "offered"]
    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A result that an intervention of the condition had a part in."""

    event: int
    intervention: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Searches made, pages opened, searches repeated, and results in which the answer was noticed beside the very
    question."""

    searches: tuple[int, ...]
    pages: tuple[int, ...]
    repeated: tuple[Repeated, ...]
    leaks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Effort:
    """Cells of code and their lines that say something."""

    cells: tuple[int, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class Signals:
    """All signals of one trace; `prompted` tells that the condition has words of its own. `answer` is the final answer
    as far as the small reader of these signals reads one; `names_another`, whether that is an option or a number and
    not the right one, however it is put."""

    trial: str
    prompted: bool
    unused: tuple[UnusedTool, ...]
    calls: tuple[CallSeen, ...]
    refused: tuple[RefusedCall, ...]
    troubles: tuple[Trouble, ...]
    budget: BudgetUse
    ending: Ending
    answer: Answered
    misstated: Misstated | None
    names_another: bool
    leanings: tuple[Leaning, ...]
    changes: tuple[AnswerChange, ...]
    echo: Echo
    adoption: Adoption | None
    reformulation: Reformulation
    repair: Repair | None
    norm_hints: tuple[NormHint, ...]
    backing: tuple[Backing, ...]
    reading: Reading
    interventions: tuple[Changed, ...]
    effort: Effort
