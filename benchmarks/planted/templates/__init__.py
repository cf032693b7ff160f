"""Templates of questions, all made up. Those of one half are not in the other: a rule that was made on `dev` meets none
of its words in `test`."""

import json
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Half = Literal["dev", "test"]

HALVES: tuple[Half, ...] = get_args(Half)


class Template(BaseModel):
    """A question with slots. `simple` and `elaborate` are names of options; `suffixes` end the name of a place that
    nothing else is called by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    domain: str
    language: Literal["en", "zh"]
    suffixes: tuple[str, ...] = Field(min_length=1)
    prompts: tuple[str, ...] = Field(min_length=1)
    noun: str
    measure: str
    simple: tuple[str, ...] = Field(min_length=5)
    elaborate: tuple[str, ...] = Field(min_length=2)


@cache
def templates(half: Half) -> tuple[Template, ...]:
    text = (files(__name__) / f"{half}.jsonl").read_text(encoding="utf-8")
    return tuple(Template.model_validate(json.loads(line)) for line in text.splitlines() if line.strip())
