"""Runs the programs of the bank again, each in a kernel of its own, and writes down what they give:
`python -m toolablate.tools.donors.filling`."""

import asyncio

from toolablate.sandbox import Sandbox, open_sandbox
from toolablate.tools.donors.bank import BANK, Example, python_bank
from toolablate.tools.python import python_tool


async def run_again(example: Example, sandbox: Sandbox) -> Example:
    """The same program with what it gives now. Raises KernelUnavailable."""
    tool = python_tool(sandbox)
    try:
        result = await tool.call({"code": example.code})
    finally:
        await tool.close()
    return Example(code=example.code, output=result.output, error=result.error)


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
