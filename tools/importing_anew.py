"""A user's own modules are imported anew where their files were edited: a run has the code that its store names."""

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from toolablate.tools.own_source import LIBRARIES, closure, digests_of, editable_file, root_of, source_of
from toolablate.traces.plugins import OURS

# By name what a run was told of: the module, or None where nothing had imported it yet, and its digest then.
_known: dict[str, tuple[ModuleType | None, str]] = {}
# Of what was imported for a run the packages, and modules in none, that it is made of.
_made_of: dict[str, frozenset[str]] = {}


@contextmanager
def importing_as_it_stands(module: str, folder: Path) -> Iterator[dict[str, str]]:
    """What is imported inside has the code that the files hold now, which `code_source` says: where one of them was
    edited after it was imported in this process, or lies elsewhere, all are forgotten with the packages that they are
    in, and what else was imported that is made of them. Inside is to import the module."""
    files = closure(module, editable_file(module, folder))
    digests = digests_of(files)
    made_of = frozenset(root_of(name) for name in digests)
    running = {name: sys.modules[name] for name in digests if _may_be_edited(sys.modules.get(name))}
    if _are_elsewhere(files) or any(
        _is_older(name, here, digests[name], files[name]) for name, here in running.items()
    ):
        _forget(made_of)
    yield source_of(module, digests)
    _made_of[module] = made_of
    _known.update({name: (sys.modules.get(name), digest) for name, digest in digests.items()})


def _are_elsewhere(files: Mapping[str, Path]) -> bool:
    """Whether a package that one of these is in was imported from another folder, whatever its own file holds."""
    for name, path in files.items():
        inner = path.parent if path.name == "__init__.py" else path
        while "." in name:
            name, inner = name.rpartition(".")[0], inner.parent
            here = sys.modules.get(name)
            if _may_be_edited(here) and not any(_is_same(each, inner) for each in getattr(here, "__path__", ())):
                return True
    return False


def _forget(roots: Collection[str]) -> None:
    """Packages whole: what was imported from one is kept in it as well."""
    forgotten = set(roots)
    while more := [several for several in _made_of.values() if several & forgotten and not several <= forgotten]:
        forgotten.update(*more)
    # A namespace looks its place up in the package that it is in.
    for name in [each for each, here in sys.modules.items() if root_of(each) in forgotten and _may_be_edited(here)]:
        file = getattr(sys.modules.pop(name), "__file__", None)
        with suppress(OSError, NotImplementedError):
            # Bytecode is told apart by the second.
            if file:
                Path(importlib.util.cache_from_source(file)).unlink(missing_ok=True)
    importlib.invalidate_caches()


def _may_be_edited(module: ModuleType | None) -> bool:
    """Whether it is the user's: a file beside an agent may have the name of a library that is imported."""
    file = getattr(module, "__file__", None)
    # A package without a file of its own has its folders.
    places = [file] if file else [*getattr(module, "__path__", ())]
    ours = root_of(str(getattr(module, "__name__", ""))) == OURS
    return bool(places) and not ours and not any(str(place).startswith(LIBRARIES) for place in places)


def _is_older(name: str, module: ModuleType, digest: str, path: Path) -> bool:
    """Whether what is imported under this name may have other code than the file. Of what others imported it is known
    only when the file was last changed; `cp -p`, `rsync -t` and `tar` set the time of its writing."""
    known, before = _known.get(name, (None, digest))
    if before != digest or not _is_same(module.__file__ or "", path):
        return True
    file = path.stat()
    return known is not module and max(file.st_mtime, file.st_ctime) >= _process_began()


def _is_same(one: str, other: Path) -> bool:
    """A folder may be in `sys.path` by several names."""
    with suppress(OSError):
        return other.samefile(one)
    return False


@lru_cache
def _process_began() -> float:
    """When this process was started, by the clock of files; where the system does not tell it, before all of them."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, AttributeError):
        return 0.0
    return time.time() - since_boot + ticks / os.sysconf("SC_CLK_TCK")
