"""Conditions: built in, written in a plan, built in Python, and the ladders of toolsets."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BeforeValidator, Field, JsonValue, StrictBool, ValidationError, field_validator

from toolablate.experiments.plans.sections import Section
from toolablate.tools import FunctionIntervention, FunctionTool, of_agent, resources_needed, tool_names
from toolablate.tools.text import one_line
from toolablate.tools.user_code import is_importable, load_own, refuse_claim, registered
from toolablate.traces.errors import InputError
from toolablate.traces.plugins import is_not
from toolablate.traces.records import Budget, Condition, DocumentPlace, InterventionUse, Shown, ToolUse
from toolablate.traces.validation import explain

SCAFFOLD = (
    "You are answering one question. Work step by step. If tools are available you may call them, several times if"
    " need be; whether a tool helps with this question is for you to judge. When you are done, give your final answer"
    " in the form that the question asks for."
)


def scaffolded(name: str, *tools: str) -> Condition:
    """A condition with the built-in prompt, and tools without options."""
    return Condition(name=name, prompt=SCAFFOLD, tools=tuple(ToolUse(name=tool) for tool in tools))


BUILT_IN: dict[str, Condition] = {
    condition.name: condition
    for condition in (
        Condition(name="none"),
        scaffolded("scaffold"),
        scaffolded("python", "python"),
        scaffolded("search", "search"),
        scaffolded("all", "all"),
        scaffolded("documents", "documents"),
        Condition(name="choices-only", shown="choices"),
        Condition(name="question-only", shown="question"),
    )
}


# The ladder of a toolset: from nothing to the real tools, one factor at a time.


Arm = Literal["offered", "sham", "placebo", "oracle", "adversarial"]

ARMS: tuple[Arm, ...] = get_args(Arm)
"""The arms that are made from a toolset, in the order of the ladder; the real one stands after `placebo`."""

UNPROMPTED = "unprompted"
_PARTIAL: tuple[Arm, ...] = ("offered", "sham", "placebo")
_BOUNDS: tuple[Arm, ...] = ("oracle", "adversarial")
_UNCALLED = frozenset({"sham", "oracle", "adversarial"})
SUBSTITUTES = _UNCALLED | {"placebo"}

SUFFIXES = (*ARMS, "scaffold", UNPROMPTED, *(f"{arm}-{UNPROMPTED}" for arm in _PARTIAL))
"""What may stand behind the name of a toolset and a colon."""


def ladder_of(condition: Condition, arms: Sequence[Arm] = ARMS, *, shapley: bool = False) -> tuple[Condition, ...]:
    """The arms of a condition T with tools, in their order: `none`, `scaffold`, of the others those that `arms` names,
    and T itself; with `shapley` then those without T's prompt, which show what the prompt does in any other place.

    Without a prompt there is no `scaffold`; it is called `T:scaffold` where the prompt is T's own. Raises InputError
    where T cannot have a ladder.
    """
    _refuse(condition, shapley)
    nothing = Condition(name="none", budget=condition.budget)
    # Documents in the prompt are a part of it: what tools add is told from what reading them adds.
    shown = tuple(place for place in condition.documents if place == "prompt")
    prompt, own = condition.prompt, condition.prompt != SCAFFOLD or shown or condition.input_tokens
    scaffold = nothing.model_copy(
        update={
            "name": f"{condition.name}:scaffold" if own else "scaffold",
            "prompt": prompt,
            "documents": shown,
            "input_tokens": condition.input_tokens,
        }
    )
    partial = [_arm(condition, arm) for arm in _PARTIAL if arm in arms]
    bounds = [_arm(condition, arm) for arm in _BOUNDS if arm in arms]
    unprompted = [_unprompted(condition, each) for each in (*partial, condition)] if shapley else []
    return (nothing, *([scaffold] if prompt or shown else []), *partial, condition, *bounds, *unprompted)


def starts_kernel(condition: Condition) -> bool:
    """Whether a trial may come to run code: not where its calls are barred, or all answered by a substitute."""
    answered = any(use.name in _UNCALLED and not use.options for use in condition.interventions)
    return condition.tool_choice != "none" and not answered and "sandbox" in resources_needed(condition.tools)


def _arm(condition: Condition, arm: Arm) -> Condition:
    name = f"{condition.name}:{arm}"
    if arm == "offered":
        return condition.model_copy(update={"name": name, "tool_choice": "none"})
    # Nearest to the tool, so that what the condition does to a tool's results it does to these as well.
    interventions = (InterventionUse(name=arm), *condition.interventions)
    return condition.model_copy(update={"name": name, "interventions": interventions})


def _unprompted(condition: Condition, arm: Condition) -> Condition:
    name = f"{arm.name}:{UNPROMPTED}" if arm is condition else f"{arm.name}-{UNPROMPTED}"
    return arm.model_copy(update={"name": name, "prompt": ""})


def _refuse(condition: Condition, shapley: bool) -> None:
    standing_in = [use.name for use in condition.interventions if use.name in SUBSTITUTES]
    if condition.provider_tools:
        wrong = "has provider_tools, whose results nobody else can substitute: they come within a reply"
        hint = f"compare {condition.name!r} as it is with 'none', 'scaffold' and a condition with tools of ours"
    elif not condition.tools:
        wrong, hint = "has no tools", "a ladder is that of a toolset, such as 'python' or 'search'"
    elif condition.tool_choice == "none":
        wrong, hint = "bars its tools by tool_choice = 'none'", _whole(condition)
    elif standing_in:
        wrong, hint = f"has the intervention {standing_in[0]!r}", _whole(condition)
    elif shapley and not condition.prompt:
        wrong, hint = "has no prompt, whose place `shapley` would change", "give it a prompt, or leave shapley out"
    else:
        return
    raise InputError(f"ladder: {condition.name!r} {wrong}", hint=hint, code="no_ladder")


def _whole(condition: Condition) -> str:
    """What to write in place of an arm."""
    stem, _, suffix = condition.name.rpartition(":")
    there = "the ladder has an arm that does so"
    return f"{there}: name {stem!r}" if stem and suffix in SUFFIXES else f"{there}: leave it out"


# Conditions of the user's own, by the name that a module or a package gives them.


def own_condition(name: str) -> Condition:
    """By the name that a package registered, or `package.module:attribute`: a condition, a function without arguments
    that gives one, or a tool, which then has the built-in prompt. Raises InputError."""
    found = load_own(name, "conditions")
    if isinstance(found, FunctionTool) and name not in registered("conditions"):
        return scaffolded(name, name)
    if callable(found) and not isinstance(found, type | FunctionTool):
        try:
            found = found()
        except InputError:
            raise
        except Exception as error:
            told = one_line(f"{type(error).__name__}: {error}", 200)
            raise InputError(f"conditions: {name!r} gives no condition: {told}", code="bad_condition") from error
    if not isinstance(found, Condition):
        raise InputError(
            f"conditions: {one_line(name, 80)!r} {is_not('condition', found)}",
            hint="make it by toolablate.experiments.condition(name, ...), or name a function that gives one",
            code="bad_condition",
        )
    return found


# What is said of a name that stands for no condition.


_SHOWN_CHARS = 80


def unknown_condition(name: str, others: Sequence[str] = ()) -> InputError:
    """`others` are names that may have been meant, besides those of conditions, tools and toolsets."""
    there_are = (*BUILT_IN, *sorted(registered("conditions")))
    return InputError(
        f"conditions: there is no built-in condition {one_line(name, _SHOWN_CHARS)!r}",
        hint=f"{_meant(name, [*there_are, *tool_names(), *others])}built in are: {', '.join(there_are)}; an arm of a"
        " ladder is python:sham, with any tool or toolset before the colon; a condition of your own is a table with"
        ' its tools, prompt or documents (a table with other keys alone needs a base = "none" or the like), or'
        " module:name",
        code="unknown_condition",
    )


def no_arm(stem: str, suffix: str, arms: Sequence[str]) -> InputError:
    """`arms` are the names of those that the ladder has."""
    return InputError(
        f"conditions: the ladder of {one_line(stem, _SHOWN_CHARS)!r} has no arm {one_line(suffix, _SHOWN_CHARS)!r}",
        hint=f"{_meant(f'{stem}:{suffix}', arms)}its arms: {', '.join(arms)}",
        code="unknown_condition",
    )


def _meant(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:_SHOWN_CHARS], known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""


# Conditions by the names that a plan can use for them.


def named_condition(name: str) -> Condition:
    """Raises InputError for a name that stands for no condition."""
    found = _built_in(name) or _own(name) or well_known(name)
    if found is None and all(name.partition(":")):
        refuse_mistyped_arm(name)
        found = own_condition(name)
    if found is None:
        raise unknown_condition(name)
    return found


def well_known(name: str) -> Condition | None:
    """The condition of a name that is known without looking into a module of the user's own."""
    start = _toolset(name)
    stem, _, suffix = name.rpartition(":")
    if start is None and suffix in SUFFIXES and (start := _toolset(stem)):
        return _member(name, start)
    return start


def _built_in(name: str) -> Condition | None:
    """Raises InputError where a package registers another one by this name."""
    if name in BUILT_IN:
        refuse_claim(name, "conditions")
    return BUILT_IN.get(name)


def _toolset(name: str) -> Condition | None:
    """What is no arm of another condition."""
    if found := _built_in(name):
        return found
    server = name.removeprefix("mcp:").partition("/")[0]
    if of_agent(name) is not None and ":" not in name:
        # An agent has a prompt of its own.
        return Condition(name=name, tools=(ToolUse(name=name),))
    of_server = name.startswith("mcp:") and server and ":" not in server
    return scaffolded(name, name) if of_server or name in tool_names() else None


def _own(name: str) -> Condition | None:
    """One that a package registers, or an arm of what is the user's own."""
    if name in registered("conditions"):
        return own_condition(name)
    stem, _, suffix = name.rpartition(":")
    if suffix not in SUFFIXES or _built_in(stem):
        return None
    is_own = stem in registered("conditions") or (well_known(stem) is None and stem.count(":") == 1)
    return _member(name, own_condition(stem)) if is_own else None


def _member(name: str, start: Condition) -> Condition:
    stem, _, suffix = name.rpartition(":")
    members = {member.name: member for member in ladder_of(start, ARMS, shapley=bool(start.prompt))}
    wanted = members.get(f"{start.name}:{suffix}")
    if wanted is None:
        raise no_arm(stem, suffix, list(members))
    return wanted


def refuse_mistyped_arm(name: str) -> None:
    """Raises InputError for what was meant as an arm of a ladder, where no module of the user's own can be meant."""
    stem, _, suffix = name.rpartition(":")
    if stem.count(":") == 0 and is_importable(stem):
        return
    if start := well_known(stem):
        raise no_arm(stem, suffix, [arm.name for arm in ladder_of(start, ARMS, shapley=bool(start.prompt))])
    if suffix in SUFFIXES:
        raise unknown_condition(name, [f"{known}:{suffix}" for known in tool_names()])


# A condition as a plan writes it, and what it stands for.


def named(value: object) -> object:
    """A name alone is short for a table with nothing but the name."""
    return {"name": value} if isinstance(value, str) else value


def _listed(value: object) -> object:
    """One place of documents is short for a list of it."""
    return [value] if isinstance(value, str) else value


class ConditionEntry(Section):
    """A condition in a plan: the name of one that there is, or a table.

    `base` names the condition that it starts from; what else is given replaces that part. A table that bears the name
    of a condition that there is, and no tools of its own, starts from that one; where it has a prompt or documents of
    its own, only from what toolablate itself knows by the name.
    """

    name: str = Field(min_length=1)
    base: str | None = None
    prompt: str | None = None
    documents: Annotated[tuple[DocumentPlace, ...], BeforeValidator(_listed)] | None = None
    input_tokens: int | None = Field(default=None, gt=0)
    shown: Shown | None = None
    tools: tuple[Annotated[ToolUse, BeforeValidator(named)], ...] | None = None
    provider_tools: tuple[dict[str, JsonValue], ...] | None = None
    tool_choice: str | None = Field(default=None, min_length=1)
    parallel_tool_calls: bool | None = None
    reasoning: Literal["keep", "drop"] | None = None
    answer_schema: dict[str, JsonValue] | None = None
    show_plots: StrictBool | None = None
    interventions: tuple[Annotated[InterventionUse, BeforeValidator(named)], ...] | None = None
    budget: Budget | None = None

    @field_validator("provider_tools")
    @classmethod
    def _each_is_named(cls, tools: tuple[dict[str, JsonValue], ...] | None) -> tuple[dict[str, JsonValue], ...] | None:
        for tool in tools or ():
            of_gemini = len(tool) == 1 and all(isinstance(options, dict) for options in tool.values())
            if not (of_gemini or (isinstance(tool.get("type"), str) and tool["type"])):
                raise ValueError(
                    'provider_tools: each is a table as the API writes it, { type = "web_search" } of OpenAI and'
                    " Anthropic or { google_search = {} } of Gemini"
                )
            if tool.get("type") in ("function", "custom"):
                raise ValueError("provider_tools: a function is run by whoever asks; it belongs into `tools`")
        return tools

    @field_validator("answer_schema")
    @classmethod
    def _schema_has_an_answer(cls, schema: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        properties = (schema or {}).get("properties")
        if schema and not (schema.get("type") == "object" and isinstance(properties, dict) and "answer" in properties):
            raise ValueError(
                "answer_schema: should be the JSON schema of an object with a property `answer`, which is scored, as in"
                ' { type = "object", properties = { answer = { type = "string" } }, required = ["answer"] }'
            )
        return schema

    def resolve(self, default_budget: Budget) -> Condition:
        """The condition in full; what no one says of its budget is the default's. Raises InputError."""
        if self.base is not None:
            return self.applied_to(named_condition(self.base), self.name, default_budget)
        start = self._start()
        return self.applied_to(start, start.name, default_budget)

    def applied_to(self, start: Condition, name: str, default_budget: Budget) -> Condition:
        """`start` with what the table replaces, under another name."""
        changes = self.model_dump(
            include={
                *("prompt", "documents", "input_tokens", "tools", "tool_choice", "parallel_tool_calls", "reasoning"),
                *("shown", "answer_schema", "show_plots", "interventions", "provider_tools"),
            },
            exclude_none=True,
        )
        said = (default_budget, start.budget, self.budget or Budget())
        budget = {key: value for each in said for key, value in each.model_dump(exclude_unset=True).items()}
        return Condition.model_validate({**start.model_dump(), **changes, "name": name, "budget": budget})

    def _start(self) -> Condition:
        blank = Condition(name=self.name)
        if self.tools is not None or self.provider_tools is not None:
            return blank
        # Each of these alone makes a condition; budgets and the like are changes of one that there is.
        own = any(each is not None for each in (self.prompt, self.documents, self.shown))
        return (well_known(self.name) or blank) if own else named_condition(self.name)


E = TypeVar("E", bound=ConditionEntry)


def of_agents(entry: E) -> E:
    """The entry of a plan whose models are agents: what it calls a tool is a tool of theirs. A name with a colon and
    the toolsets of toolablate are left, to be refused by their names."""
    if not entry.tools:
        return entry
    tools = tuple(
        use
        if ":" in use.name or of_agent(use.name) is not None
        else use.model_copy(update={"name": f"agent/{use.name}"})
        for use in entry.tools
    )
    return entry.model_copy(update={"tools": tools})


class LadderEntry(ConditionEntry):
    """A toolset whose ladder is run: its name, or the table of a condition with tools.

    `arms` names those that are wanted; `none`, `scaffold` and the real tools are always there. `shapley` adds the arms
    without the prompt, from which `toolablate compare --ladder` tells what the order of the contrasts does.
    """

    arms: tuple[Arm, ...] = ARMS
    shapley: StrictBool = False

    def expand(self, default_budget: Budget) -> tuple[Condition, ...]:
        """Its arms. Raises InputError as `resolve` does, and where it can have none."""
        try:
            toolset = self.resolve(default_budget)
        except InputError as error:
            raise InputError(_about_ladder(error.message), hint=error.hint, code=error.code) from error
        return ladder_of(toolset, self.arms, shapley=self.shapley)


def _about_ladder(message: str) -> str:
    """What is wrong with a condition that stands under another key."""
    about = "conditions: "
    return f"ladder: {message.removeprefix(about)}" if message.startswith(about) else message


# From what a plan writes to the conditions that it runs, each once.


def expanded(ladder: Sequence[LadderEntry], entries: Sequence[ConditionEntry], budget: Budget) -> tuple[Condition, ...]:
    """The arms of all ladders, in their order, then the other conditions.

    An arm that is there already is not run twice. Raises InputError for two conditions of one name, for one under two
    names, and for interventions without tools.
    """
    taken: dict[str, Condition] = {}
    for toolset in ladder:
        for arm in toolset.expand(budget):
            # What has no tools is no toolset's own, whichever of them gave it its name.
            if arm.has_tools or arm.identity() not in taken:
                _take(arm, taken)
    for entry in entries:
        _take(entry.resolve(budget), taken)
    return tuple(taken.values())


def _take(condition: Condition, taken: dict[str, Condition]) -> None:
    substitute = next((use.name for use in condition.interventions if use.name in SUBSTITUTES), None)
    if condition.provider_tools and (substitute or (condition.interventions and not condition.tools)):
        raise InputError(
            f"conditions: {one_line(condition.name, 80)!r} has provider_tools, and no intervention"
            f" ({substitute or condition.interventions[0].name}) can change what they return: they run within a reply",
            hint="leave the interventions out, or give them to a condition with tools of ours alone",
            code="provider_tools",
        )
    if condition.provider_tools and condition.reasoning == "drop":
        raise InputError(
            f'conditions: {one_line(condition.name, 80)!r} has provider_tools and reasoning = "drop", which would'
            " take their calls out of the conversation as well",
            hint="leave one of them out",
            code="provider_tools",
        )
    if condition.interventions and not condition.tools:
        raise InputError(
            f"conditions: {one_line(condition.name, 80)!r} has interventions and no tools whose results they change",
            hint="give it tools, or leave the interventions to the conditions that have some",
            code="no_tools",
        )
    if condition.shown != "all" and condition.has_tools:
        raise InputError(
            f"conditions: {one_line(condition.name, 80)!r} has shown = {condition.shown!r} and tools, which no other"
            " condition could be compared with",
            hint="leave one of them out: what a part of the question gives away is measured without tools",
            code="partial_input",
        )
    if condition.shown == "choices" and condition.documents:
        raise InputError(
            f'conditions: {one_line(condition.name, 80)!r} has shown = "choices" and documents, which belong to the'
            " question",
            hint="leave the documents out",
            code="partial_input",
        )
    if condition.show_plots and not condition.tools:
        raise InputError(
            f"conditions: {one_line(condition.name, 80)!r} has show_plots and no tools that could give an image",
            hint='give it tools: tools = ["python"], or leave show_plots to the conditions that have some',
            code="no_tools",
        )
    if "files" in condition.documents and "sandbox" not in resources_needed(condition.tools):
        raise InputError(
            f"conditions: {one_line(condition.name, 80)!r} has documents as files and no tool that runs code",
            hint='add the tool: tools = ["python"]; or documents = "prompt", or tools = ["documents"]',
            code="no_tools",
        )
    other = taken.setdefault(condition.identity(), condition)
    if other.name != condition.name:
        raise InputError(
            f"conditions: {one_line(other.name, 80)!r} and {one_line(condition.name, 80)!r} are the same condition"
            " under two names",
            hint="raise `repeats` to run a condition again",
            code="same_condition",
        )
    alike = next((each for each in taken.values() if each.name == condition.name and each is not other), None)
    if alike is not None:
        differing = ", ".join(key for key, value in other if value != getattr(alike, key))
        raise InputError(
            f"conditions: the name {one_line(condition.name, 80)!r} is used for two conditions that differ in"
            f" {differing}",
            hint="names must be distinct; toolsets whose ladders share `none` and `scaffold` need the same budget,"
            " which [budget] gives to all",
            code="same_name",
        )


def default_baseline(conditions: Sequence[Condition]) -> str:
    """The name of the first that asks the whole question; of the first, where none does."""
    return next((each.name for each in conditions if each.shown == "all"), conditions[0].name)


# Conditions built in Python, as a plan's tables are.


def condition(
    name: str,
    *,
    base: str | Condition | None = None,
    prompt: str | None = None,
    documents: DocumentPlace | Sequence[DocumentPlace] | None = None,
    input_tokens: int | None = None,
    shown: Shown | None = None,
    tools: Sequence[str | ToolUse | FunctionTool[..., Any] | Mapping[str, Any]] | None = None,
    provider_tools: Sequence[Mapping[str, Any]] | None = None,
    tool_choice: str | None = None,
    parallel_tool_calls: bool | None = None,
    reasoning: Literal["keep", "drop"] | None = None,
    answer_schema: Mapping[str, Any] | None = None,
    show_plots: bool | None = None,
    interventions: Sequence[str | InterventionUse | FunctionIntervention[..., Any] | Mapping[str, Any]] | None = None,
    budget: Budget | Mapping[str, Any] | None = None,
) -> Condition:
    """A condition like the table of a plan with these keys: it has the same id.

    A tool or an intervention is a name, a `ToolUse` or an `InterventionUse`, a mapping with `name` and `options`, or a
    function decorated with `@tool` or `@intervention`; `base` may be a condition. What `budget` leaves out is said by
    the plan that uses the condition. Raises InputError.
    """
    table = {
        "name": name,
        "prompt": prompt,
        "documents": documents,
        "input_tokens": input_tokens,
        "shown": shown,
        "tools": _uses(tools),
        "provider_tools": _uses(provider_tools),
        "tool_choice": tool_choice,
        "parallel_tool_calls": parallel_tool_calls,
        "reasoning": reasoning,
        "answer_schema": answer_schema,
        "show_plots": show_plots,
        "interventions": _uses(interventions),
        "budget": dict(budget) if isinstance(budget, Mapping) else budget,
    }
    try:
        entry = ConditionEntry.model_validate({key: value for key, value in table.items() if value is not None})
    except ValidationError as error:
        raise InputError(f"condition {name!r}: {explain(error, ConditionEntry)}", code="bad_condition") from None
    if base is None:
        return entry.resolve(Budget())
    if not isinstance(base, str | Condition):
        raise InputError(
            f"condition {name!r}: base: neither a name nor a condition, but {base!r}", code="bad_condition"
        )
    start = base if isinstance(base, Condition) else named_condition(base)
    return entry.applied_to(start, name, Budget())


def _uses(given: object) -> object:
    """What is no list is left to the check of the table."""
    return list(map(_use, given)) if isinstance(given, list | tuple) else given


def _use(given: object) -> object:
    if isinstance(given, FunctionTool | FunctionIntervention):
        return given.use()
    return dict(given) if isinstance(given, Mapping) else given
