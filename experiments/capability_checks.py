"""Asks the endpoints of a plan what they can do, and holds that against what the plan wants of them."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolablate.agents import require_capabilities, require_images
from toolablate.agents.capability_checks import (
    MOST_REQUESTS,
    MOST_TOKENS_IN,
    MOST_TOKENS_OUT,
    CheckedModel,
    Observation,
    check_capabilities,
)
from toolablate.experiments.plans.plan import Plan, all_questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import Capabilities, Condition, OpenAIModel
from toolablate.traces.terminal_text import plain_text

# Asks the endpoints of a plan what they can do, and holds that against what the plan wants of them.


def models_to_check(plan: Plan, name: str | None) -> tuple[OpenAIModel, ...]:
    """The plan's models and judges behind an endpoint, or those of that name; one that is both is asked once. Raises
    InputError where there is none."""
    judges = (judge for judge in plan.judges if judge not in plan.models)
    models = tuple(model for model in (*plan.models, *judges) if isinstance(model, OpenAIModel))
    chosen = tuple(model for model in models if name in (None, model.name))
    if not chosen:
        names = ", ".join(repr(model.name) for model in models) or "none"
        which = f"no model {name!r}" if name else "no model"
        raise InputError(f"the plan has {which} behind an endpoint; those are: {names}", code="no_model")
    return chosen


def announce(models: Sequence[OpenAIModel]) -> str:
    """What asking will take, told before anything is asked."""
    asked = "1 model" if len(models) == 1 else f"{len(models)} models"
    lines = [
        f"Asking {asked}, at most {MOST_REQUESTS} small requests each: up to about {MOST_TOKENS_IN:,} tokens in and"
        f" {MOST_TOKENS_OUT:,} out, where the endpoint keeps to limits."
    ]
    for model in models:
        if model.price is None:
            lines.append(f"  {model.name}: what that costs is unknown")
        else:
            cost = (MOST_TOKENS_IN * model.price.input + MOST_TOKENS_OUT * model.price.output) / 1e6
            lines.append(f"  {model.name}: at most about ${cost:.2f}")
    return "\n".join(lines)


def check_models(
    models: Sequence[OpenAIModel], tell: Callable[[OpenAIModel, Observation], None]
) -> tuple[CheckedModel, ...]:
    """Asks all models at once, and tells of each thing that is found out. At Ctrl-C it is what was found out by then.
    Raises InputError where one cannot be asked: no key, no address."""

    async def check_all() -> tuple[CheckedModel, ...]:
        asked = [asyncio.create_task(check_capabilities(model, tell=partial(tell, model))) for model in models]
        # Ctrl-C cancels this task alone.
        with suppress(asyncio.CancelledError):
            await asyncio.wait(asked, return_when=asyncio.FIRST_EXCEPTION)
        for task in asked:
            task.cancel()
        await asyncio.wait(asked)
        return tuple(task.result() for task in asked)

    return asyncio.run(check_all())


def problems(plan: Plan, model: OpenAIModel, checked: CheckedModel) -> list[str]:
    """What the plan wants of the endpoint and cannot have, a sentence each."""
    unusable = list(_unusable(model, checked))
    return unusable or [
        *_of_sampling(model, checked),
        *_of_conditions(plan, model, checked),
        *_of_questions(plan, model, checked),
    ]


def _unusable(model: OpenAIModel, checked: CheckedModel) -> Iterator[str]:
    """Why the endpoint replies to nothing; empty where it replies."""
    if checked.state(model.api) == "yes":
        return
    if not checked.observations:
        yield f"{model.name!r} gave no reply before it was stopped"
        return
    failing = [seen for seen in checked.observations if seen.state == "no"]
    unknown = [seen for seen in checked.observations if seen.state == "unknown"]
    first: Observation = (failing or unknown)[0]
    yield f"{model.name!r} gave no reply: {LABELS[first.subject]}: {first.evidence}"
    other = "responses" if model.api == "chat" else "chat"
    if checked.state(other) == "yes":
        yield f'{model.name!r} can be asked with api = "{other}"'


def _of_sampling(model: OpenAIModel, checked: CheckedModel) -> Iterator[str]:
    sampling = model.sampling
    wanted = {
        "sampling": True,
        "seed": sampling.seed is not None,
        "logprobs": sampling.logprobs or sampling.top_logprobs is not None,
    }
    for subject, wants in wanted.items():
        if wants and checked.state(subject) == "no":
            yield f"{model.name!r} does not take its {LABELS[subject]}: {checked.evidence(subject)}"
    limits = [seen for seen in checked.observations if seen.subject in LIMITS]
    if sampling.max_tokens is not None and limits and all(seen.state == "no" for seen in limits):
        yield f"{model.name!r} keeps no sampling.max_tokens: {limits[0].evidence}"


def _of_conditions(plan: Plan, model: OpenAIModel, checked: CheckedModel) -> Iterator[str]:
    """A ladder has many conditions that want the same, which is said once."""
    found = model.model_copy(update={"capabilities": merged_capabilities(model, checked)})
    lacking: dict[str, list[str]] = defaultdict(list)
    # A judge is under no condition.
    for condition in plan.resolved_conditions() if model in plan.models else ():
        try:
            require_capabilities(found, condition)
        except InputError as error:
            lacking[error.message.replace(f"condition {condition.name!r} sets", "conditions set")].append(
                condition.name
            )
            continue
        if condition.tools and (results := _of_results(condition, checked)):
            lacking[f"model {model.name!r} does not take {results}, but conditions need it"].append(condition.name)
    for message, names in lacking.items():
        yield f"{message}: {', '.join(map(repr, names))}"


def _of_questions(plan: Plan, model: OpenAIModel, checked: CheckedModel) -> Iterator[str]:
    if checked.state("images") != "no" or model not in plan.models:
        return
    try:
        require_images(model.model_copy(update={"capabilities": Capabilities(images=False)}), all_questions(plan))
    except InputError as error:
        yield error.message


def _of_results(condition: Condition, checked: CheckedModel) -> str:
    subject = "reasoning_left_out" if condition.reasoning == "drop" else "reasoning_given_back"
    for wanted in ("tool_results", subject):
        if checked.state(wanted) == "no":
            return f"{LABELS[wanted]}: {checked.evidence(wanted)}"
    return ""


def merged_capabilities(model: OpenAIModel, checked: CheckedModel) -> Capabilities:
    """What was found out; what was not stays as the plan declares it."""
    found = checked.capabilities.model_dump(exclude_none=True)
    return Capabilities.model_validate({**model.capabilities.model_dump(), **found})


def differences(model: OpenAIModel, checked: CheckedModel) -> Iterator[str]:
    """Where the plan declares what was found to be otherwise."""
    declared = model.capabilities.model_dump()
    for key, value in checked.capabilities.model_dump(exclude_none=True).items():
        if declared[key] not in (None, value):
            yield f"{key}: the plan says {json.dumps(declared[key])}, found was {json.dumps(value)}"


def as_toml(capabilities: Capabilities) -> str:
    """The line for the model's entry in a plan."""
    pairs = capabilities.model_dump(exclude_none=True).items()
    return "capabilities = { " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in pairs) + " }"


def as_json(plan: Plan, models: Sequence[OpenAIModel], results: Sequence[CheckedModel]) -> str:
    """Everything that was found out, with what the plan cannot have."""
    rows = [
        {
            **asdict(checked),
            "usage": checked.usage.model_dump(),
            "capabilities": checked.capabilities.model_dump(exclude_none=True),
            "problems": problems(plan, model, checked),
        }
        for model, checked in zip(models, results, strict=True)
    ]
    return json.dumps({"models": rows}, indent=2)


LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
STATES = {"yes": "yes", "no": "no", "unknown": "not found out"}
LABELS = {
    "reachable": "reachable",
    "key": "key",
    "model": "model",
    "chat": "Chat Completions",
    "responses": "Responses",
    "sampling": "sampling parameters",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_completion_tokens",
    "max_output_tokens": "max_output_tokens",
    "seed": "seed",
    "logprobs": "logprobs",
    "tools": "tools",
    "tool_choice_required": 'tool_choice "required"',
    "parallel_tool_calls": "parallel_tool_calls",
    "encrypted_reasoning": "encrypted reasoning",
    "images": "images",
    "tool_results": "results of tools",
    "reasoning": "reasoning shown",
    "reasoning_given_back": "reasoning given back",
    "reasoning_left_out": "reasoning left out",
    "usage": "usage",
}


# What a capability check has shown, for a terminal.


_STYLES = {"yes": "green", "no": "red", "unknown": "yellow"}
_EVIDENCE_CHARACTERS = 300


def show(model: OpenAIModel, checked: CheckedModel, problems: Sequence[str], console: Console) -> None:
    """A line of evidence for each thing, then what to paste, then what the plan cannot have."""
    told = (checked.usage.input_tokens, checked.usage.output_tokens)
    spent = "unknown" if None in told else f"{told[0]:,} in and {told[1]:,} out"
    console.print(
        _inert(f"{checked.model} at {checked.endpoint}: {checked.requests} requests; tokens: {spent}", "bold")
    )
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for seen in checked.observations:
        evidence = _inert(seen.evidence, max_chars=_EVIDENCE_CHARACTERS)
        table.add_row(LABELS[seen.subject], Text(STATES[seen.state], style=_STYLES[seen.state]), evidence)
    console.print(table)
    if checked.capabilities != Capabilities():
        console.print(Text("For the model's entry in the plan:"))
        console.print(Text(as_toml(checked.capabilities)), soft_wrap=True)
    for line in differences(model, checked):
        console.print(_inert(f"note: {line}", "yellow"), soft_wrap=True)
    for problem in problems:
        console.print(_inert(f"missing: {problem}", "red"), soft_wrap=True)
    console.print()


def _inert(text: str, style: str = "", *, max_chars: int | None = None) -> Text:
    return Text(plain_text(text, max_chars=max_chars), style=style)
