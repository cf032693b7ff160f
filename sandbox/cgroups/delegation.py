"""Which of the cgroups that we live in lets us make others below it."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from toolablate.sandbox import clearance
from toolablate.sandbox.cgroups.places import CONTROLLERS

LEAF = "toolablate-host"
_NEEDED = {"memory", "pids"}


class Refused(Exception):
    """`reason` for a person, and the command that mends it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


def usable_one(places: Mapping[str, Path]) -> dict[str, Path]:
    """Raises `Refused` where memory cannot be limited; the other controllers are taken as far as we may."""
    usable = {name: folder for name, folder in places.items() if os.access(folder, os.W_OK | os.X_OK)}
    if "memory" not in usable:
        group = ",".join(places)
        raise Refused(
            f"{places['memory']} (cgroup version 1) cannot be written",
            f"sudo cgcreate -t $USER -a $USER -g {group}:toolablate && "
            f"sudo cgclassify -g {group}:toolablate $$  # from cgroup-tools; or run as root",
        )
    return usable


def usable_two(place: Path | None) -> dict[str, Path]:
    """The cgroup that we live in, with its controllers handed on; raises `Refused`.

    Only a cgroup without processes can hand on controllers, the root apart: where we live there alone, we move into one
    below it.
    """
    if place is None:
        raise Refused("no cgroups are mounted here")
    base = place.parent if place.name == LEAF else place
    available = _words(base / "cgroup.controllers")
    if not available >= _NEEDED:
        missing = " and ".join(sorted(_NEEDED - available))
        raise Refused(f"the cgroup {base} has no controller for {missing}", _remedy())
    if not os.access(base, os.W_OK | os.X_OK) or not os.access(base / "cgroup.subtree_control", os.W_OK):
        raise Refused(f"the cgroup {base} cannot be written", _remedy())
    names = [name for name in CONTROLLERS if name in available]
    if not _words(base / "cgroup.subtree_control").issuperset(names):
        _hand_on(base, names)
    return dict.fromkeys(names, base)


def _hand_on(base: Path, names: list[str]) -> None:
    is_root = not (base / "cgroup.type").exists()
    moved = not is_root and base.name != LEAF and bool(clearance.members(base))
    if moved:
        _move_out(base)
    try:
        (base / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in names), encoding="ascii")
    except OSError as error:
        if moved:
            with contextlib.suppress(OSError):
                (base / "cgroup.procs").write_bytes(b"0")
                (base / LEAF).rmdir()
        raise Refused(f"the cgroup {base} does not hand on its controllers: {error.strerror}", _remedy()) from error


def _move_out(base: Path) -> None:
    if clearance.members(base) != [os.getpid()]:
        raise Refused(f"there are other processes in the cgroup {base}", _remedy())
    try:
        (base / LEAF).mkdir(exist_ok=True)
        (base / LEAF / "cgroup.procs").write_bytes(b"0")
    except OSError as error:
        raise Refused(f"the cgroup {base} cannot be left for one below it: {error.strerror}", _remedy()) from error


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text(encoding="ascii").split())
    except OSError:
        return set()


def _remedy() -> str:
    user = "" if os.geteuid() == 0 else "--user "
    return f"systemd-run {user}--scope -p Delegate=yes toolablate ..."
