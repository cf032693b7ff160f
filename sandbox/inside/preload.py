"""What a fork server has ready: the scientific stack, and the paths through it that cells usually take."""

import contextlib
import importlib
from typing import Any

_MODULES = [
    "asyncio",
    "collections",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "html",
    "io",
    "itertools",
    "json",
    "math",
    "multiprocessing",
    "operator",
    "pickle",
    "random",
    "re",
    "sqlite3",
    "statistics",
    "string",
    "subprocess",
    "textwrap",
    "typing",
    "unicodedata",
    "IPython.core.completer",
    "IPython.core.magics",
    "IPython.core.pylabtools",
    "IPython.display",
    "ipykernel.datapub",
    "jedi",
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.polynomial",
    "scipy",
    "scipy.constants",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.special",
    "scipy.stats",
    "pandas",
    "sympy",
    "matplotlib",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "PIL.PngImagePlugin",
    "mpmath",
]

_CELLS = (
    "1 + 1",
    "print('x')",
    "1 / 0",
    "import numpy as np; np.arange(3) @ np.arange(3)",
    "import pandas as pd; pd.DataFrame({'a': [1, 2]})",
    "import sympy; sympy.solve(sympy.Symbol('x') ** 2 - 1)",
)


def preload(shell: Any) -> None:
    """Imports what is there, and runs a few cells, so that caches are filled before the fork and not after it."""
    for name in _MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    ...
