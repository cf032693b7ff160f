"""The seam where the live web, recording and replay meet."""

from toolablate.tools.recorded.calls import RecordedCalls
from toolablate.tools.recorded.http_client import RecordedHttpClient
from toolablate.tools.recorded.lookups import Mode
from toolablate.tools.recorded.pages import Extractor, WebPages, complete_texts, has_all_texts
from toolablate.tools.recorded.search import RecordedSearch

__all__ = [
    "Extractor",
    "Mode",
    "RecordedCalls",
    "RecordedHttpClient",
    "RecordedSearch",
    "WebPages",
    "complete_texts",
    "has_all_texts",
]
