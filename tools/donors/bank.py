"""Outputs of everyday programs that belong to no question, each with the program that really gave it."""

from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

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
