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
        ("def add(a, b):\n    return a - b", "test 1 of 2, assert add(2, 3) == 5: AssertionError"),
        ("def add(a, b):\n    return a + b if a == 2 else None", "lists"),
        ("def add(a, b)\n    return a", "SyntaxError"),
        ("def plus(a, b):\n    return a + b", "does not define 'add'"),
        ("import os\nos._exit(0)", "ended its process"),
        ("import sys\nsys.exit(0)", "SystemExit"),
        ("def add(a, b):\n    raise SystemExit(0)", "SystemExit"),
        ("class A:\n    __eq__ = lambda s, o: True\ndef add(a, b):\n    return A()", "AssertionError"),
        ("class A(int):\n    __eq__ = lambda s, o: True\ndef add(a, b):\n    return A(1)", "AssertionError"),
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
            "no plain data",
        ),
        ("def add(a, b):\n    return 'x' * 10**10", "MemoryError"),
        ("import socket\nsocket.create_connection(('1.1.1.1', 80), 1)", "Error"),
    ],
)
async def test_code_that_fails_is_wrong_whatever_it_tries(scorer: CodeScorer, code: str, told: str) -> None:
    score = await scorer.score(question(ASSERTS), "t", reply(code))
    assert (score.value, score.verdict) == (0.0, "wrong")
    assert told in score.reason


async def test_code_has_no_say_in_how_values_are_compared(scorer: CodeScorer) -> None:
    """A pickle that sets `Counter.__eq__` to `bool`, and a class of Python's own for what the tests compare with."""
    pickled = b"\x80\x04(X\x05\x00\x00\x00valueccollections\nCounter\nN}X\x06\x00\x00\x00__eq__cbuiltins\nbool\ns\x86b)R](NNe\x86t."
    forged = (
        "import os, struct, sys\n"
        f"def add(a, b):\n    data = {pickled!r}\n"
        "    os.write(int(sys.argv[2]), struct.pack('<Q', len(data)) + data)"
    )
    target = CodeTarget(tests=("assert candidate(2, 3) == 5",), entry_point="add")
    assert (await scorer.score(question(target), "t", reply(forged))).value == 0
    near = CodeTarget(tests=("assert abs(candidate(2, 3) - 5) < 1e-6",), entry_point="add")
    assert (await scorer.score(question(near), "t", reply("def add(a, b):\n    return 0\nabs = add"))).value == 0


async def test_a_test_that_gives_more_than_plain_data_is_nobodys_fault(scorer: CodeScorer) -> None:
    target = CodeTarget(tests=("assert apply(lambda x: x + 1, 2) == 3",))
    score = await scorer.score(question(target), "t", reply("def apply(f, x):\n    return f(x)"))
    assert (score.value, score.verdict) == (None, "unscored")
    assert "cannot be given what the test gives it" in score.reason


async def test_a_kernel_that_dies_once_has_not_died_of_the_code(
    scorer: CodeScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [CellResult("died", "", error="signal 9"), CellResult("ok", "0123 passed ")]

    async def run(_: object, cell: str) -> CellResult:
        return cells.pop(0)

    monkeypatch.setattr("toolablate.benchmarks.scoring.code._Kernels.run", run)
    monkeypatch.setattr("secrets.token_hex", lambda size: "0123")
    assert (await scorer.score(question(ASSERTS), "t", reply(ADD))).value == 1


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
