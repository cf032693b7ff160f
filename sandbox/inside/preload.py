"""What a fork server has ready: the scientific stack, and the ways through it that cells usually take."""

import contextlib
import ctypes
import gc
import importlib
import os
import re
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

_MODULES = """
    faulthandler tornado.platform.asyncio
    asyncio collections csv dataclasses datetime decimal fractions functools hashlib heapq html io itertools json math
    multiprocessing operator pickle random re sqlite3 statistics string subprocess textwrap typing unicodedata
    IPython.core.completer IPython.core.magics IPython.core.pylabtools IPython.display jedi
    numpy numpy.linalg numpy.fft numpy.polynomial
    scipy scipy.constants scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.optimize scipy.signal
    scipy.sparse scipy.sparse.linalg scipy.spatial scipy.special scipy.stats
    pandas sympy matplotlib matplotlib.pyplot matplotlib_inline.backend_inline PIL.PngImagePlugin mpmath
""".split()  # noqa: SIM905 - to be read and extended as a text

_CELLS = (
    "print('x')\ndisplay(1 + 1)",
    "1 / 0",
    "import numpy as np\ndisplay(np.arange(3.0) @ np.arange(3.0))",
    "import pandas as pd\ndisplay(pd.DataFrame({'a': [1, 2]}))",
    "import sympy\ndisplay(sympy.solve(sympy.Symbol('x') ** 2 - 1))",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('x')\ndisplay(plt.gcf())\nplt.close('all')",
)
_COLLAPSE = 25  # MADV_COLLAPSE, since Linux 6.1
_HUGE_PAGE = 1 << 21
_PRIVATE_MEMORY = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p 00000000 00:00 0 +(?!\[stack\])")


def preload(shell: Any) -> None:
    """Imports what is there, and runs a few cells, so that caches are filled before the forks and not after each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in _MODULES:
            # One that is missing, or broken, is so for the cell that imports it as well.
            with contextlib.suppress(Exception, SystemExit):
                importlib.import_module(name)
            _require_one_thread(f"importing {name} starts")
        _run_cells(shell)


def _run_cells(shell: Any) -> None:
    """Leaves nothing of them in the shell."""
    shell.displayhook.pub_socket = shell.display_pub.pub_socket = _Nobody()
    names = dict(shell.user_ns)
    for cell in _CELLS:
        shell.run_cell(cell, store_history=False)
    for name in shell.user_ns.keys() - names.keys():
        del shell.user_ns[name]
    shell.user_ns.update(names)
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)


class _Nobody:
    """A socket that nobody listens to."""

    def send_multipart(self, *_: Any, **__: Any) -> None: ...


def settle_for_forks() -> None:
    """Keeps what is here now out of the collector's way, and makes a fork cheap; exits where there are threads."""
    _require_one_thread("an imported package started")
    gc.collect()
    gc.freeze()
    _gather_in_huge_pages()


def _require_one_thread(who: str) -> None:
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
        names = [thread.name for thread in threading.enumerate()][1:]
        raise SystemExit(f"{who} threads {names}, which no fork keeps: use the backend bubblewrap")


def _gather_in_huge_pages() -> None:
    """A fork copies one entry for 2 MB then, and not 512. Older kernels refuse, and lose nothing but that."""
    madvise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        if found := _PRIVATE_MEMORY.match(line):
            start, end = (int(address, 16) for address in found.groups())
            start, end = -(-start // _HUGE_PAGE) * _HUGE_PAGE, end // _HUGE_PAGE * _HUGE_PAGE
            if start < end:
                madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _COLLAPSE)
