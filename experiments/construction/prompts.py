"""The prompts that models are asked with: those of toolablate, and those that a pipeline puts in their place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolablate.benchmarks.rows.row_errors import unreadable
from toolablate.experiments.construction.duplicates import SAME_PROMPT, Same
from toolablate.experiments.construction.json_replies import ReplyForm
from toolablate.experiments.construction.pipeline import Pipeline, PromptName
from toolablate.experiments.construction.question_stages import (
    ASSESS_PROMPT,
    FILTER_PROMPT,
    OPTIONS_PROMPT,
    SHORT_ANSWER_PROMPT,
    Assessment,
    Choices,
    Filtering,
    ShortAnswer,
)
from toolablate.experiments.construction.reading import READ_PROMPT, Reading
from toolablate.experiments.construction.region_reading import READ_REGION_PROMPT, RegionReading
from toolablate.experiments.construction.statement_stages import (
    FALSIFY_PROMPT,
    SPECIFY_PROMPT,
    Falsified,
    Specifications,
)
from toolablate.experiments.plans.lines import located
from toolablate.traces.errors import InputError


@dataclass(frozen=True, slots=True)
class Prompt:
    """`form` is the reply that it asks for: it has to name each key. In `text` stands {name} for each placeholder."""

    text: str
    form: type[ReplyForm]
    placeholders: tuple[str, ...] = ()


PROMPTS: Mapping[PromptName, Prompt] = {
    "read": Prompt(READ_PROMPT, Reading),
    "assess": Prompt(ASSESS_PROMPT, Assessment),
    "filter": Prompt(FILTER_PROMPT, Filtering, ("domains",)),
    "deduplicate": Prompt(SAME_PROMPT, Same),
    "convert_options": Prompt(OPTIONS_PROMPT, Choices),
    "convert_short_answer": Prompt(SHORT_ANSWER_PROMPT, ShortAnswer),
    "read_region": Prompt(READ_REGION_PROMPT, RegionReading),
    "specify": Prompt(SPECIFY_PROMPT, Specifications),
    "falsify": Prompt(FALSIFY_PROMPT, Falsified),
}

_PLACEHOLDER = re.compile(r"\{\{(?P<meant>[a-z_]+)\}\}|\{(?P<name>[a-z_]+)\}")
"""{{name}} stands for the text {name}. Other braces are text."""


def prompts_of(pipeline: Pipeline) -> dict[PromptName, str]:
    """As models get them. Raises InputError that names the file, and what it has too much or lacks."""
    domains = pipeline.filter.domains
    values = {"domains": f"one of {', '.join(domains)}" if domains else "the field that it belongs to"}

    def value(found: re.Match[str]) -> str:
        return f"{{{found['meant']}}}" if found["meant"] else values[found["name"]]

    return {
        name: _PLACEHOLDER.sub(value, _own(pipeline, name, prompt) if name in pipeline.prompts else prompt.text)
        for name, prompt in PROMPTS.items()
    }


def _own(pipeline: Pipeline, name: PromptName, prompt: Prompt) -> str:
    file = Path(pipeline.prompts[name])

    def refused(why: str, hint: str) -> InputError:
        error = InputError(f"prompts.{name}: {file} {why}", hint=hint, code="bad_prompt")
        error.key = name
        return located(error, pipeline.file, "prompts", 0)

    try:
        text = file.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise refused("is no text in UTF-8", "save it as UTF-8") from None
    except FileNotFoundError:
        raise refused("is not there", f"`toolablate build prompts {name}` prints one to begin with") from None
    except OSError as error:
        raise unreadable(file, error) from None
    found = {each["name"]: text.count("\n", 0, each.start()) + 1 for each in _PLACEHOLDER.finditer(text)}
    found.pop(None, None)
    if unknown := [each for each in found if each not in prompt.placeholders]:
        own = ", ".join(f"{{{each}}}" for each in prompt.placeholders)
        there = f"its placeholder is {own}" if own else "it has no placeholders"
        raise refused(
            f"has an unknown placeholder {{{unknown[0]}}} in line {found[unknown[0]]}",
            f"{there}; {{{{{unknown[0]}}}}} stands for the text {{{unknown[0]}}}",
        )
    if missing := [each for each in prompt.placeholders if each not in found]:
        raise refused(
            f"lacks the placeholder {{{missing[0]}}}", f"`toolablate build prompts {name}` shows where it stands"
        )
    # Without its key no reply could be used, and each would be paid for.
    if unnamed := [key for key in prompt.form.model_fields if not re.search(rf"\b{key}\b", text)]:
        raise refused(
            f"does not name {unnamed[0]}, a key of the reply", f"it has {', '.join(prompt.form.model_fields)}"
        )
    return text
