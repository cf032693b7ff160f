"""Packages whose parts are imported when they are first asked for, so that who needs little waits for little."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def importing(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """A `__getattr__` for a package: `modules` has the names that each of its modules offers."""
    homes = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return get
