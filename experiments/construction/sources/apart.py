"""Pages and books of strangers are read in a process of their own, with limits of time and memory: a tag of 300,000
attributes, or drawings that draw each other, would else keep or end the command."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from toolablate.tools.extraction.kinds import Unreadable
from toolablate.tools.extraction.worker import DocumentWorker
from toolablate.traces.errors import InputError


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Of one document: seconds of processor time, bytes of memory."""

    seconds: float
    memory: int

    def __str__(self) -> str:
        return f"{self.seconds:g} s of the processor and {self.memory >> 20:,} MB"


OF_A_PAGE = ReadingLimits(10.0, 1 << 30)
OF_A_BOOK = ReadingLimits(300.0, 2 << 30)

P = ParamSpec("P")
T = TypeVar("T")


class DocumentReader:
    """Calls functions in the other process. For one event loop."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._worker = DocumentWorker(__name__, processes=1, seconds=limits.seconds, memory=limits.memory)

    async def call(self, name: str, function: Callable[P, T], *args: P.args, **given: P.kwargs) -> T:
        """`args` are what JSON has, and so what is returned, by its annotation. Raises InputError as the function does,
        and where `name`, as the document is called, takes more than the limits."""
        said = json.dumps([function.__module__, function.__name__]).encode()
        try:
            found = json.loads(await self._worker.read(json.dumps([args, given]).encode(), said))
        except Unreadable as error:
            raise self._too_much(name, error.reason) from None
        if "refused" in found:
            raise InputError(found["refused"], hint=found["hint"], code=found["code"])
        if "broken" in found:
            raise self._too_much(name, found["broken"])
        returned: Any = inspect.signature(function, eval_str=True).return_annotation
        value: T = TypeAdapter(returned).validate_python(found["value"])
        return value

    def _too_much(self, name: str, why: str) -> InputError:
        return InputError(
            f"{name} cannot be read: {why} (a document may take {self._limits})",
            hint="leave it out, or look at what is in it",
            code="document_limit",
        )

    async def close(self) -> None:
        await self._worker.close()


@asynccontextmanager
async def apart(limits: ReadingLimits) -> AsyncIterator[DocumentReader]:
    opened = DocumentReader(limits)
    try:
        yield opened
    finally:
        await opened.close()


def read_apart(name: str, limits: ReadingLimits, function: Callable[P, T], *args: P.args, **given: P.kwargs) -> T:
    """One document, where there is no event loop. Raises InputError as `call` does."""

    async def read() -> T:
        async with apart(limits) as opened:
            return await opened.call(name, function, *args, **given)

    return asyncio.run(read())


# In the other process.


def warm_up() -> None:
    """What is to be called is known with the first document only, which pays for its imports."""


def read(body: bytes, said: bytes) -> bytes:
    module, name = json.loads(said)
    args, given = json.loads(body)
    found: dict[str, Any]
    try:
        value = getattr(import_module(module), name)(*args, **given)
        found = {"value": to_jsonable_python(value)}
    except InputError as error:
        found = {"refused": error.message, "hint": error.hint, "code": error.code}
    except MemoryError:
        found = {"broken": "it takes too much memory"}
    except Exception as error:  # noqa: BLE001 - what other people's parsers raise on what the web has
        found = {"broken": type(error).__name__}
    return json.dumps(found).encode()
