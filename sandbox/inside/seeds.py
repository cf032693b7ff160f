"""Fixed seeds, so that the same cells give the same outputs: of `random`, and of numpy whenever it is imported.

Only numbers drawn by a generator become the same; what asks the system itself (os.urandom, secrets, uuid4) does not.
"""

import importlib.abc
import importlib.machinery
import random
import sys
from collections.abc import Sequence
from types import ModuleType

SEED = 0
_NUMPY = "numpy.random"


def fix_seeds() -> None:
    random.seed(SEED)
    if _NUMPY in sys.modules:
        _fix_numpy(sys.modules[_NUMPY])
    else:
        sys.meta_path.insert(0, _WhenNumpyComes())


def _fix_numpy(numpy_random: ModuleType) -> None:
    numpy_random.seed(SEED)
    # Where default_rng() and its like take their entropy from if they are given none.
    numpy_random.bit_generator.randbits = random.Random(SEED).getrandbits  # noqa: S311 - it shall be predictable


class _WhenNumpyComes(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _NUMPY:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _SeedingLoader(spec.loader)
        return spec


class _SeedingLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _fix_numpy(module)
