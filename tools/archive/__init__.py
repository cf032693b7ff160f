"""The frozen web: what was searched, fetched and read, kept once and looked up for ever after."""

from toolablate.tools.archive.archive import Archive, check_growing, create_overlay, open_archive
from toolablate.tools.archive.archive_check import Info, Verification, info, verify
from toolablate.tools.archive.captures import ArchiveEntry, EntryKind, Missing, StoredExchange
from toolablate.tools.archive.manifest import Base, Seal
from toolablate.tools.archive.sealing import seal, unmade_if_unused

__all__ = [
    "Archive",
    "ArchiveEntry",
    "Base",
    "EntryKind",
    "Info",
    "Missing",
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
