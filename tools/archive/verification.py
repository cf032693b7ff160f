"""Checks an archive against itself: every digest is derived again from the content."""

import sqlite3
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from toolablate.tools.archive import _opening
from toolablate.tools.archive._checks import all_checks, leftovers
from toolablate.tools.archive._digests import root_digest
from toolablate.tools.archive.manifest import INDEX, MANIFEST, WARC_FOLDER, Manifest, read_manifest
from toolablate.tools.archive.opening import MAX_LAYERS, base_folder, base_manifest
from toolablate.traces.errors import InputError

MAX_PROBLEMS = 1_000
"""Beyond this many an archive is a ruin, and the list is cut with a note that says so."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written. `where` names the entry, record or file, `what` the damage."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found; `checked` counts what was looked at, the bases included.

    `notes` are no damage: what an interrupted recording left at the end of a file, which sealing trims. `root` is the
    root digest, empty where the archive is not sealed.
    """

    path: str
    root: str
    checked: dict[str, int]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(slots=True)
class Findings:
    """What is being found. `prefix` names the archive among those that lie over each other."""

    checked: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    prefix: str = ""

    def problem(self, where: str, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self.prefix + where, what))
        elif len(self.problems) == MAX_PROBLEMS:
            self.problems.append(Problem("archive", f"and more: only the first {MAX_PROBLEMS} problems are listed"))


def verify(path: str | PathLike[str]) -> Verification:
    """Reads all of an archive and of what it lies over, and changes nothing. Damage is listed, never raised.

    Raises InputError where there is no archive at that path, or none where its base should be, and where it is just
    being sealed.
    """
    folder = Path(path)
    if not _is_there(folder):
        read_manifest(folder)
    findings, below, expected, root = Findings(), folder, "", ""
    for number in range(MAX_LAYERS):
        manifest = _verify_layer(below, expected, findings)
        if manifest is None:
            break
        if number == 0 and manifest.sealed:
            root = manifest.sealed.root
        if manifest.base is None:
            break
        above, below, expected = below, base_folder(below, manifest.base), manifest.base.root
        if not _is_there(below):
            base_manifest(above, below, manifest.base)
        findings.prefix = f"base {manifest.base.path}: "
    return Verification(str(folder), root, findings.checked, tuple(findings.problems), tuple(findings.notes))


def _is_there(folder: Path) -> bool:
    """Whether anything of an archive is left there."""
    return any((folder / name).exists() for name in (MANIFEST, INDEX))


def _verify_layer(folder: Path, expected: str, findings: Findings) -> Manifest | None:
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        findings.problem(MANIFEST, error.message)
        return None
    if expected and (manifest.sealed is None or manifest.sealed.root != expected):
        findings.problem("archive", f"it is not the one that was laid under: its root digest was {expected}")
        return None
    try:
        with _opening.opened_for_checks(folder, manifest) as connection:
            check(connection, folder, manifest, findings)
    except InputError as error:
        if error.code in ("locked", "read_only"):
            raise
        findings.problem("archive", error.message)
    return manifest


def check(connection: sqlite3.Connection, folder: Path, manifest: Manifest, findings: Findings) -> None:
    """One archive by itself. Nothing that a damaged file could hold makes this raise."""
    try:
        # One moment of the archive, whatever is recorded meanwhile.
        connection.execute("BEGIN")
        _check(connection, folder, manifest, findings)
        connection.execute("ROLLBACK")
    except (sqlite3.Error, OSError, TypeError, ValueError) as error:
        findings.problem("archive", f"cannot be read to the end: {error}")


def _check(connection: sqlite3.Connection, folder: Path, manifest: Manifest, findings: Findings) -> None:
    for name, found in all_checks(connection, folder):
        counted = 0
        try:
            for finding in found:
                counted += finding is None
                if finding is not None:
                    findings.problem(*finding)
        except Exception as error:  # noqa: BLE001 - a damaged file holds anything anywhere, and this is what finds it
            findings.problem(name, f"cannot be read to the end: {error}")
        findings.checked[name] = findings.checked.get(name, 0) + counted
    _check_leftovers(connection, folder, manifest, findings)
    _check_seal(connection, manifest, findings)


def _check_leftovers(connection: sqlite3.Connection, folder: Path, manifest: Manifest, findings: Findings) -> None:
    for name, what, size in leftovers(connection, folder):
        where = f"{WARC_FOLDER}/{name}"
        if manifest.sealed or size < 0:
            findings.problem(where, what)
        else:
            findings.notes.append(Problem(findings.prefix + where, what))


def _check_seal(connection: sqlite3.Connection, manifest: Manifest, findings: Findings) -> None:
    seal = manifest.sealed
    if seal is None:
        return
    if dict(connection.execute("SELECT name, value FROM facts")) != _opening.sealed_facts(manifest):
        findings.problem("index", f"it is not the one that was sealed, or {MANIFEST} was edited")
    if root_digest(_opening.row_digests(connection), manifest) != seal.root:
        findings.problem("archive", f"its content does not have the root digest {seal.root} that it was sealed with")
    if count(connection) != seal.counts:
        findings.problem(MANIFEST, "its counts are not those of the index")


def count(connection: sqlite3.Connection) -> dict[str, int]:
    """Captures by kind, `exchange` among them."""
    found = dict(connection.execute("SELECT kind, count(*) FROM entries GROUP BY kind ORDER BY kind"))
    (number,) = connection.execute("SELECT count(*) FROM exchanges").fetchone()
    return {**found, "exchange": number} if number else found
