"""What differs between arms: tools, interventions, budget, and the change with which a replay goes on."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from toolablate.traces.records._base import Record, TaggedRecord


class Budget(Record):
    """What a trial may spend. When a limit is reached the model is asked once more, without tools, for its answer."""

    turns: int = Field(default=12, gt=0)
    tool_calls: int = Field(default=24, ge=0)
    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0)
    seconds: float = Field(default=600.0, gt=0)


# What a counterfactual is: a trial that goes on from an event of another one, with one thing changed.


SwapContent = Literal["null", "placebo", "gold", "adversarial", "text"]
SubstituteName = Literal["sham", "placebo", "oracle", "adversarial"]


class _Change(TaggedRecord):
    tags: ClassVar[tuple[str, ...]] = ("kind",)


class Again(_Change):
    """Nothing is changed: what follows is drawn anew."""

    kind: Literal["again"] = "again"


class Swap(_Change):
    """The result of the tool call at the event is shown as `text`, which is what the tool says where it finds nothing
    (`null`), a result of another question (`placebo`), the right answer (`gold`), a wrong one (`adversarial`), or a
    text that was given. The call is made all the same, with its effects."""

    kind: Literal["swap"] = "swap"
    content: SwapContent
    text: str


class Say(_Change):
    """A user's message is added before the model is asked."""

    kind: Literal["say"] = "say"
    text: str = Field(min_length=1)


class Drop(_Change):
    """The tool call at the event and its result are left out, as if it had not been made. Where its message called
    nothing else, the whole message is left out, and the model is asked again."""

    kind: Literal["drop"] = "drop"


class AnswerNow(_Change):
    """A probe: the model is asked at once for its answer, without tools. Calls of its that have no result yet are not
    executed."""

    kind: Literal["answer_now"] = "answer_now"


class IgnoreTools(_Change):
    """The model is asked at once to ignore its tool results, and to answer from what it knows."""

    kind: Literal["ignore_tools"] = "ignore_tools"


class Extend(_Change):
    """The budget is another one."""

    kind: Literal["extend"] = "extend"
    budget: Budget


class Repair(_Change):
    """The tool call at the event, which went wrong, is shown with `text` as a result that worked; where that is None it
    is made anew, without the interventions that had a part in it, here and in all later calls."""

    kind: Literal["repair"] = "repair"
    text: str | None = None


class ShownResult(Record):
    """The result of the tool call that is event `event` of the parent's conversation, shown as `text`."""

    event: int = Field(ge=0)
    text: str


class Rerun(_Change):
    """What follows is drawn anew, with all of this at once; with none of it this is `again`.

    substitute
              what is given, from the event on, in place of the results of the tools that `tools` names; their
              recorded results are given to nobody then
    result_chars
              what is given has at most so many characters; None: as many as the real result
    shown     results of calls before the event that the model sees otherwise from now on
    budget    another budget
    sound     tools work: the interventions that made calls of the parent fail are left out, and a call that is recorded
              as an error is made anew
    """

    kind: Literal["rerun"] = "rerun"
    substitute: SubstituteName | None = None
    tools: tuple[str, ...] = ()
    result_chars: int | None = Field(default=None, gt=0)
    shown: tuple[ShownResult, ...] = ()
    budget: Budget | None = None
    sound: bool = False


ReplayChange = Annotated[
    Again | Swap | Say | Drop | AnswerNow | IgnoreTools | Extend | Repair | Rerun, Field(discriminator="kind")
]


ReplayPurposeKind = Literal[
    "early_answer",
    "answer_re_ask",
    "ignore_tools",
    "extended",
    "repaired",
    "rollout",
    "last_reply",
    "short",
    "pivotal",
    "shapley",
]


class ReplayPurpose(Record):
    """What attribution by replay planned a replay for.

    kind      the estimate that it enters
    step      early_answer: the number of the step after which the answer is asked for
    placebos  rollout: the kinds of tools that return placebos, sorted
    event     pivotal: the call whose result is ablated
    kept      pivotal: whether the result is the recorded one
    real      shapley: the results that are the recorded ones, by their numbers, sorted
    """

    kind: ReplayPurposeKind
    step: int | None = None
    placebos: tuple[Literal["code", "search", "other"], ...] = ()
    event: int | None = None
    kept: bool = True
    real: tuple[int, ...] = ()


class Resumption(Record):
    """Where a trial was forked, with what change, and for what.

    `trial` is the id of its parent and `attempt` the parent's attempt; `repeat` is that of the trial of a plan that it
    goes back to. `event` is the index of the first event that is not taken from the record; it counts from 0 in the
    parent's whole conversation. `purposes` is empty where attribution has no use for it.
    """

    trial: str = Field(min_length=1)
    attempt: int = Field(default=1, ge=1)
    repeat: int = Field(default=0, ge=0)
    event: int = Field(ge=0)
    change: ReplayChange = Again()
    purposes: tuple[ReplayPurpose, ...] = ()


class ToolUse(Record):
    """A tool of a condition, by its registered name, with its options."""

    name: str = Field(min_length=1)
    options: dict[str, JsonValue] = Field(default_factory=dict)


class InterventionUse(Record):
    """A change made to what tools return, by its registered name, with its options."""

    name: str = Field(min_length=1)
    options: dict[str, JsonValue] = Field(default_factory=dict)


DocumentPlace = Literal["prompt", "files"]
Shown = Literal["all", "choices", "question"]


class Condition(TaggedRecord):
    """Everything that differs between arms. Conditions of equal content have equal ids, whatever they are called.

    `documents` says where the question's documents are, besides any tools that search them: whole in the `prompt`, or
    as read-only `files` in the kernel's working folder. `input_tokens` is how long the question may be, documents
    included, by estimate; what is longer is cut at its end, and the first `ModelCall` says so.

    `shown` is the part of the question that the model sees: all of it, or as a partial-input baseline its choices
    alone (Gururangan et al. 2018, arXiv:1803.02324; Balepur et al. 2024, arXiv:2402.12483) or all but its choices.

    `provider_tools` are tools that the model's provider runs by itself, within a reply, as its API writes them.
    `tool_choice` is `auto`, `none`, `required` or the name of the tool that has to be called first. `reasoning` says
    whether what the model thought between its tool calls is given back to it. `parallel_tool_calls` None leaves to the
    endpoint whether a reply may call several tools. `answer_schema` is the JSON schema that the endpoint holds replies
    to, {} for none: an object whose property `answer` is the answer. With `show_plots` a model is shown the images that
    its tools give, as the plots of a cell. `resumed` is set where its trials go on from an
    event of another trial: they are counterfactuals of that one, and no arm of any plan. `imported` is what another
    harness says of the arm, where a log of it was imported (solvers, few-shot examples, parameters); such a condition
    cannot be run.
    """

    not_identity: ClassVar[frozenset[str]] = frozenset({"name"})

    version: Literal[1] = 1
    name: str = Field(min_length=1)
    prompt: str = ""
    documents: tuple[DocumentPlace, ...] = ()
    input_tokens: int | None = Field(default=None, gt=0)
    shown: Shown = "all"
    tools: tuple[ToolUse, ...] = ()
    provider_tools: tuple[dict[str, JsonValue], ...] = ()
    tool_choice: str = Field(default="auto", min_length=1)
    parallel_tool_calls: bool | None = None
    reasoning: Literal["keep", "drop"] = "keep"
    answer_schema: dict[str, JsonValue] = Field(default_factory=dict)
    show_plots: bool = False
    budget: Budget = Budget()
    interventions: tuple[InterventionUse, ...] = ()
    resumed: Resumption | None = None
    imported: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def has_tools(self) -> bool:
        """Whether there is any tool, ours or the provider's."""
        return bool(self.tools or self.provider_tools)

    @property
    def without_tools(self) -> bool:
        """Whether it shows what a model does by itself: it has no tools, and the question is asked whole."""
        return not self.has_tools and self.shown == "all"


class ReplayDesign(TaggedRecord):
    """Which trials of conditions with tools were to be replayed, and with how many runs each.

    A random sample: drawn by the digest of `seed` and the trial's id, with inclusion probability `failures` where its
    score is below one half and `successes` where it is not. So a design that differs from an earlier one in larger
    shares alone chooses what that one did, and more. `scorer` is the one whose scores decide, "" for the run's own.

    samples     answers that are asked for at once after a step
    rollouts    runs of everything else at once
    steps       after every step, or at the ends and where a search for the fall wants to know
    precision   of a wrong trial more is run until its mechanism is as likely as this, or more would not tell
    each_result  whether results are also left out one by one

    Defaults are those of stored designs, which leave them out; the command's own are others.
    """

    version: Literal[1] = 1
    seed: int = 0
    scorer: str = ""
    failures: float = Field(default=1.0, ge=0, le=1)
    successes: float = Field(default=0.3, ge=0, le=1)
    samples: int = Field(default=2, gt=0)
    rollouts: int = Field(default=2, gt=0)
    steps: Literal["all", "search"] = "search"
    precision: float = Field(default=0.8, gt=0, lt=1)
    each_result: bool = False
