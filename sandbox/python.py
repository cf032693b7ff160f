"""The Python environment that kernels run on."""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from toolablate.sandbox.kernel import KernelUnavailable

_ASK = (
    "import json,sys; "
    "print(json.dumps([sys.executable,sys.prefix,sys.exec_prefix,sys.base_prefix,sys.base_exec_prefix]))"
)
_MAY_HOLD_SECRETS = ("pip.conf", "uv.toml")
_ALREADY_THERE = ("/usr", "/bin", "/lib", "/etc/alternatives")


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter, the folders that it needs to see, its prefixes, and the link outside of these folders, if any, by
    which it is found."""

    executable: str
    folders: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    link: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The files in these folders, as they are now, that may hold the password of a package index."""
        files = (f"{prefix}/{name}" for prefix in self.prefixes for name in _MAY_HOLD_SECRETS)
        return tuple(file for file in files if Path(file).is_file())


@lru_cache
def find_python(executable: str | None) -> Python:
    """The environment of an interpreter, by default the one that runs us; raises `KernelUnavailable`."""
    if executable is None or executable == sys.executable:
        executable = sys.executable
        prefixes = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    else:
        executable, *prefixes = _ask(executable)
    executable = _in_real_folder(executable)
    # Both: a link may be named in pyvenv.cfg. A way with `..` through it is that of the shell alone.
    paths = {path for prefix in prefixes for path in (prefix, os.path.realpath(prefix)) if ".." not in Path(path).parts}
    folders = _outermost(paths)
    return Python(executable, folders, tuple(sorted(paths)), _link_outside(executable, (*folders, *_ALREADY_THERE)))


def without_homes(python: Python) -> Python:
    """The same; raises `KernelUnavailable` where its folders would show a sandbox whole homes or the whole system."""
    for folder in map(Path, python.folders):
        if str(folder) in ("/", "/home") or str(folder.parent) == "/home" or _holds_a_home(folder):
            raise KernelUnavailable(
                f"the Python environment {folder} is or contains a home folder, which kernels could read",
                hint="make a virtual environment in a folder of its own (python -m venv ~/.venv) and run from there",
                code="home_exposed",
            )
    return python


def _holds_a_home(folder: Path) -> bool:
    homes = {user.pw_dir for user in pwd.getpwall() if user.pw_uid == os.getuid()} | {os.environ.get("HOME", "")}
    reals = {os.path.realpath(home) for home in homes if home.startswith("/")}
    return any(Path(home).is_relative_to(folder) for home in homes | reals)


def _in_real_folder(file: str) -> str:
    """The same file without `..` and links above it. It may be a link itself, whose place tells Python its environment;
    started by a relative path, Python knows itself by that."""
    return str(Path(file).parent.resolve() / Path(file).name)


def _link_outside(executable: str, seen: Sequence[str]) -> str | None:
    """The first path outside of what is seen that the executable leads to as a link."""
    file = Path(executable)
    while file.is_symlink():
        file = file.parent / file.readlink()
        if ".." in file.parts:
            file = Path(_in_real_folder(str(file)))
        if not any(file.is_relative_to(folder) for folder in seen):
            return str(file)
    return None


def _ask(executable: str) -> list[str]:
    """Its path and its prefixes."""
    try:
        answer = subprocess.run([executable, "-I", "-c", _ASK], capture_output=True, text=True, timeout=30, check=True)
        told: list[str] = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise KernelUnavailable(
            f"{executable!r} cannot run kernels: {error}",
            hint="name the path of a Python >= 3.11 that has ipykernel",
            code="bad_python",
        ) from error
    return told


def _outermost(folders: set[str]) -> tuple[str, ...]:
    """Without those that lie in another one, or in the system folders that are there anyway."""
    kept: list[Path] = []
    for folder in sorted(map(Path, folders)):
        above = [*kept, *map(Path, _ALREADY_THERE)]
        if not any(folder.is_relative_to(other) for other in above):
            kept.append(folder)
    return tuple(map(str, kept))
