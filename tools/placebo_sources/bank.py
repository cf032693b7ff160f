"""Outputs of everyday programs that belong to no question, each with the program that gave it."""

import asyncio
import re
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from toolablate.sandbox import Sandbox, open_sandbox
from toolablate.tools.python import python_tool
from toolablate.traces.records import digest_text

BANK = Path(__file__).with_name("bank.jsonl")


class Example(BaseModel):
    """A program, and what the `python` tool gave for it; `error` names the exception that it raised, if it did."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    code: str
    output: str = ""
    error: str = ""


@lru_cache(maxsize=1)
def python_bank() -> tuple[Example, ...]:
    """All of them, in the order of the file."""
    return tuple(map(Example.model_validate_json, BANK.read_text(encoding="utf-8").splitlines()))


def bank_digest() -> str:
    """Tells apart what the bank holds, 32 hexadecimal digits."""
    return digest_text(BANK.read_text(encoding="utf-8"))


# Runs the programs of the bank again, each in a kernel of its own, and writes down what they give: `python -m
# toolablate.tools.placebo_sources.bank`.


_LIBRARY = "/usr/lib/python3"
_PLACES = sorted({*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}, key=len, reverse=True)
_PACKAGES = frozenset((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))


async def run_again(example: Example, sandbox: Sandbox) -> Example:
    """The same program with what it gives now, but for where this machine keeps its libraries and its objects. Raises
    KernelUnavailable."""
    tool = python_tool(sandbox)
    try:
        result = await tool.call({"code": example.code})
    finally:
        await tool.close()
    return Example(code=example.code, output=of_no_machine(result.output), error=result.error)


def of_no_machine(output: str) -> str:
    """With the usual places of Python and its packages in place of this machine's, and one address of all objects."""
    for place in _PLACES:
        usual = f"{_LIBRARY}/site-packages" if place in _PACKAGES else _LIBRARY
        output = output.replace(place, usual)
    output = re.sub(r"/usr/lib/python3/lib/python3(?:\.\d+)?", _LIBRARY, output)
    return re.sub(r"\b0x[0-9a-f]{8,16}\b", "0x7f3c5a1b2d40", output)


async def fill() -> None:
    """Writes the bank anew. Raises KernelUnavailable."""
    sandbox = open_sandbox("forkserver")
    try:
        filled = [await run_again(example, sandbox) for example in python_bank()]
    finally:
        await sandbox.close()
    BANK.write_text("".join(example.model_dump_json() + "\n" for example in filled), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(fill())
