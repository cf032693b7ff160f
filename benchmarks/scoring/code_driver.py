"""Runs the tests of a question on the code of a reply. Sent as a cell to a fresh kernel, which runs nothing else.

The kernel runs the tests; the code runs in another process and is only ever called: it gets arguments and returns
values, as pickles of which no more is built here than plain data. So whatever the code does to its own interpreter
(exits, patches builtins, returns what equals everything, prints what it likes), the comparison is not its own. What is
no plain data stays where it is, and is handled from here by its number.
"""

import ctypes
import io
import os
import pathlib
import pickle
import resource
import struct
import subprocess
import sys
import tempfile
import threading
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


class _Reader(pickle.Unpickler):
    def __init__(self, data, owner):
        super().__init__(io.BytesIO(data))
        self._owner = owner

    def find_class(self, module, name):
        allowed = _PLAIN.get(module, "").split() + (_FACTORIES.split() if module == "builtins" else [])
        if name not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is no plain data")
        return super().find_class(module, name)

    def persistent_load(self, number):
        return self._owner.at(int(number))


class _Writer(pickle.Pickler):
    """For the process of the code: what is no plain data goes by its number."""

    def __init__(self, file, owner):
        super().__init__(file, protocol=4)
        self._owner = owner

    def persistent_id(self, value):
        return self._owner.number_of(value)


class _Code:
    """The process in which the code runs. `names` are those that it has defined."""

    def __init__(self, source, cpu_seconds, wall_seconds):
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
        self.starved = False
        self.idle = False
        self._timer = threading.Timer(wall_seconds, self._too_late)
        self._timer.daemon = True
        self._timer.start()
        self.names = self._ask("names")

    def _too_late(self):
        """Code that waits has itself to blame; code that would run gets no CPU time from this machine."""
        try:
            stat = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text()
            self.starved = stat.rpartition(")")[2].split()[0] == "R"
        except OSError:
            return
        self.idle = not self.starved
        self._process.kill()

    def close(self):
        self._timer.cancel()
        self._process.kill()

    def at(self, number):
        return _Remote(self, number)

    def number_of(self, value):
        return value._number if type(value) is _Remote else None

    def ask(self, what, *given):
        return self._ask(what, *given)

    def _ask(self, what, *given):
        data = io.BytesIO()
        _Writer(data, self).dump((what, given))
        try:
            _send(self._requests, data.getvalue())
            kind, value = _Reader(_receive(self._replies), self).load()
        except (OSError, EOFError):
            raise _Ended(self._why()) from None
        if kind == "raised":
            name, said = (str(part) for part in value)
            raised = getattr(__import__("builtins"), name, None)
            if not (isinstance(raised, type) and issubclass(raised, Exception)):
                raised = type(name if name.isidentifier() else "Exception", (Exception,), {})
            raise raised(said[:2000])
        return value

    def _why(self):
        code = self._process.wait()
        if self.starved:
            return "starved"
        if self.idle:
            return "the code took too long"
        if code == -24 or (code == -9 and self._used() >= self._cpu_seconds):
            return f"the code took more than {self._cpu_seconds} s of CPU time"
        return f"the code ended its process (exit code {code})"

    def _used(self):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


class _Ended(BaseException):
    pass


class _Remote:
    """Something of the code's that is no plain data. It equals itself alone: to be equal to a value is not for the code
    to say."""

    def __init__(self, code, number):
        self._code, self._number = code, number

    def __call__(self, *args, **named):
        return self._code.ask("call", self, args, named)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._code.ask("attribute", self, name)

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


def run_tests(source, tests, entry_point, cpu_seconds, wall_seconds):
    """What failed first, in words; "" where nothing did, "starved" where that cannot be said."""
    code = None
    place = "the code itself"
    try:
        code = _Code(source, cpu_seconds, wall_seconds)
        module = types.ModuleType("tests")
        space = vars(module)
        for name in code.names:
            if not name.startswith("__"):
                space[name] = code.ask("global", name)
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
    except _Ended as ended:
        said = str(ended)
        return said if said == "starved" else f"{place}: {said}"
    except Exception as error:  # noqa: BLE001 - whatever a test raises has failed it
        return f"{place}: {type(error).__name__}: {error}"[:2000].rstrip(": ")
    finally:
        if code is not None:
            code.close()
    return ""


SERVER = r"""
import ctypes, io, os, pickle, resource, struct, sys

class _Writer(pickle.Pickler):
    def persistent_id(self, value):
        return _number(value)

class _Reader(pickle.Unpickler):
    def persistent_load(self, number):
        return _held[int(number)]

_held = []
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
    return len(_held) - 1

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
                reply = "value", given[0](*given[1], **given[2])
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
            data = io.BytesIO()
            _Writer(data, 4).dump(("raised", (type(error).__name__, str(error))))
        data = data.getvalue()
        data = struct.pack("<Q", len(data)) + data
        while data:
            data = data[write(replies, data):]
"""
