"""The process that compares formulas: `python math_child.py SECONDS BYTES < requests > verdicts`, one JSON a line.

The first line of input is the filter of system calls, in hexadecimal digits. For each request this process, which has
read nothing of any reply, forks one that has: it may use SECONDS of CPU time and BYTES of memory, opens no socket,
starts no process and writes no file. So no reply changes what the next one is given, and each begins with the same
caches. Imports nothing of toolablate, so that it starts as fast as sympy does.
"""

import ctypes
import json
import logging
import os
import resource
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 1, 38, 22, 2
_OUT_OF_MEMORY = 3
_RELATIVE = 2e-6
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    seconds, memory = float(sys.argv[1]), int(sys.argv[2])
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    requests, verdicts = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a library prints must not get between the verdicts.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    program = bytes.fromhex(requests.readline())
    logging.disable()
    _warm_up()
    print("ready", file=verdicts, flush=True)
    for line in requests:
        print(json.dumps(_forked(json.loads(line), program, seconds, memory)), file=verdicts, flush=True)


def _forked(request: dict[str, Any], program: bytes, seconds: float, memory: int) -> str:
    """`right`, `wrong` or `unread`; `timeout`, `memory` or `crashed` of the reply's own; `killed` by someone else."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            _confine(program, seconds, memory)
            os.write(write, compared(request["gold"], request["given"]).encode())
            os._exit(0)
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        except BaseException:  # noqa: BLE001 - what the libraries raise for a hostile formula can be anything
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        verdict = told.read(16).decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        if ended_by in (signal.SIGPROF, signal.SIGXCPU):
            return "timeout"
        return "crashed" if ended_by in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE) else "killed"
    code = os.WEXITSTATUS(status)
    return verdict if code == 0 and verdict else "memory" if code == _OUT_OF_MEMORY else "crashed"


def _confine(program: bytes, seconds: float, memory: int) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 2, int(seconds) + 2))
    if program:

        class MathFilter(ctypes.Structure):  # struct sock_fprog
            _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

        given = MathFilter(len(program) // 8, program)
        _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Of its own time and not of the clock's, so that a busy machine scores as an idle one does.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(given), 0, 0):
            raise OSError(ctypes.get_errno(), "the filter of system calls")
    else:
        signal.setitimer(signal.ITIMER_PROF, seconds)


def compared(gold: str, given: list[str]) -> str:
    """Whether one of the ways in which an answer can be written is the gold one."""
    from math_verify import verify

    wanted = _parsed(gold)
    parsed = [found for text in given if (found := _parsed(text))]
    if not parsed:
        return "unread"
    right = any(
        verify(
            _as_sets(wanted, found[0]),
            _as_sets(found, wanted[0]),
            strict=True,
            allow_set_relation_comp=True,
            timeout_seconds=None,
        )
        and _as_near(wanted[0], found[0])
        for found in parsed
    )
    return "right" if right else "wrong"


def _as_sets(parsed: list[Any], other: Any) -> list[Any]:
    """Inequalities in one unknown, any of which may hold, as the union of what they hold for, where the other is no
    list of inequalities but a set."""
    from sympy import And, FiniteSet, Interval, Union
    from sympy.core.relational import Relational

    found = parsed[0]
    if not (isinstance(found, FiniteSet) and isinstance(other, Interval | Union)):
        return parsed
    each_holds = all(isinstance(each, Relational | And) for each in found) and len(found.free_symbols) == 1
    return [Union(*(each.as_set() for each in found))] if each_holds else parsed


def _as_near(wanted: Any, found: Any) -> bool:
    """Whether two numbers, one of them a decimal, agree in their digits; math-verify looks at six decimal places, where
    small numbers all are 0."""
    from sympy import Expr, Float

    numbers = [each for each in (wanted, found) if isinstance(each, Expr) and each.is_number]
    if len(numbers) < 2 or not any(each.has(Float) for each in numbers):
        return True
    gold, given = (complex(each.doit()) for each in numbers)
    # A per cent sign may stand for a hundredth, or be passed over.
    return any(abs(gold * factor - given) <= _RELATIVE * abs(gold * factor) for factor in (1, 100, 0.01))


def _parsed(text: str) -> list[Any]:
    from math_verify import LatexExtractionConfig, parse

    # Of expressions in plain text math-verify would make Python code; they are made LaTeX before they come here.
    configuration = [LatexExtractionConfig(boxed_match_priority=-1)]
    found: list[Any] = parse(
        f"${text}$", extraction_config=configuration, fallback_mode="no_fallback", parsing_timeout=None
    )
    return found


def _warm_up() -> None:
    """Imports what is heavy and builds the tables of the parser, which no reply shall pay for."""
    for gold, given in (
        (r"\frac{\sqrt{3}}{2}+x^2", r"x^2+\sqrt{3}/2"),
        (r"[2,3)\cup(5,\infty)", r"[2,3)\cup(6,\infty)"),
        (r"y=2x+1", r"2x-y+1=0"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 3 \end{pmatrix}"),
    ):
        compared(gold, [given])


if __name__ == "__main__":
    main()
