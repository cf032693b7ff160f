"""Forums whose threads are fetched, as a file names them."""

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from toolablate.experiments.construction.plan_files import load_plan
from toolablate.experiments.construction.sources.proposals import ProposedForum
from toolablate.experiments.plans.sections import Section, WebSection
from toolablate.traces.paths import PathText


class _Forum(ProposedForum):
    """`name` and `licence` go with each item. Threads from `since` to `until` with at least so many `views`, `replies`
    and `votes`; of these the output has at most `limit`."""

    url: str = Field(min_length=1)
    since: date | None = None
    until: date | None = None
    views: int = Field(default=0, ge=0)
    replies: int = Field(default=1, ge=1)
    votes: int = 0
    limit: int = Field(default=100, gt=0)

    @property
    def address(self) -> str:
        return self.url

    @model_validator(mode="after")
    def _samples_are_threads(self) -> Self:
        for each in self.samples:
            sample_number(each)
        return self


_SAMPLE = re.compile(r"/(?:t/(?:[^/?#]*/)?|questions/)(\d{1,12})(?:[/?#.]|$)")


def sample_number(url: str) -> str:
    """A thread's number at its forum. Raises ValueError."""
    if (found := _SAMPLE.search(url)) is None:
        raise ValueError(f"samples: {url!r} is no address of a thread: has /t/NAME/NUMBER or /questions/NUMBER in it")
    return found[1]


class DiscourseForum(_Forum):
    kind: Literal["discourse"]


class StackExchangeForum(_Forum):
    """`site` is the name of one of its sites: "chemistry". `key` is an application's: 10,000 requests a day for 300. It
    is public by the API's own documentation."""

    kind: Literal["stackexchange"]
    url: str = "https://api.stackexchange.com/2.3"
    site: str = Field(min_length=1)
    key: str = ""

    @property
    def address(self) -> str:
        return f"{self.url} {self.site}"


Forum = Annotated[DiscourseForum | StackExchangeForum, Field(discriminator="kind")]


class ForumsPlan(Section):
    """`output` is the JSONL of items, which a pipeline reads. `web` is as in plans: pace, robots, private hosts."""

    output: PathText = "pairs.jsonl"
    forums: tuple[Forum, ...] = Field(min_length=1)
    web: WebSection = WebSection()


def load_forums(path: Path) -> ForumsPlan:
    """Relative paths are relative to its folder. Raises InputError that names the key, what was found and what is
    allowed."""
    plan = load_plan(ForumsPlan, path, "build threads")
    return plan.model_copy(update={"output": str(path.parent.resolve() / plan.output)})
