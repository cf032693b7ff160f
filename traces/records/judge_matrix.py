from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from toolablate.traces.records._base import TaggedRecord

DistractionLabel = Literal["misleading_adoption", "existence_as_norm", "over_engineering", "none"]
"""A way of being drawn away by what was read, or `none`."""

_Count = Annotated[int, Field(ge=0, le=10**9)]


class JudgeMatrix(TaggedRecord):
    """What a judge of failures, asked in one wording, said of planted trials, of which it is known what drew the model
    away: numbers of trials by the true label, then by the one that was given. `unlabelled` ones, by the true label,
    got none and are in no count."""

    version: Literal[1] = 1
    judge: str = Field(min_length=1)
    wording: int = Field(ge=1)
    counts: dict[DistractionLabel, dict[DistractionLabel, _Count]]
    unlabelled: dict[DistractionLabel, _Count]

    @model_validator(mode="after")
    def _of_all_labels(self) -> Self:
        labels = set[str](get_args(DistractionLabel))
        named = [set(self.counts), set(self.unlabelled), *map(set, self.counts.values())]
        if any(each != labels for each in named):
            raise ValueError(f"counts and unlabelled have to name each of {', '.join(get_args(DistractionLabel))}")
        return self
