"""The seam where the live web, recording and replay meet."""

from toolablate.tools.recorded.calls import RecordedCalls
from toolablate.tools.recorded.completing import complete_texts, has_all_texts
from toolablate.tools.recorded.hops import RecordedHops
from toolablate.tools.recorded.mode import Mode
from toolablate.tools.recorded.pages import WebPages
from toolablate.tools.recorded.search import RecordedSearch
from toolablate.tools.recorded.texts import Extractor

__all__ = [
    "Extractor",
    "Mode",
    "RecordedCalls",
    "RecordedHops",
    "RecordedSearch",
    "WebPages",
    "complete_texts",
    "has_all_texts",
]
