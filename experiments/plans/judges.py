"""The parts of a plan that say who judges answers, and how they are asked."""

from typing import Annotated, Literal

from pydantic import Field

from toolablate.experiments.plans.web import Section
from toolablate.traces.records import OpenAIModel, ScriptedModel

JudgeModel = Annotated[OpenAIModel | ScriptedModel, Field(discriminator="provider")]
"""A model that can judge: a simulated one has beliefs about questions, and none about answers."""


class JudgingSection(Section):
    """`prompt` is whose words a judge is asked in: our `own`, or those of the `row`, which come with a question.

    `asks` is how often it is asked at most, in all, until a reply keeps the format; `again` is how many times each
    judge grades everything once more.
    """

    prompt: Literal["own", "row"] = "own"
    asks: int = Field(default=3, gt=0)
    again: int = Field(default=0, ge=0)
