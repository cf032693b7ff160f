"""Forums that somebody proposes: fetched beyond their sample threads once others have approved them."""

from collections.abc import Collection
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from toolablate.experiments.construction.stages import Content
from toolablate.experiments.plans.sections import Section
from toolablate.traces.records import digest_json


class ProposedForum(Section):
    """With a `proposer`, an alias as reviewers have, others have to approve the forum by its `domain`, the `permission`
    to use it, and `samples`, addresses of threads. Without one nobody is asked."""

    name: str = Field(min_length=1)
    licence: str = ""
    domain: str = ""
    permission: str = ""
    proposer: str = ""
    samples: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_a_whole_proposal(self) -> Self:
        if self.proposer and (
            missing := [key for key in ("domain", "permission", "samples") if not getattr(self, key)]
        ):
            raise ValueError(f"{missing[0]}: has to be given of a forum that has a proposer, for those who approve it")
        if self.samples and not self.proposer:
            raise ValueError("proposer: has to be given of a forum that has samples")
        return self

    @property
    def address(self) -> str:
        raise NotImplementedError

    @property
    def proposal(self) -> Content:
        """What people approve: where any of it is changed they are asked again."""
        keys = ("name", "address", "domain", "permission", "proposer")
        return {key: getattr(self, key) for key in keys} | {"terms": self.licence, "samples": list(self.samples)}

    @property
    def proposal_id(self) -> str:
        return digest_json([self.name, self.address])

    def is_open(self, approved: Collection[str]) -> bool:
        """Whether more than its samples may be fetched; `approved` are ids of proposals."""
        return not self.proposer or self.proposal_id in approved

    def waits_told(self, file: Path) -> str:
        return f"{self.name}: sample threads alone, until others approve it: `toolablate build review {file}`"
