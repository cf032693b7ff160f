"""Code that is tested, and code that would rather pass without."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from toolablate.benchmarks.scoring.code import CodeScorer, read_code
from toolablate.sandbox import CellResult, KernelUnavailable, Limits, Sandbox, open_sandbox
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import CodeTarget, Question

ASSERTS = CodeTarget(tests=("assert add(2, 3) == 5", "assert add([1], [2]) == [1, 2], 'lists'"), entry_point="add")
CHECK = CodeTarget(
    tests=("def check(candidate):\n    assert candidate(2, 3) == 5\n    assert candidate('a', 'b') == 'ab'\n",),
    entry_point="add",
)
ADD = "def add(a, b):\n    return a + b"

pytestmark = pytest.mark.asyncio(loop_scope="module")


def question(target: CodeTarget) -> Question:
    return Question(id="q", prompt="p", target=target)


def reply(code: str) -> str:
    return f"Here it is:\n\n```python\n{code}\n```\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scorer() -> AsyncIterator[CodeScorer]:
    scorer = CodeScorer(sandbox=lambda: open_sandbox("bubblewrap", Limits(memory_mb=512)))
    yield scorer
    await scorer.close()


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (ASSERTS, ADD),
        (CHECK, ADD),
        (CodeTarget(tests=("assert list(up(1, 2)) == [1, 2]",)), "def up(a, b):\n    yield a\n    yield b"),
        (
            CodeTarget(tests=("node = Node(4)\nassert node.value == 4 and make(Node(2)).value.value == 2",)),
            "class Node:\n    def __init__(self, value):\n        self.value = value\n\ndef make(v):\n    return Node(v)",
        ),
        (
            CodeTarget(
                tests=("try:\n    f(1)\nexcept ValueError as e:\n    assert str(e) == 'no'\nelse:\n    assert 0",)
            ),
            "def f(x):\n    raise ValueError('no')",
        ),
        (
            CodeTarget(tests=("from collections import Counter\nassert f('aab') == Counter({'a': 2, 'b': 1})",)),
            "from collections import Counter\nf = Counter",
        ),
        (
            CodeTarget(tests=("assert math.isnan(f()) if (math := __import__('math')) else 0",)),
            "f = lambda: float('nan')",
        ),
        (
            CodeTarget(tests=("p = f(1, 2)\nassert p == (1, 2) and p.x == 1 and g(p) == 3",)),
            "from collections import namedtuple\nf = namedtuple('P', 'x y')\ndef g(p):\n    return p.x + p.y",
        ),
        (CodeTarget(tests=("x = [3, 1]\nassert f(x) is None and x == [1, 3]",)), "f = list.sort"),
        (
            CodeTarget(tests=("try:\n    f('{')\nexcept ValueError:\n    pass\nelse:\n    assert 0",)),
            "from json import loads as f",
        ),
        (
            CodeTarget(tests=("assert abs(f(2) - 1.5) < 1e-9 and g(2)",)),
            "import numpy\nf = lambda x: numpy.float64(x - 0.5)\ng = lambda x: numpy.int64(x) == 2",
        ),
        (CodeTarget(tests=("assert sum(1, 2) == 3",)), "def sum(a, b):\n    return a + b"),
    ],
)
async def test_code_that_passes_is_right(scorer: CodeScorer, target: CodeTarget, code: str) -> None:
    score = await scorer.score(question(target), "t", reply(code))
    assert (score.value, score.verdict, score.reason) == (1.0, "correct", "")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def add(a, b):\n    return a - b", "test 1 of 2:\nassert add(2, 3) == 5\ngot -1, expected 5\nAssertionError"),
        ("def add(a, b):\n    return a + b if a == 2 else None", "lists"),
        ("def add(a, b)\n    return a", "SyntaxError"),
        ("def plus(a, b):\n    return a + b", "does not define 'add'"),
        ("import os\nos._exit(0)", "ended its process"),
        ("import sys\nsys.exit(0)", "SystemExit"),
        ("def add(a, b):\n    raise SystemExit(0)", "SystemExit"),
        ("class A:\n    __eq__ = lambda s, o: True\ndef add(a, b):\n    return A()", "equals everything"),
        ("class A(int):\n    __eq__ = lambda s, o: True\ndef add(a, b):\n    return A(1)", "equals everything"),
        ("import builtins\nbuiltins.AssertionError = KeyError\ndef add(a, b):\n    return 0", "AssertionError"),
        ("import builtins\nbuiltins.exec = print\ndef add(a, b):\n    return 0", "AssertionError"),
        ("import os\nos.kill(os.getppid(), 9)", "died"),
        (
            "class E:\n    def __reduce__(s):\n        return eval, ('5',)\ndef add(a, b):\n    return E()",
            "AssertionError",
        ),
        (
            "import os, pickle, struct\nclass E:\n    def __reduce__(s):\n        return eval, ('exit()',)\n"
            "d = pickle.dumps(('value', E()))\nfor f in range(3, 99):\n    try:\n        os.write(f, struct.pack('<Q', len(d)) + d)\n"
            "    except OSError:\n        pass",
            "only the tests' end is told",
        ),
        ("def add(a, b):\n    return 'x' * 10**10", "MemoryError"),
        ("import socket\nsocket.create_connection(('1.1.1.1', 80), 1)", "Error"),
    ],
)
async def test_code_that_fails_is_wrong_whatever_it_tries(scorer: CodeScorer, code: str, told: str) -> None:
    score = await scorer.score(question(ASSERTS), "t", reply(code))
    assert (score.value, score.verdict) == (0.0, "wrong")
    assert told in score.reason


NUMPY = "import numpy as np\n"


@pytest.mark.parametrize(
    ("test", "code"),
    [
        ("assert f([1, 2, 3]) == 6", NUMPY + "f = np.sum"),
        ("assert list(f([1, 2, 3])) == [2, 4, 6]", NUMPY + "def f(x):\n    return np.array(x) * 2"),
        ("import numpy as np\nassert np.allclose(f([1, 2]), [2, 4])", NUMPY + "def f(x):\n    return np.array(x) * 2"),
        ("assert f()['a'].sum() == 3", "import pandas as pd\ndef f():\n    return pd.DataFrame({'a': [1, 2]})"),
        ("from fractions import Fraction\nassert f() == Fraction(1, 2)", "from fractions import Fraction\ndef f():\n    return Fraction(1, 2)"),
        ("import math\nassert math.isclose(f(2), 1.41421356, rel_tol=1e-6)", "import sympy\ndef f(x):\n    return sympy.sqrt(x).evalf()"),
        ("m = [[1, 2], [3, 4]]\nf(m)\nassert m == [[1, 3], [2, 4]]", "def f(m):\n    m[:] = [list(r) for r in zip(*m)]"),
        ("m = [[1, 2]]\nf(m)\nassert m == [[1]]", "def f(m):\n    m[0].pop()"),
        ("q = f()\nq.add(3)\nassert 3 in q and len(q) == 1 and str(q) == 'q'", "class f(list):\n    add = list.append\n    __str__ = lambda s: 'q'"),
        ("assert f(1) == f(1)", "class f:\n    def __init__(s, x): s.x = x\n    def __eq__(s, o): return s.x == o.x"),
        ("assert f(1) == f(1)", "from dataclasses import dataclass\n@dataclass\nclass f:\n    x: int"),
        ("assert f(lambda v: v + 1, 2) == 3", "def f(g, x):\n    return g(x)"),
        ("try:\n    f(1)\n    raise AssertionError\nexcept Mine:\n    pass", "class Mine(Exception): pass\ndef f(x):\n    raise Mine"),
        ("f()\nassert count == 1", "count = 0\ndef f():\n    global count\n    count += 1"),
        ("data = 3\ndef check(candidate):\n    assert candidate(1) == 2", "data = 1\ndef check(x):\n    return x + data\ndef f(x):\n    return check(x)"),
        ("class Node:\n    def __init__(s, v): s.v = v\nassert f(1).v == 1", "def f(x):\n    return Node(x)"),
        ("from unittest.mock import patch\nwith patch('builtins.input', return_value='3'):\n    assert f() == 3", "def f():\n    return int(input())"),
        ("import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    f()\nassert out.getvalue() == 'x\\n'", "def f():\n    print('x')"),
        ("import pickle\nassert pickle.loads(pickle.dumps(f(2))) == (2,)", "from collections import namedtuple\nf = namedtuple('f', 'x')"),
        ("def check(candidate):\n    class T:\n        def t(s):\n            assert candidate(1) == 1\n    T().t()", "def f(x):\n    return x"),
    ],
)  # fmt: skip
async def test_tests_see_all_that_python_lets_them_see(scorer: CodeScorer, test: str, code: str) -> None:
    score = await scorer.score(question(CodeTarget(tests=(test,), entry_point="f")), "t", reply(code))
    assert (score.verdict, score.reason) == ("correct", "")


@pytest.mark.parametrize(
    "code",
    [
        "def add(a, b):\n    return 0\nabs = add",
        "import builtins\ndef add(a, b):\n    builtins.abs = lambda x: 0\n    return 0",
        "import sys\ndef add(a, b):\n    return 0\nsys.modules['__main__'].__dict__.update(_Names=dict, exec=print)",
        "import os\nfor f in range(3, 99):\n    try:\n        os.write(f, b'\\x0e' + bytes(7) + b'[\"passed\", \"\"]')\n"
        "    except OSError:\n        pass\ndef add(a, b):\n    return 0",
    ],
)
async def test_code_has_no_say_in_what_the_tests_call(scorer: CodeScorer, code: str) -> None:
    target = CodeTarget(tests=("assert abs(candidate(2, 3) - 5) < 1e-6",), entry_point="add")
    assert (await scorer.score(question(target), "t", reply(code))).value == 0


async def test_what_failed_is_told_with_both_sides(scorer: CodeScorer) -> None:
    test = "def check(candidate):\n    assert candidate(1, 1) == 2\n    assert [5] == [\n        candidate(2, 3)\n    ], 'sum'\n"
    turned = CodeTarget(tests=(test,), entry_point="add")
    score = await scorer.score(question(turned), "t", reply("def add(a, b):\n    return 2"))
    assert score.reason == (
        "test 1 of 1:\nassert [5] == [\n        candidate(2, 3)\n    ], 'sum'\ngot [2], expected [5]\nAssertionError: sum"
    )


async def test_a_test_that_is_no_python_is_nobodys_fault(scorer: CodeScorer) -> None:
    score = await scorer.score(question(CodeTarget(tests=("assert f(1) = 2",))), "t", reply("def f(x):\n    return 2"))
    assert (score.value, score.verdict) == (None, "unscored")
    assert "test 1 of 1 is no Python" in score.reason


async def test_a_kernel_that_dies_once_has_not_died_of_the_code(
    scorer: CodeScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [CellResult("died", "", error="signal 9"), CellResult("ok", "0123 passed ")]

    async def run(_: object, cell: str) -> CellResult:
        return cells.pop(0)

    monkeypatch.setattr("toolablate.benchmarks.scoring.code._Kernels.run", run)
    monkeypatch.setattr("secrets.token_hex", lambda size: "0123")
    assert (await scorer.score(question(ASSERTS), "t", reply(ADD))).value == 1


@pytest.mark.deep
@pytest.mark.parametrize(
    ("code", "told"),
    [("def add(a, b):\n    while True:\n        pass", "CPU time"), ("import time\ntime.sleep(999)", "too long")],
)
async def test_code_that_does_not_end_is_wrong(code: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolablate.benchmarks.scoring.code.CPU_SECONDS", 1)
    limits = Limits(cell_seconds=60.0 if told == "CPU time" else 3.0)
    scorer = CodeScorer(sandbox=lambda: open_sandbox("bubblewrap", limits))
    try:
        score = await scorer.score(question(ASSERTS), "t", reply(code))
    finally:
        await scorer.close()
    assert score.value == 0
    assert told in score.reason


@pytest.mark.parametrize(
    ("text", "entry_point", "code"),
    [
        (reply("x = 1"), "", "x = 1\n"),
        ("```python\nx = 1\n```\n```\nx = 2\n```", "", "x = 2\n"),
        ("```python\ndef f(): pass\n```\nUse it:\n```python\nf()\n```", "f", "def f(): pass\n"),
        ("```python\nx = 1", "", "x = 1"),
        ("<think>```python\nx = 0\n```</think>```py\nx = 1\n```", "", "x = 1\n"),
        ("```bash\nls\n```", "", None),
        ("x = 1\ny = '，'", "y", "x = 1\ny = '，'"),
        ("x = 1", "", None),
        ("I cannot do it.", "", None),
        ("", "", None),
        (None, "", None),
    ],
)
async def test_the_code_of_a_reply(text: str | None, entry_point: str, code: str | None) -> None:
    assert read_code(text, entry_point).value == (None if code is None else (code,))


async def test_no_kernel_is_no_wrong_answer() -> None:
    def none_to_be_had() -> Sandbox:
        raise KernelUnavailable("there is no room", hint="make some", code="start_failed")

    scorer = CodeScorer(sandbox=none_to_be_had)
    with pytest.raises(ScoringError, match="there is no room") as caught:
        await scorer.score(question(ASSERTS), "t", reply(ADD))
    assert (caught.value.code, caught.value.hint) == ("start_failed", "make some")
