"""Replies of models, recorded by what was asked and given again to all who ask the same."""

from toolablate.agents.replies.cache import ResponseCache, read_root
from toolablate.agents.replies.reply_sources import RecordedSource, ReplayedSource
from toolablate.agents.replies.verification import RepliesInfo, RepliesReport, info, verify

__all__ = [
    "RecordedSource",
    "ReplayedSource",
    "RepliesInfo",
    "RepliesReport",
    "ResponseCache",
    "info",
    "read_root",
    "verify",
]
