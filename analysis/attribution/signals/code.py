"""Code that answers a finite, numeric question in place of a general one, by Python's own parser."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from toolablate.analysis.attribution.signals.signal_types import CallSignal, Check, CheckKind, Reformulation

ASKING = 1_200
"""Characters of the end of a prompt in which a question asks; what stands before them is told."""

_ENGLISH = (
    r"for\s(?:all|every|any|each)|every|there\s(?:exists?|is\sno|are\s(?:no|infinitely))|exists?|existence"
    r"|pro(?:ve|of|ved)|infinite(?:ly)?|infinity|limits?|limiting|converge(?:s|nt|nce)?|diverge(?:s|nt|nce)?|asymptotic(?:ally)?"
    r"|always|never|minimum|minimal|minimi[sz]e[sd]?|maximum|maximal|maximi[sz]e[sd]?|supremum|infimum|smallest|largest"
    r"|necessary|sufficient|all\s(?:positive|natural|real|integers?|primes?|n|x|such)"
)
_CHINESE = (
    r"所有|任意|任何|对一切|每[个一]|存在|证明|无穷|无限|极限|收敛|发散|渐近|恒|总是|最小|最大|充分|必要|上确界|下确界"
)
_GENERAL = re.compile(rf"\b(?:{_ENGLISH})\b|{_CHINESE}", re.IGNORECASE)
# What is said of the form of the answer asks nothing.
_FORM = re.compile(
    r"\b(?:all\s(?:that\sapply|of\sthe\s(?:above|following)|right\schoices)|every\s(?:option|statement|correct))\b|所有正确",
    re.IGNORECASE,
)
_MOST = 8
_BOUND = re.compile(
    r"(?:\b(?:up\sto|at\smost|no\smore\sthan|exceed(?:ing)?|less\sthan|fewer\sthan|below|under|to|and|through|until|first)"
    r"|≤|<=?|\\leq?(?:slant)?|\\l?dots,?|\.\.\.,?|…,?|前|到|至|不超过|小于|不大于)[\s$]{0,3}"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,5}|\d{1,15})(?:\^\{?(?P<power>\d{1,2}))?",
    re.IGNORECASE,
)


# Trials of one question are read one after the other.
@lru_cache(maxsize=8)
def general_words(prompt: str) -> tuple[str, ...]:
    """In their order, lower-cased, each once and the first few alone."""
    asking = _FORM.sub(" ", prompt[-ASKING:])
    found = (" ".join(match[0].lower().split()) for match in _GENERAL.finditer(asking))
    return tuple(dict.fromkeys(found))[:_MOST]


@lru_cache(maxsize=8)
def bounds(prompt: str) -> frozenset[int]:
    """The numbers up to which a question asks ("n up to 1,000", "1 ≤ n ≤ 10^6"), and both neighbours of each, since a
    loop may leave the last one out."""
    found: set[int] = set()
    for match in _BOUND.finditer(prompt):
        base, power = int(match["digits"].replace(",", "")), int(match["power"] or 1)
        if power == 1 or base <= 10:
            found.add(base**power)
    return frozenset(near for bound in found for near in (bound - 1, bound, bound + 1))


WEIGHTS: dict[CheckKind, float] = {
    "bounded_loop": 0.5,
    "grid": 0.5,
    "random_sample": 0.6,
    "tolerance": 0.4,
    "rounding": 0.2,
}
"""How far one kind of check supports it. They join as independent reasons do: 1 less the product of what each leaves.
Set by hand; what they are worth is for a benchmark with known causes to say."""

SHORTEST_LOOP = 10
MOST_CODE = 100_000
"""Characters of one cell that are read."""

MOST_CHECKS = 50
_EXCERPT = 120
_LARGEST = 10**15
_CALLS: dict[CheckKind, frozenset[str]] = {
    "grid": frozenset({"linspace", "arange", "logspace", "geomspace", "meshgrid"}),
    "tolerance": frozenset({"isclose", "allclose", "assert_allclose", "approx"}),
    "rounding": frozenset({"round", "around"}),
}
_SAMPLERS = frozenset(
    {
        "randint",
        "uniform",
        "normal",
        "default_rng",
        "randrange",
        "rand",
        "randn",
        "gauss",
        "integers",
        "standard_normal",
    }
)
_DRAWS = frozenset({"random", "choice", "choices", "sample", "shuffle", "permutation"})
_CHANCE = frozenset({"random", "rng", "rnd", "generator"})
_EXACT = frozenset({"sympy", "z3"})
_TELLING = re.compile("|".join(sorted({"for", "while", "abs", *_SAMPLERS, *_DRAWS, *_EXACT, *chain(*_CALLS.values())})))
"""Code without any of these words holds no check and imports nothing exact, which is found out sooner than parsed."""

_LEAVES = frozenset({ast.Name, ast.Constant, ast.alias}).union(
    *(kind.__subclasses__() for kind in (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop))
)


def reformulation(calls: Sequence[CallSignal], prompt: str) -> Reformulation:
    """Loops up to a bound that the question itself sets are what it asks for, and no check."""
    asks, asked = general_words(prompt), bounds(prompt)
    checks: list[Check] = []
    symbolic: list[int] = []
    for call in calls:
        tree = _parsed(call) if call.form == "code" and call.made.status != "invalid" else None
        if tree is None:
            continue
        nodes = _nodes(tree)
        checks += _checks(call, nodes, asked)
        if any(map(_imports_exact, nodes)):
            symbolic.append(call.event)
    kept = tuple(checks[:MOST_CHECKS])
    return Reformulation(_score(asks, kept, symbolic), asks, kept, tuple(symbolic))


def _score(asks: Sequence[str], checks: Sequence[Check], symbolic: Sequence[int]) -> float:
    if not asks:
        return 0.0
    left = 1.0
    for kind in {check.kind for check in checks}:
        left *= 1 - WEIGHTS[kind]
    return (1 - left) * (0.5 if symbolic else 1.0)


def _parsed(call: CallSignal) -> ast.Module | None:
    """None where a cell tells nothing, or is no Python, as one that breaks off; lines that only a notebook knows are
    left out."""
    code = call.asked[:MOST_CODE]
    # The parser takes other forms of a letter for the letter.
    if code.isascii() and not _TELLING.search(code):
        return None
    lines = (_without_magic(line) for line in code.split("\n"))
    try:
        with warnings.catch_warnings():
            # Code that a model wrote warns of nothing here.
            warnings.simplefilter("ignore")
            return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _without_magic(line: str) -> str:
    bare = line.lstrip()
    return line[: len(line) - len(bare)] + "pass" if bare.startswith(("%", "!")) else line


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """In the order of `ast.walk`, without those that hold no others."""
    found: list[ast.AST] = [tree]
    for node in found:
        for field in node._fields:
            held = getattr(node, field, None)
            for each in held if isinstance(held, list) else (held,):
                if isinstance(each, ast.AST) and type(each) not in _LEAVES:
                    found.append(each)
    return found


def _checks(call: CallSignal, nodes: Sequence[ast.AST], asked: frozenset[int]) -> list[Check]:
    known = _constants(nodes)
    lines = call.asked[:MOST_CODE].split("\n")
    found: dict[tuple[int, CheckKind], Check] = {}
    for node in nodes:
        for place, kind in _kinds(node, known, asked):
            text = " ".join(lines[place - 1].split())[:_EXCERPT] if place <= len(lines) else ""
            found.setdefault((place, kind), Check(call.event, place, kind, text))
    return [found[key] for key in sorted(found)]


def _kinds(node: ast.AST, known: dict[str, int], asked: frozenset[int]) -> Iterator[tuple[int, CheckKind]]:
    """The line, from 1, and the kind of each check that one node makes."""
    match node:
        case ast.For(iter=source) | ast.AsyncFor(iter=source) | ast.comprehension(iter=source):
            if _is_bounded(source, known, asked):
                yield source.lineno, "bounded_loop"
        case ast.While(test=ast.Compare(comparators=[bound])) if _is_long(_value(bound, known), asked):
            yield node.lineno, "bounded_loop"
        case ast.Call(func=function):
            kind = _kind_of_call(function)
            if kind:
                yield node.lineno, kind
        case ast.Compare(left=ast.Call(func=ast.Name(id="abs")), ops=[ast.Lt() | ast.LtE()], comparators=[bound]):
            if _is_small(bound):
                yield node.lineno, "tolerance"


def _kind_of_call(function: ast.expr) -> CheckKind | None:
    name = _name(function)
    if name in _SAMPLERS or (name in _DRAWS and _owner(function) in _CHANCE):
        return "random_sample"
    return next((kind for kind, names in _CALLS.items() if name in names), None)


def _is_bounded(source: ast.expr, known: dict[str, int], asked: frozenset[int]) -> bool:
    """Whether what a loop goes through is a range up to a number, also inside `product`, `enumerate` and the like."""
    ranges = [
        node
        for node in ([source, *source.args] if isinstance(source, ast.Call) else [source])
        if isinstance(node, ast.Call) and _name(node.func) in ("range", "primerange") and node.args
    ]
    return any(_is_long(_value(node.args[min(1, len(node.args) - 1)], known), asked) for node in ranges)


def _is_long(bound: int | None, asked: frozenset[int]) -> bool:
    return bound is not None and bound >= SHORTEST_LOOP and bound not in asked


def _constants(nodes: Sequence[ast.AST]) -> dict[str, int]:
    """Names that are given a whole number once and for all to begin with."""
    found: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _value(node.value, found)
            if value is not None:
                found.setdefault(node.targets[0].id, value)
    return found


def _value(node: ast.expr, known: dict[str, int], depth: int = 3) -> int | None:
    """The whole number that a short expression of numbers stands for; no power is computed that could be large."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) <= _LARGEST:
            return int(value)
        case ast.Name(id=name):
            return known.get(name)
        case ast.Call(func=ast.Name(id="int"), args=[only]) if depth:
            return _value(only, known, depth - 1)
        case ast.BinOp(left=left, op=op, right=right) if depth:
            return _combined(_value(left, known, depth - 1), op, _value(right, known, depth - 1))
    return None


def _combined(left: int | None, op: ast.operator, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if max(abs(left), abs(right)) > _LARGEST:
        return None
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Pow() if abs(left) <= 100 and 0 <= right <= 12:
            return int(left**right)
    return None


def _is_small(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() | float() as value):
            return 0 < value < 0.1
        case ast.BinOp(op=ast.Pow(), right=ast.UnaryOp(op=ast.USub())):
            return True
        case ast.Name(id=name):
            return name.lower().startswith(("eps", "tol"))
    return False


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _owner(function: ast.expr) -> str:
    """What a method is of: "random" in `random.choice` and in `numpy.random.choice`."""
    return _name(function.value) if isinstance(function, ast.Attribute) else ""


def _imports_exact(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(each.name.partition(".")[0] in _EXACT for each in names)
        case ast.ImportFrom(module=str() as module):
            return module.partition(".")[0] in _EXACT
    return False
