"""What a search found of a question."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from toolablate.traces.records._base import TaggedRecord

Retrieved = Literal["source", "answer", "nothing"]


class Retrieval(TaggedRecord):
    """What one phrasing of a question found in one search.

    `question` is the digest of what a model is asked and `sought` that of the answers and sources that were looked for.
    `search` names the provider with its parameters, or the corpus; `results` are how many were looked at, and `opened`
    of how many the pages were read. `found` is the best of them: `source` (a result is one of the question's
    sources), `answer` (a result or its page says the answer beside the question's own words), else `nothing`; `rank`
    (from 1) and `url` are of that result. `unread` pages could not be read.
    """

    version: Literal[1] = 1
    question: str
    sought: str
    search: str
    phrasing: str = Field(min_length=1)
    results: int = Field(ge=0)
    opened: int = Field(ge=0)
    found: Retrieved
    rank: int | None = None
    url: str = ""
    unread: int = 0
    at: datetime

    @property
    def asked(self) -> tuple[str, str, str, str, int, int]:
        return (self.question, self.sought, self.search, self.phrasing, self.results, self.opened)
