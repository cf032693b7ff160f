"""Virtual environments for kernels."""

import shutil
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def environment_in(folder: Path) -> str:
    """A virtual environment with what a kernel needs and a module of its own; gives its interpreter."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for each in with_what_it_needs("ipykernel", {}).values():
        for file in each.files or ():
            if ".." not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), site / file)
    (site / "late.py").write_text("x = 42")
    return str(folder / "bin/python")


def with_what_it_needs(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """A distribution and those that it needs, which are added to those that are `found`."""
    if (canonical := canonicalize_name(name)) not in found:
        found[canonical] = distribution(name)
        for wanted in map(Requirement, found[canonical].requires or ()):
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                with_what_it_needs(wanted.name, found)
    return found
