"""A store that is open for reading, and the records in its rows."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from toolablate.traces.errors import InputError
from toolablate.traces.records import Model, Record
from toolablate.traces.store.content.texts import TextReader, damaged
from toolablate.traces.store.files.errors import reading
from toolablate.traces.store.files.opening import open_reader
from toolablate.traces.store.reading.traces import MODEL

R = TypeVar("R", bound=Record)


class Opened:
    """Opening raises StoreError where the path holds no store or a newer one; nothing is created or changed."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._connection = open_reader(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def _body(self, table: str, identity: str) -> bytes:
        rows = self._rows(f"SELECT body FROM {table} WHERE id = ?", (identity,))  # noqa: S608 - our names
        if not rows:
            raise InputError(f"{self.path} has no {table[:-1]} with the id {identity}", code=f"unknown_{table[:-1]}")
        return bytes(rows[0][0])

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with reading(self.path):
            return self._connection.execute(query, values).fetchall()

    def _record(self, kind: type[R], body: bytes) -> R:
        try:
            return kind.model_validate(self._content(body), strict=False)
        except ValidationError as error:
            raise damaged(f"a {kind.__name__.lower()} does not hold ({error.errors()[0]['msg']})") from None

    def _model(self, body: bytes) -> Model:
        try:
            return MODEL.validate_python(self._content(body))
        except ValidationError as error:
            raise damaged(f"a model does not hold ({error.errors()[0]['msg']})") from None

    def _content(self, body: bytes) -> Any:
        with reading(self.path):
            return TextReader(self._connection).unpack(body)
