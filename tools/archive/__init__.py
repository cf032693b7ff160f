"""The frozen web: what was searched, fetched and read, kept once and looked up for ever after."""

from toolablate.tools.archive.archive import Archive
from toolablate.tools.archive.discarding import unmade_if_unused
from toolablate.tools.archive.entry import Entry, EntryKind, Missing, StoredExchange
from toolablate.tools.archive.info import Info, info
from toolablate.tools.archive.manifest import Base, Seal
from toolablate.tools.archive.opening import check_growing, create_overlay, open_archive
from toolablate.tools.archive.sealing import seal
from toolablate.tools.archive.verification import Problem, Verification, verify

__all__ = [
    "Archive",
    "Base",
    "Entry",
    "EntryKind",
    "Info",
    "Missing",
    "Problem",
    "Seal",
    "StoredExchange",
    "Verification",
    "check_growing",
    "create_overlay",
    "info",
    "open_archive",
    "seal",
    "unmade_if_unused",
    "verify",
]
