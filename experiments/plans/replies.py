"""The part of a plan that says whether replies of models are recorded, or given again as they were recorded."""

from typing import Literal

from pydantic import Field

from toolablate.experiments.plans.web import Section


class RepliesSection(Section):
    """`live` asks the endpoint each time, `record` the `file` first and keeps what is new, `replay` only the file.

    It holds for `openai` models; scripted and simulated ones give the same replies each time by themselves.
    """

    mode: Literal["live", "record", "replay"] = "live"
    file: str = Field(default="replies.sqlite", min_length=1)
