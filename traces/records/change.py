from pydantic import Field

from toolablate.traces.records._base import Record


class Change(Record):
    """What an intervention of the condition did to a tool's result: its name, and in `detail` what it did."""

    intervention: str = Field(min_length=1)
    detail: str = ""
