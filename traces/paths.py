"""Texts that can be the path of a file at all, so that no one who opens it later has to ask."""

import os
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 3_000
"""Below what a system opens, by as much as the folder may take that a relative path is put in."""


def _path(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("no_path", "should be a path without a NUL character")
    written = os.fsencode(text)
    if len(written) > MAX_PATH_BYTES or max(map(len, written.split(b"/"))) > MAX_NAME_BYTES:
        raise PydanticCustomError(
            "no_path",
            f"should be a shorter path: of {MAX_PATH_BYTES:,} bytes at most, and {MAX_NAME_BYTES} in each name",
        )
    return text


PathText = Annotated[str, AfterValidator(_path)]
"""A path that is written in a plan or record; or a word in the place of one, such as "builtin"."""
