"""The API key of a model, from the environment."""

import os

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
