"""The plan of an exposure test: which models continue the prompts of which benchmarks."""

import tomllib
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, field_validator, model_validator

from toolablate.experiments.plans.web import Section
from toolablate.traces.errors import InputError
from toolablate.traces.records import OpenAIModel
from toolablate.traces.validation import explain, why_unreadable


class ExposurePlan(Section):
    """A validated plan. Paths in it are absolute; a benchmark may be "hf:OWNER/NAME" or "builtin".

    `share` is how much of a prompt's tokens a model is given, `file` what keeps the continuations, `limit` how many
    questions of each benchmark are asked, from its beginning. `benchmarks` are question files by the names that they
    are shown under. `seed` is that of chance's pairs of questions, and of the bootstrap.
    """

    share: float = Field(default=0.4, gt=0, lt=1)
    file: str = Field(min_length=1)
    limit: int | None = Field(default=None, gt=0)
    seed: int = 0
    benchmarks: dict[str, str] = Field(min_length=1)
    models: tuple[OpenAIModel, ...] = Field(min_length=1)

    @field_validator("benchmarks")
    @classmethod
    def _benchmarks_have_names_and_files(cls, benchmarks: dict[str, str]) -> dict[str, str]:
        for name, file in benchmarks.items():
            if not name.strip() or not file:
                raise ValueError(f"benchmarks: {name!r} = {file!r}: both a name and a question file are needed")
        return benchmarks

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        names = [model.name for model in self.models]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"models: the name {twice[0]!r} is used twice; names must be distinct")
        return self

    @model_validator(mode="after")
    def _texts_are_completed(self) -> Self:
        for model in self.models:
            if model.api != "chat":
                raise ValueError(
                    f"models: {model.name}: api = {model.api!r}: text completions are asked for here; leave it out"
                )
        return self


def load_exposure_plan(path: Path) -> ExposurePlan:
    """Reads a plan; relative paths in it are relative to its folder. Raises InputError that names the key, what was
    found and what is allowed."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"there is no plan at {path}", code="no_plan") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the plan {path}: {why_unreadable(error)}", code="unreadable_plan") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}", code="bad_toml") from None
    content.setdefault("file", f"runs/{path.stem}.jsonl")
    try:
        plan = ExposurePlan.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error, ExposurePlan)}", code="bad_plan") from None
    folder = path.parent.resolve()
    files = {name: _anchored(file, folder) for name, file in plan.benchmarks.items()}
    return plan.model_copy(update={"file": str(folder / plan.file), "benchmarks": files})


def _anchored(file: str, folder: Path) -> str:
    return file if file == "builtin" or file.startswith("hf:") else str(folder / file)
