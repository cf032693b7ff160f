"""Runs the code of a reply and then the tests of its question, in one process: `python code_child.py REQUESTS REPLIES`.

Read from the descriptor REQUESTS: the code, then, once it has run, the tests, then, once they have passed, a token,
which is written back. So nothing but this program's own end counts as passed: not an exit, nor what the code prints.
The tests see the code's names, and keep their own: what they define replaces nothing that the code defines.
"""

import ast
import builtins
import contextlib
import ctypes
import json
import os
import resource
import struct
import sys
import traceback
import types
from typing import Any

_PR_SET_PDEATHSIG = 1


class _Names(dict[str, Any]):
    """The names of the tests: their own, then the built-in ones, then the code's (without an `entry_point` the code's
    come before the built-in ones). What the tests define and the code does not, the code finds too."""

    def __init__(self, code, entry_point):
        super().__init__(__name__="tests", __builtins__=builtins)
        self._code, self._codes_own, built_in = code, set(code), dict(vars(builtins))
        self._places = (built_in, code) if entry_point else (code, built_in)
        if entry_point:
            self.update({entry_point: code[entry_point], "candidate": code[entry_point]})

    def __missing__(self, name):
        return next((place for place in self._places if name in place), {})[name]

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        if name not in self._codes_own:
            self._code[name] = value


class _Compared(ast.NodeTransformer):
    """Keeps the two sides of `assert one == other`, to be told where they differ."""

    def visit_Assert(self, node):
        self.generic_visit(node)
        if _is_comparison(node.test):
            node.test.left = self._kept(0, node.test.left)
            node.test.comparators = [self._kept(1, node.test.comparators[0])]
        return node

    def _kept(self, side, value):
        kept = ast.Call(ast.Name("__kept__", ast.Load()), [ast.Constant(side), value], [])
        return ast.fix_missing_locations(ast.copy_location(kept, value))


class _EqualsAll(BaseException):
    pass


def main():
    receive, reply = _channel(int(sys.argv[1]), int(sys.argv[2]))
    loads, built_in = json.loads, dict(vars(builtins))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)
    source, entry_point, cpu_seconds = loads(receive())
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    sys.setrecursionlimit(5000)
    module = types.ModuleType("solution")
    sys.modules.update(__main__=module, solution=module, tests=types.ModuleType("tests"))
    sys.argv = ["solution"]
    try:
        exec(compile(source, "solution", "exec"), vars(module))  # noqa: S102 - what this process is for
        if entry_point and entry_point not in vars(module):
            raise NameError(f"the code does not define {entry_point!r}")
    except BaseException as error:  # noqa: BLE001 - the code may raise what it likes
        reply("failed", f"the code itself: {_told(error)}")
    vars(builtins).update(built_in)
    reply("ready")
    tests = loads(receive())
    failed = _failed(tests, _Names(vars(module), entry_point), entry_point)
    reply("failed", failed) if failed else reply("passed", receive().decode())


def _channel(requests, replies):
    """Two functions, which keep what they need, whatever the code makes of the modules: `receive` gives a message,
    `reply` sends one and, unless it is `ready`, ends the process."""
    read, write, leave = os.read, os.write, os._exit
    dumps, pack, unpack = json.dumps, struct.pack, struct.unpack

    def exactly(size):
        data = b""
        while len(data) < size:
            part = read(requests, size - len(data))
            if not part:
                leave(0)
            data += part
        return data

    def receive():
        return exactly(*unpack("<Q", exactly(8)))

    def reply(kind, said=""):
        data = dumps([kind, said]).encode()
        data = pack("<Q", len(data)) + data
        while data:
            data = data[write(replies, data) :]
        if kind != "ready":
            leave(0)

    return receive, reply


def _failed(tests, names, entry_point):
    """What failed first; empty where nothing did."""
    sides = {}

    def kept(side, value):
        sides[side] = value
        equals = type(value).__eq__
        if isinstance(equals, types.FunctionType) and equals.__module__ == "solution":
            with contextlib.suppress(Exception):  # it may look for what only its own kind has
                if equals(value, object()) is True:
                    raise _EqualsAll(f"a {type(value).__name__} of the code's equals everything")
        return value

    names.update(__kept__=kept)
    for number, test in enumerate(tests, 1):
        check = names.get("check")
        try:
            exec(compile(_Compared().visit(ast.parse(test)), f"test {number}", "exec"), names)  # noqa: S102
            if entry_point and names.get("check") is not check and isinstance(names["check"], types.FunctionType):
                names["check"](names["candidate"])
        except BaseException as error:  # noqa: BLE001 - whatever a test raises has failed it
            return f"test {number} of {len(tests)}:\n{_where(error, f'test {number}', test, sides)}{_told(error)}"
    return ""


def _told(error):
    try:
        said = f"{type(error).__name__.lstrip('_')}: {error}".rstrip(": ")
    except BaseException:  # noqa: BLE001 - the text of an exception of the code's is the code's own
        said = type(error).__name__
    return said[:1000]


def _where(error, name, test, sides):
    """The statement of the test that failed and, of a comparison, both sides, a line each."""
    frames = traceback.extract_tb(error.__traceback__)
    lines: list[Any] = [frame.lineno for frame in frames if frame.filename == name]
    if not lines:
        return ""
    statements: list[Any] = [each for each in ast.walk(ast.parse(test)) if isinstance(each, ast.stmt)]
    around = [each for each in statements if each.lineno <= lines[-1] <= each.end_lineno]
    statement = max(around, key=lambda each: (each.lineno, -each.end_lineno))
    told = f"{(ast.get_source_segment(test, statement) or '')[:500]}\n"
    comparison = isinstance(statement, ast.Assert) and _is_comparison(statement.test)
    if comparison and isinstance(error, AssertionError) and frames[-1].filename == name:
        got = any(isinstance(each, ast.Call) for each in ast.walk(statement.test.left))
        with contextlib.suppress(BaseException):  # the repr of a value of the code's is the code's own
            told += f"got {repr(sides[not got])[:200]}, expected {repr(sides[got])[:200]}\n"
    return told


def _is_comparison(test):
    return isinstance(test, ast.Compare) and len(test.ops) == 1


main()
