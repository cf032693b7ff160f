"""What it takes to make the result of a program right: other numbers in place of its own, or another computation."""

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from toolablate.analysis.attribution.signals.answers import NUMBER, normal_number, plain
from toolablate.analysis.attribution.signals.signal_types import CallSignal, Repair
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import Target

MOST_CODE = 5_000
"""Characters of a program that are read: who copies a number wrong writes a short one."""

MOST_NUMBERS = 300
"""Numbers of the question, the last of them, that are tried."""

MOST_INPUTS = 8
TELLING = {1: 2, 2: 3}
"""Significant digits of the right answer by how many literals are exchanged: fewer are met by chance."""

_MOST_STEPS = 200
_LARGEST = 1e15


class _Unknown(Exception):
    """The program does what is not followed here: only assignments and arithmetic are."""


def repair(calls: Sequence[CallSignal], target: Target, prompt: str) -> Repair | None:
    """Of the last program that ran, where its result is not the right answer already.

    `stated`: it computes nothing, and what it prints stands in it. `literal`: it gives the right answer once one or two
    of the numbers that it gives names to are other numbers of the question; two that change places are no such case,
    and of a result whose sign alone is wrong only a number's own sign. None where neither is so, or the program is more
    than arithmetic, or the target is no single number (`stated` but for that).
    """
    ran = [call for call in calls if call.form == "code" and call.made.status == "ok"]
    tree = _parsed(ran[-1].asked) if ran else None
    if tree is None:
        return None
    wanted = _number_of(target)
    printed = [float(normal_number(found[0])) for found in NUMBER.finditer(plain(ran[-1].output))]
    if wanted is not None and printed[-1:] == [float(normal_number(wanted))]:
        return None
    if _states(tree):
        return Repair(ran[-1].event, "stated")
    if wanted is None or not ran[-1].output.strip():
        return None
    given = dict.fromkeys(float(normal_number(found[0])) for found in NUMBER.finditer(plain(prompt)))
    numbers = np.array(sorted(list(given)[-MOST_NUMBERS:]))
    try:
        found = numbers.size > 0 and _by_literals(tree, numbers, wanted)
    except (_Unknown, RecursionError, OverflowError):
        return None
    return Repair(ran[-1].event, "literal") if found else None


def _parsed(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code) if len(code) <= MOST_CODE else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _number_of(target: Target) -> str | None:
    """As a numeral, with the decimals that it has."""
    match target.kind:
        case "number":
            texts: tuple[str, ...] = (repr(target.value),)
        case "spans":
            texts = target.spans
        case "text" | "math":
            texts = target.answers[:1]
        case _:
            return None
    found = [each[0] for text in texts for each in NUMBER.finditer(plain(text))]
    return found[0] if len(found) == 1 else None


_PRINTING = frozenset({"print", "dumps", "isinstance", "list", "str", "json"})


def _states(tree: ast.Module) -> bool:
    """Whether all that it does is to assign constants and to print."""
    computing = (ast.BinOp, ast.Compare, ast.For, ast.While, ast.FunctionDef, ast.comprehension, ast.Subscript)
    assigned = False
    for node in ast.walk(tree):
        if isinstance(node, computing):
            return False
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name not in _PRINTING:
                return False
        assigned = assigned or isinstance(node, ast.Assign)
    return assigned


def _by_literals(tree: ast.Module, numbers: Floats, wanted: str) -> bool:
    found = dict(list(_inputs(tree))[:MOST_INPUTS])
    inputs, own = list(found), np.array(list(found.values()))
    digits = len(normal_number(wanted).partition("e")[0].replace("-", "").replace(".", "").strip("0"))
    right = float(normal_number(wanted))
    near = 0.5 * 10.0 ** -len(wanted.partition(".")[2]) * (1 + 1e-9)
    (result,) = np.unique(_run(tree, {})) if inputs else (right,)
    if abs(result - right) <= near:
        return False
    for count in (1, 2):
        for chosen in combinations(range(len(inputs)), count) if digits >= TELLING[count] else ():
            other_sign = abs(result + right) <= near
            tried = np.intersect1d(numbers, -own[list(chosen)]) if other_sign else numbers
            columns = np.meshgrid(*[tried] * count, indexing="ij")
            # What stood in the program already only changes places.
            new = ~np.all([np.isin(column, own) for column in columns], axis=0)
            hits = np.abs(_run(tree, dict(zip((inputs[n] for n in chosen), columns, strict=True))) - right) <= near
            if np.any(hits & new):
                return True
    return False


def _inputs(tree: ast.Module) -> Iterator[tuple[ast.Constant, float]]:
    """Numbers that are given a name: those inside a formula, such as the 2 of a mean, are a part of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            value = node.value.operand if isinstance(node.value, ast.UnaryOp) else node.value
            match value:
                case ast.Constant(value=int() | float() as number) if -_LARGEST < number < _LARGEST:
                    yield value, float(number)


# Arithmetic over arrays: every way to exchange the numbers at once.


_OPERATIONS: Mapping[type[ast.operator], Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
}


def _run(tree: ast.Module, exchanged: Mapping[ast.Constant, Floats]) -> Floats:
    """What the program computes last, or prints, with arrays in place of some of its numbers."""
    with np.errstate(all="ignore"):
        return np.asarray(_Run(exchanged).last(tree.body), dtype=float)


class _Run:
    def __init__(self, exchanged: Mapping[ast.Constant, Floats]) -> None:
        self._exchanged = exchanged
        self._functions: dict[str, ast.FunctionDef] = {}
        self._steps = 0

    def last(self, body: Sequence[ast.stmt]) -> Any:
        names: dict[str, Any] = {}
        found = self._block(body, names)
        if found is None:
            found = names.get("ans", names.get("answer"))
        if found is None:
            raise _Unknown
        return found

    def _block(self, body: Sequence[ast.stmt], names: dict[str, Any]) -> Any:
        """What it returns, or prints last; None where it does neither in numbers."""
        printed = None
        for statement in body:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise _Unknown
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    names[name] = self._value(value, names)
                case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                    names[name] = self._operation(op, names.get(name), self._value(value, names))
                case ast.FunctionDef(name=name, args=ast.arguments(args=[], kwonlyargs=[], vararg=None, kwarg=None)):
                    self._functions[name] = statement
                case ast.Return(value=ast.expr() as value):
                    return self._value(value, names)
                case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[only])):
                    shown = self._shown(only, names)
                    printed = printed if shown is None else shown
                case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Pass():
                    pass
                case _:
                    raise _Unknown
        return printed

    def _shown(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """A number, or None where what is printed is put together of several things."""
        try:
            return self._value(node, names)
        except _Unknown:
            return None

    def _value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=str()):
                return None
            case ast.Constant(value=int() | float() as value):
                return self._exchanged.get(node, float(value))
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._operation(ast.Sub(), 0.0, self._value(operand, names))
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(op, self._value(left, names), self._value(right, names))
            case ast.Call(func=ast.Name(id=name), args=[]) if name in self._functions:
                return self._block(self._functions[name].body, {})
            case ast.Call(func=ast.Name(id="abs"), args=[only]):
                return np.abs(self._number(self._value(only, names)))
            case ast.Call(func=ast.Name(id="float" | "int" | "round"), args=[only, *_]):
                # Rounding is left to the comparison with the right answer.
                return self._number(self._value(only, names))
        raise _Unknown

    def _operation(self, op: ast.operator, left: Any, right: Any) -> Any:
        if type(op) not in _OPERATIONS:
            raise _Unknown
        return _OPERATIONS[type(op)](self._number(left), self._number(right))

    @staticmethod
    def _number(value: Any) -> Any:
        if value is None:
            raise _Unknown
        return value
