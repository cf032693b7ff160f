"""Replies of models, recorded by what was asked and given again to all who ask the same."""

from toolablate.agents.replies.cache import ResponseCache, read_root
from toolablate.agents.replies.keeping import Keeping
from toolablate.agents.replies.recorded import AskedRequest, KeptReply
from toolablate.agents.replies.reply_sources import JOINS, RecordedChat, RecordedSource, ReplayedSource
from toolablate.agents.replies.verification import RepliesInfo, RepliesReport, info, verify

__all__ = [
    "JOINS",
    "AskedRequest",
    "Keeping",
    "KeptReply",
    "RecordedChat",
    "RecordedSource",
    "ReplayedSource",
    "RepliesInfo",
    "RepliesReport",
    "ResponseCache",
    "info",
    "read_root",
    "verify",
]
