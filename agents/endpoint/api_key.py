"""The API key of a model, from the environment, and its ways into what comes back."""

import os
import re
from collections.abc import Callable

from toolablate.traces.errors import InputError
from toolablate.traces.records import OpenAIModel


def read_api_key(model: OpenAIModel) -> str:
    """The key to send, "" where none is to be sent.

    Raises InputError where the variable that holds it is not set, or holds what no header can carry; no message quotes
    a key.
    """
    variable = model.key_variable
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        other = "name another variable as api_key_env" if model.is_openai else "leave out api_key_env to send no key"
        raise InputError(
            f"model {model.name!r}: the environment variable {variable} is not set",
            hint=f"put the API key for {model.endpoint} into it, or {other}",
            code="missing_key",
        )
    # What no header can carry fails deep inside the client, in a message that quotes it.
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"model {model.name!r}: the environment variable {variable} holds no usable API key",
            hint="an API key is printable ASCII on one line",
            code="bad_key",
        )
    return key


def blanking(key: str) -> Callable[[str], str]:
    """What takes a key out of a text: as it is, and as JSON, or JSON within JSON, may write it (`\\/`, `\\u0073`)."""
    if not key:
        return str
    escaped = re.compile("".join(_written(letter) for letter in key))
    # A plain look takes a twentieth of the time, and finds all where none of these stands.
    marks = ("\\u00", *sorted({"\\" + letter for letter in key if not letter.isalnum()}))

    def blank(text: str) -> str:
        if "\\" in text and any(mark in text for mark in marks):
            return escaped.sub("[key]", text)
        return text.replace(key, "[key]")

    return blank


def _written(letter: str) -> str:
    # JSON within JSON within JSON has seven backslashes; any number of them would take time by its square.
    code = f"{ord(letter):02x}"
    escaped = rf"\\{{1,8}}u00(?:{code}|{code.upper()})"
    plain = re.escape(letter)
    return f"(?:{plain}|{escaped})" if letter.isalnum() else rf"(?:\\{{0,8}}{plain}|{escaped})"
