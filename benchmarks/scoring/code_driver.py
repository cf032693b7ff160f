"""Runs the tests of a question on the code of a reply. Sent as a cell to a fresh kernel, which runs nothing else.

The kernel runs the tests; the code runs in another process and is only ever called: it gets arguments and returns
values, as pickles of which no more is built here than plain data. So whatever the code does to its own interpreter
(exits, patches builtins, returns what equals everything, prints what it likes), the comparison is not its own. What is
no plain data stays where it is, and is handled from here by its number; what is derived from plain data (a named
tuple) comes with it.
"""

import builtins
import contextlib
import ctypes
import functools
import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import tempfile
import types

_PLAIN = {
    "builtins": "set frozenset complex bytearray range slice",
    "collections": "OrderedDict Counter deque defaultdict",
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
}
_FACTORIES = "int float str list dict tuple bool bytes"
_MAX_BYTES = 50_000_000
_PR_SET_DUMPABLE = 4
_IMMUTABLE_TYPE = 1 << 8


class _Reader(pickle.Unpickler):
    def __init__(self, data, owner):
        super().__init__(io.BytesIO(data))
        self._owner = owner

    def find_class(self, module, name):
        allowed = _PLAIN.get(module, "").split() + (_FACTORIES.split() if module == "builtins" else [])
        if name not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is no plain data")
        found = super().find_class(module, name)
        # A pickle can set attributes of the classes that it names, `__eq__` as well, where they are written in Python.
        return found if found.__flags__ & _IMMUTABLE_TYPE else functools.partial(found)

    def persistent_load(self, named):
        return self._owner.at(*named)


class _Writer(pickle.Pickler):
    """For the process of the code: what is the code's own goes by its number."""

    def __init__(self, file, owner):
        super().__init__(file, protocol=4)
        self._owner = owner

    def persistent_id(self, value):
        return self._owner.number_of(value)


class _Code:
    """The process in which the code runs. `names` are those that it has defined."""

    def __init__(self, source, cpu_seconds):
        # From here on /proc/PID/mem of this process is nobody's.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        self._file = tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._file.write(SERVER + f"\n_serve({source!r}, {cpu_seconds!r})\n")
        self._file.flush()
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", self._file.name, str(requests), str(replies)],
            pass_fds=(requests, replies),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(requests)
        os.close(replies)
        self._cpu_seconds = cpu_seconds
        self.names = self._ask("names")

    def close(self):
        self._process.kill()

    def at(self, number, plain):
        if type(plain) is bool:
            return plain
        held = _Remote() if plain is None else _derived(type(plain))(plain)
        vars(held).update(_code=self, _number=number)
        return held

    def number_of(self, value):
        return value._number if isinstance(value, _Held) else None

    def ask(self, what, *given):
        return self._ask(what, *given)

    def _ask(self, what, *given):
        data = io.BytesIO()
        try:
            _Writer(data, self).dump((what, given))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise _NotToBeTested(f"the code cannot be given what the test gives it: {error}") from None
        try:
            _send(self._requests, data.getvalue())
            kind, value = _Reader(_receive(self._replies), self).load()
        except (OSError, EOFError):
            raise self._ended() from None
        if kind == "raised":
            raise _raised(*value)
        return value

    def _ended(self):
        code = self._process.wait()
        if code == -24 or (code == -9 and self._used() >= self._cpu_seconds):
            return _Ended(f"the code took more than {self._cpu_seconds} s of CPU time")
        return _Ended(f"the code ended its process (exit code {code})", killed=code == -9)

    def _used(self):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


class _Ended(BaseException):
    def __init__(self, why, *, killed=False):
        super().__init__(why)
        self.killed = killed


class _NotToBeTested(BaseException):
    """What is the fault of a test and not of the code."""


def _raised(name, bases, args, said):
    """What the code raised: of the built-in class of that name, or of a class of that name derived from one."""
    known = (vars(builtins).get(each) for each in bases)
    base = next((each for each in known if isinstance(each, type) and issubclass(each, Exception)), Exception)
    if base.__name__ == name:
        with contextlib.suppress(TypeError):
            return base(*args)
    try:
        return type(name, (base,), {})(said)
    except (TypeError, ValueError):
        return Exception(f"{name}: {said}")


class _Held:
    """Something of the code's, with its attributes. What is derived from plain data is a value of that as well."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._code.ask("attribute", self, name)


class _Remote(_Held):
    """Something of the code's that is no plain data. It equals itself alone: to be equal to a value is not for the code
    to say."""

    def __call__(self, *args, **named):
        value, after = self._code.ask("call", self, args, named)
        for mine, theirs in zip(args, after, strict=True):
            _update(mine, theirs)
        return value

    def __getitem__(self, key):
        return self._code.ask("item", self, key)

    def __iter__(self):
        return iter(self._code.ask("list", self))

    def __len__(self):
        return len(self._code.ask("list", self))

    def __repr__(self):
        return str(self._code.ask("repr", self))[:200]

    def __eq__(self, other):
        return type(other) is _Remote and self._number == other._number

    def __hash__(self):
        return hash(self._number)


def _derived(base):
    return type(base.__name__, (base, _Held), {})


def _update(mine, theirs):
    """Makes of a test's list, set or dict what the code made of its own."""
    if type(mine) is type(theirs) and mine != theirs:
        if type(mine) is list:
            mine[:] = theirs
        else:
            mine.clear()
            mine.update(theirs)


def _send(descriptor, data):
    data = struct.pack("<Q", len(data)) + data
    while data:
        data = data[os.write(descriptor, data) :]


def _receive(descriptor):
    def exactly(size):
        parts = []
        while size:
            part = os.read(descriptor, min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    (size,) = struct.unpack("<Q", exactly(8))
    if size > _MAX_BYTES:
        raise EOFError
    return exactly(size)


def run_tests(source, tests, entry_point, cpu_seconds):
    """`passed`, `failed`, `killed` (who knows by whom) or `untested`, and why in words."""
    code = None
    place = "the code itself"
    try:
        code = _Code(source, cpu_seconds)
        module = types.ModuleType("tests")
        space = vars(module)
        space.update(_offered(code, entry_point))
        if entry_point:
            place = "entry_point"
            if entry_point not in space:
                raise NameError(f"the code does not define {entry_point!r}")
            space["candidate"] = space[entry_point]
        for number, test in enumerate(tests, 1):
            place = f"test {number} of {len(tests)}" + (f", {test.strip()[:200]}" if len(test) < 400 else "")
            exec(compile(test, f"test {number}", "exec"), space)  # noqa: S102 - the tests, and not the code
            check = space.pop("check", None)
            if entry_point and isinstance(check, types.FunctionType):
                check(space["candidate"])
    except _NotToBeTested as error:
        return "untested", f"{place}: {error}"
    except _Ended as ended:
        return "killed" if ended.killed else "failed", f"{place}: {ended}"
    except Exception as error:  # noqa: BLE001 - whatever a test raises has failed it
        return "failed", f"{place}: {type(error).__name__}: {error}"[:2000].rstrip(": ")
    finally:
        if code is not None:
            code.close()
    return "passed", ""


def _offered(code, entry_point):
    """What of the code's names the tests see. With its own `abs` or `all` it would decide what they compare."""
    taken = vars(builtins).keys() - {entry_point} if entry_point else ()
    return {name: code.ask("global", name) for name in code.names if not (name.startswith("__") or name in taken)}


SERVER = r"""
import ctypes, io, os, pickle, resource, struct, sys

class _Writer(pickle.Pickler):
    def persistent_id(self, value):
        return _number(value)

class _Reader(pickle.Unpickler):
    def persistent_load(self, number):
        return _held[int(number)]

_held = []
_bases = (int, float, complex, str, bytes, tuple)
_simple = (type(None), bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict, range)
_rich = {("collections", n) for n in ("OrderedDict", "Counter", "deque", "defaultdict")} | {
    ("datetime", n) for n in ("date", "datetime", "time", "timedelta", "timezone")} | {
    ("decimal", "Decimal"), ("fractions", "Fraction")}

def _number(value):
    kind = type(value)
    if kind in _simple or (kind.__module__, kind.__qualname__) in _rich:
        return None
    if kind is type and (value in _simple or (value.__module__, value.__qualname__) in _rich):
        return None
    _held.append(value)
    return len(_held) - 1, _plain(value)

# Of what is derived from plain data, and of numpy's numbers; else None.
def _plain(value):
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
        if type(value) is bool:
            return value
    base = next((each for each in _bases if isinstance(value, each)), None)
    return None if base is None else base.__getnewargs__(value)[0]

# What the code may have changed of what it was given.
def _after(args):
    return [each if type(each) in (list, dict, set) else None for each in args]

def _serve(source, cpu_seconds):
    requests, replies = int(sys.argv[1]), int(sys.argv[2])
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    read, write = os.read, os.write
    def exactly(size):
        data = b""
        while len(data) < size:
            part = read(requests, size - len(data))
            if not part:
                os._exit(0)
            data += part
        return data
    failed = None
    space = {"__name__": "solution", "__builtins__": __builtins__}
    sys.setrecursionlimit(5000)
    try:
        exec(compile(source, "solution", "exec"), space)
    except BaseException as error:
        failed = error
    while True:
        (size,) = struct.unpack("<Q", exactly(8))
        what, given = _Reader(io.BytesIO(exactly(size))).load()
        try:
            if failed is not None:
                raise failed
            if what == "names":
                reply = "value", [name for name in space if isinstance(name, str)]
            elif what == "global":
                reply = "value", space[given[0]]
            elif what == "call":
                value = given[0](*given[1], **given[2])
                reply = "value", (value, _after(given[1]))
            elif what == "attribute":
                reply = "value", getattr(given[0], given[1])
            elif what == "item":
                reply = "value", given[0][given[1]]
            elif what == "list":
                reply = "value", list(given[0])
            else:
                reply = "value", repr(given[0])
            data = io.BytesIO()
            _Writer(data, 4).dump(reply)
        except BaseException as error:
            bases = [each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins"]
            raised = "raised", (type(error).__name__, bases, error.args, str(error)[:2000])
            data = io.BytesIO()
            try:
                _Writer(data, 4).dump(raised)
            except BaseException:
                data = io.BytesIO()
                _Writer(data, 4).dump(("raised", (type(error).__name__, bases, (), str(error)[:2000])))
        data = data.getvalue()
        data = struct.pack("<Q", len(data)) + data
        while data:
            data = data[write(replies, data):]
"""
