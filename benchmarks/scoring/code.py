"""Scores code by the tests of its question, run in the sandbox."""

import asyncio
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files

from toolablate.benchmarks.answer_extraction.announcements import EMPTY, ExtractedAnswer
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.sandbox import CellResult, KernelUnavailable, Sandbox
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import CodeTarget, Question, Score, clean_text
from toolablate.traces.thoughts import after_thoughts

CPU_SECONDS = 10
"""Of the code of one reply, in all tests together."""
_KERNELS = 2
_NO_BLOCK = "the reply has no code block"
_BLOCK = re.compile(
    r"^[ \t]{0,8}(?:```|~~~)[ \t]{0,4}(?P<kind>[\w+-]{0,20})[^\n]{0,80}\n(?P<code>.*?)(?:^[ \t]{0,8}(?:```|~~~)|\Z)",
    re.DOTALL | re.MULTILINE,
)


class _Kernels:
    """A sandbox that is opened when it is first needed."""

    def __init__(self, opening: Callable[[], Sandbox] | None) -> None:
        self._opening = opening
        self._sandbox: Sandbox | None = None
        self._turns = asyncio.Semaphore(_KERNELS)

    async def run(self, cell: str) -> CellResult:
        """Runs a cell in a kernel of its own. Raises ScoringError where none can be had."""
        async with self._turns:
            try:
                if self._sandbox is None:
                    if self._opening is None:
                        raise KernelUnavailable("no sandbox was given to the scorer 'code'", code="no_backend")
                    self._sandbox = self._opening()
                kernel = await self._sandbox.start()
                try:
                    return await kernel.execute(cell)
                finally:
                    await kernel.close()
            except KernelUnavailable as error:
                raise ScoringError(
                    f"code cannot be tested: {error.message}", hint=error.hint, code=error.code, retryable=True
                ) from error

    async def close(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.close()


@dataclass(frozen=True, slots=True)
class CodeScorer:
    """Right is code that passes all tests of its question: the last code block of the reply that defines `entry_point`,
    or the last one. `reason` holds what failed first.

    Code and tests run with no network and the plan's limits in a fresh kernel of the `sandbox`, in a process of their
    own (`code_driver`), for at most `CPU_SECONDS`. `score` raises ScoringError where no kernel can be had.
    """

    unparsed: Unparsed = "wrong"
    sandbox: Callable[[], Sandbox] | None = field(default=None, compare=False)
    _kernels: _Kernels = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kernels", _Kernels(self.sandbox))

    @property
    def name(self) -> str:
        return named("code", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 1

    def refusal(self, question: Question) -> str:
        return "" if isinstance(question.target, CodeTarget) else not_for(self, question)

    async def open(self) -> None:
        await self._kernels.run("1")

    async def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        target = question.target
        if not isinstance(target, CodeTarget):
            return unscored(self, trial_id, not_for(self, question))
        reading = read_code(answer, target.entry_point)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        token = secrets.token_hex(16)
        code = reading.value[0]
        cell = _cell(code, target, token)
        verdict, why = _verdict(await self._kernels.run(cell), token)
        if verdict == "killed":
            # Code may kill its process or its kernel, and so may the machine; hardly twice.
            verdict, why = _verdict(await self._kernels.run(cell), token)
        if verdict == "untested":
            return unscored(self, trial_id, why)
        return scored(self, trial_id, float(verdict == "passed"), reading.value).model_copy(update={"reason": why})

    async def close(self) -> None:
        await self._kernels.close()


def read_code(reply: str | None, entry_point: str = "") -> ExtractedAnswer:
    """The last code block that defines `entry_point`, else the last one; the whole of a reply without blocks that
    defines it."""
    text = after_thoughts(reply or "")
    if not text.strip():
        return ExtractedAnswer(None, EMPTY)
    blocks = [block for block in _BLOCK.finditer(text) if block["code"].strip()]
    python = [block["code"] for block in blocks if block["kind"].lower() in ("", "python", "py", "python3")]
    defines = re.compile(rf"^[ \t]{{0,40}}(?:async )?(?:def|class) {entry_point}\b|^{entry_point} ?[:=]", re.MULTILINE)
    defining = [code for code in python if entry_point and defines.search(code)]
    if found := defining or python:
        return ExtractedAnswer((clean_text(found[-1]),))
    return (
        ExtractedAnswer((clean_text(text),))
        if entry_point and defines.search(text)
        else ExtractedAnswer(None, _NO_BLOCK)
    )


def _cell(code: str, target: CodeTarget, token: str) -> str:
    here = files("toolablate.benchmarks.scoring")
    driver, child = (here.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in ("code_driver", "code_child"))
    given = (child, code, list(target.tests), target.entry_point, CPU_SECONDS)
    return f"{driver}\n\nprint({token!r}, *run_tests(*{given!r}))"


def _verdict(cell: CellResult, token: str) -> tuple[str, str]:
    """`passed`, `failed`, `killed` or `untested`, and why. Raises ScoringError where that is not known.

    What others' load takes of a cell's time the sandbox gives it on top, so that a cell that times out is to blame.
    """
    _, found, said = cell.text.rpartition(f"{token} ")
    if cell.status == "ok" and found:
        verdict, _, why = said.strip().partition(" ")
        return verdict, clean_text(why)
    if cell.status == "timeout":
        return "failed", "the code took too long"
    if cell.status == "died":
        return "killed", f"the kernel died of the code: {clean_text(cell.error)}"
    raise ScoringError(
        f"the tests could not be run: {cell.error} {cell.text[-300:]}", code="tests_not_run", retryable=True
    )
