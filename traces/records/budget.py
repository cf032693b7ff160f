from pydantic import Field

from toolablate.traces.records._base import Record


class Budget(Record):
    """What a trial may spend. When a limit is reached the model is asked once more, without tools, for its answer."""

    turns: int = Field(default=12, gt=0)
    tool_calls: int = Field(default=24, ge=0)
    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0)
    seconds: float = Field(default=600.0, gt=0)
