"""Where the cgroups that we live in are to be found: `/proc/self/cgroup` seen through `/proc/self/mountinfo`."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CONTROLLERS = ("memory", "pids", "cpu")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of the cgroups that a process lives in: of version 1 by controller, of version 2 the one."""

    one: dict[str, Path]
    two: Path | None


@dataclass(frozen=True, slots=True)
class _Mount:
    root: PurePosixPath
    point: Path
    kind: str
    options: frozenset[str]


def parse_places(cgroup: str, mountinfo: str) -> Places:
    """From the text of the two files of `/proc/self`. What is not mounted, or lies outside of what is, is left out."""
    mounts = [mount for line in mountinfo.splitlines() if (mount := _parse_mount(line))]
    one: dict[str, Path] = {}
    two: Path | None = None
    for line in cgroup.splitlines():
        _, names, path = line.split(":", 2)
        if not names:
            two = _seen([mount for mount in mounts if mount.kind == "cgroup2"], path)
        for name in set(names.split(",")).intersection(CONTROLLERS):
            if folder := _seen([mount for mount in mounts if mount.kind == "cgroup" and name in mount.options], path):
                one[name] = folder
    return Places(one={name: one[name] for name in CONTROLLERS if name in one}, two=two)


def _parse_mount(line: str) -> _Mount | None:
    left, _, right = line.partition(" - ")
    _, _, _, root, point, *_ = left.split(" ")
    kind, _, options = right.split(" ")
    if kind not in ("cgroup", "cgroup2"):
        return None
    return _Mount(PurePosixPath(_unescaped(root)), Path(_unescaped(point)), kind, frozenset(options.split(",")))


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _seen(mounts: list[_Mount], path: str) -> Path | None:
    """Of several mounts the last, which covers the others if they share a place."""
    for mount in reversed(mounts):
        relative = PurePosixPath(path)
        if ".." not in relative.parts and relative.is_relative_to(mount.root):
            return mount.point / relative.relative_to(mount.root)
    return None
