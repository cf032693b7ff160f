"""What a cell shows, on every backend."""

import base64

import pytest

from toolablate.sandbox import Kernel

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("code", "status", "text"),
    [
        ("1 + 1", "ok", "2\n"),
        ("", "ok", ""),
        ("x = 1;", "ok", ""),
        ("print('a'); 'b'", "ok", "a\n'b'\n"),
        ("import sys; print('out'); print('err', file=sys.stderr); print('out again')", "ok", None),
        ("import os; _ = os.write(1, b'raw\\n')", "ok", "raw\n"),
        ("print('\\x1b[31mred\\x1b[0m')", "ok", "red\n"),
        ("print('\\ud800 half', '\\N{GREEK SMALL LETTER ALPHA}')", "ok", "\ufffd half \N{GREEK SMALL LETTER ALPHA}\n"),
        ("float('nan')", "ok", "nan\n"),
        ("from IPython.display import display; display(1); display(2)", "ok", "1\n2\n"),
        ("print('\\0')", "ok", "\0\n"),
        ("import asyncio\nawait asyncio.sleep(0.01, 7)", "ok", "7\n"),
        ("async def g():\n  return 8\nprint(await g())", "ok", "8\n"),
        ("code = '\ud800'", "ok", ""),
    ],
)
async def test_output(shared_kernel: Kernel, code: str, status: str, text: str | None) -> None:
    result = await shared_kernel.execute(code)
    assert (result.status, result.error, result.truncated) == (status, "", False)
    if text is not None:
        assert result.text == text
    result.text.encode()


LATE = """
import os, threading, time
read = os.read
def late(descriptor, count):
    said = read(descriptor, count)
    if threading.current_thread() is not threading.main_thread(): time.sleep(0.5)
    return said
os.read = late
_ = os.write(1, b'at once')
"""
"""Whatever other threads read counts half a second later; the one that was waiting already is in time once more."""


async def test_what_programs_print_belongs_to_their_cell_however_late_it_is_read(shared_kernel: Kernel) -> None:
    await shared_kernel.execute(LATE)
    results = [await shared_kernel.execute(code) for code in ("_ = os.write(1, b'raw\\n')", "1")]
    await shared_kernel.execute("os.read = read")
    assert [result.text for result in results] == ["raw\n", "1\n"]


async def test_what_programs_print_is_read_by_whole_characters(shared_kernel: Kernel) -> None:
    result = await shared_kernel.execute("import os; _ = os.write(1, '\u20ac'.encode() * 2_000)")
    assert result.text == "\u20ac" * 2_000


TAKEN = """
import sys
sys.stdout._is_there = lambda milliseconds: True
sys.stdout.flush()
del sys.stdout._is_there
print('on')
"""
"""As where a handler of a signal flushes between the look and the reading: what was there is gone."""


async def test_a_flush_waits_for_nothing_that_another_has_taken(shared_kernel: Kernel) -> None:
    assert (await shared_kernel.execute(TAKEN)).text == "on\n"


async def test_state_lives_between_cells(shared_kernel: Kernel) -> None:
    await shared_kernel.execute("x = 20; open('note.txt', 'w').write('kept')")
    assert (await shared_kernel.execute("x + 22, open('note.txt').read()")).text == "(42, 'kept')\n"


@pytest.mark.parametrize(
    ("code", "error", "last_line"),
    [
        ("print('before')\n1 / 0", "ZeroDivisionError", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError", "SyntaxError: invalid syntax"),
        ("raise SystemExit(3)", "SystemExit", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt: "),
        ("bytearray(10**10)", "MemoryError", "MemoryError: "),
        ("def f(): f()\nf()", "RecursionError", None),
    ],
)
async def test_traceback(shared_kernel: Kernel, code: str, error: str, last_line: str | None) -> None:
    result = await shared_kernel.execute(code)
    assert (result.status, result.error) == ("error", error)
    assert "\x1b" not in result.text
    assert last_line is None or last_line in result.text
    assert result.text.startswith("before\n") or "before" not in code
    assert (await shared_kernel.execute("'alive'")).text == "'alive'\n"


async def test_figure_is_a_picture(shared_kernel: Kernel) -> None:
    result = await shared_kernel.execute("import matplotlib.pyplot as plt; _ = plt.plot([1, 2])")
    assert result.status == "ok", result.text
    [figure] = [rich for rich in result.rich if rich.mime == "image/png"]
    assert base64.b64decode(figure.data).startswith(b"\x89PNG")


async def test_rich_outputs_are_text(shared_kernel: Kernel) -> None:
    result = await shared_kernel.execute(
        "from IPython.display import *; display(HTML('<b>x</b>'), SVG('<svg/>'), JSON({'a': 1}))"
    )
    kept = {rich.mime: rich.data for rich in result.rich}
    assert kept["text/html"] == "<b>x</b>"
    assert kept["image/svg+xml"] == "<svg/>"
    assert kept["application/json"] == '{"a": 1}'


async def test_input_is_refused_with_a_reason(shared_kernel: Kernel) -> None:
    result = await shared_kernel.execute("name = input('name? ')")
    assert result.status == "error"
    assert "input() cannot be answered here" in result.text


async def test_scientific_stack_fits_the_limits(shared_kernel: Kernel) -> None:
    code = (
        "import numpy as np, scipy.stats, pandas as pd, sympy as sp\n"
        "x = sp.symbols('x')\n"
        "print(np.arange(3).sum(), scipy.stats.norm.cdf(0), pd.Series([1, 2]).mean(), sp.integrate(x, x))"
    )
    result = await shared_kernel.execute(code)
    assert (result.status, result.text) == ("ok", "3 0.5 1.5 x**2/2\n"), result.text


async def test_environment_is_fixed(shared_kernel: Kernel) -> None:
    code = "import os, time; print(hash('a'), time.tzname[0], os.environ['LANG'], os.environ['OMP_NUM_THREADS'])"
    first = await shared_kernel.execute(code)
    assert first.text.split()[1:] == ["UTC", "C.UTF-8", "1"]
    await shared_kernel.execute("os._exit(0)")
    assert (await shared_kernel.execute(code)).text.split() == first.text.split()


async def test_help_is_shown(shared_kernel: Kernel) -> None:
    assert "Return the number of items" in (await shared_kernel.execute("len?")).text


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("import socket; socket.getaddrinfo('example.org', 80)", "[there is no network here]"),
        ("x = bytearray(10**12)", "[the code may use 500 MB of memory]"),
    ],
    ids=["network", "memory"],
)
async def test_what_the_sandbox_does_not_have_is_said(shared_jail: Kernel, code: str, note: str) -> None:
    assert (await shared_jail.execute(code)).text.endswith(note)
