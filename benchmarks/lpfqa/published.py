"""Questions as LPFQA publishes them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.language import language_of
from toolablate.benchmarks.line_error import LineError, shown
from toolablate.benchmarks.lpfqa.letters import right_letters
from toolablate.benchmarks.lpfqa.options import listed_options
from toolablate.benchmarks.lpfqa.reference import split_reference
from toolablate.benchmarks.lpfqa.template import judge_prompt
from toolablate.benchmarks.rows import Identities, at, typed_rows
from toolablate.traces.records import ChoiceTarget, Question, ReferenceTarget, Rubric

SOURCE = "lpfqa"

_TEXT = "a text in quotes"
_FULL = "a text in quotes that is not blank"
ALLOWED: Mapping[str, str] = {
    "prompt_id": "a text in quotes that is not empty, or a whole number",
    "prompt": _FULL,
    "response_reference": _FULL,
    "judge_system_prompt": _TEXT,
    "judge_prompt_template": _TEXT,
    "primary_domain": _TEXT,
    "secondary_domain": _TEXT,
}

_ASKS_ORDER = re.compile(
    r"顺序|排序|排列|次序|先后|依次|[由从].{1,8}到|配对|匹配|对应|连线|填[入空写]|横线"
    r"|\b(?:order|sequenc|rank|arrang|sort|match|pair|blank|respective)",
    re.IGNORECASE,
)
"""Or for a letter each of several things: the letters are no set then."""

FullText = Annotated[str, Field(pattern=r"\S")]


class PublishedRow(BaseModel):
    """One row. Keys of other names are passed over."""

    model_config = ConfigDict(frozen=True)

    prompt_id: Annotated[str, Field(min_length=1)] | int
    prompt: FullText
    response_reference: FullText
    judge_system_prompt: str = ""
    judge_prompt_template: str = ""
    primary_domain: str = ""
    secondary_domain: str = ""


def load_lpfqa(path: str | Path) -> tuple[Question, ...]:
    """Reads one published question in each row of a source that `rows_of` reads.

    A question is asked as it is published. It has a choice target where its prompt lists options and its reference
    names letters of them, and its choices where the options can be told apart for certain; else its target is the
    reference. Its rubric holds reference and points, and its own judge prompt if it has one.

    Raises InputError that names the file, the row, the key, what was found and what is allowed.
    """
    questions: list[Question] = []
    identities = Identities("question", key="prompt_id")
    for place, row in typed_rows(path, PublishedRow, ALLOWED):
        try:
            identities.take(str(row.prompt_id), place)
            questions.append(_question(row))
        except LineError as error:
            raise at(place, error) from error
    return tuple(questions)


def _question(row: PublishedRow) -> Question:
    reference, points = split_reference(row.response_reference)
    if not reference and not points:
        raise LineError(
            "'response_reference' has neither a reference answer nor points", f"Found {shown(row.response_reference)}."
        )
    asks = judge_prompt(
        row.judge_system_prompt, row.judge_prompt_template, prompt=row.prompt, reference=row.response_reference
    )
    target, choices = _choice(row.prompt, reference)
    return Question(
        id=str(row.prompt_id),
        prompt=row.prompt,
        choices=choices,
        as_is=True,
        target=target or ReferenceTarget(answer=reference or points),
        rubric=Rubric(reference=reference, points=points, prompt=asks),
        domain=row.primary_domain,
        language=language_of(row.prompt),
        source=SOURCE,
        metadata={"secondary_domain": row.secondary_domain} if row.secondary_domain else {},
    )


def _choice(prompt: str, reference: str) -> tuple[ChoiceTarget | None, tuple[str, ...]]:
    options = listed_options(prompt)
    letters = right_letters(reference, options) if options else ()
    if not options or not letters or (len(letters) > 1 and _ASKS_ORDER.search(prompt)):
        return None, ()
    return ChoiceTarget(letters=letters), options.texts
