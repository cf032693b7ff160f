"""From a model's record to an object of its class: each way in which that cannot be had is told before any request."""

import importlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import isabstract, signature
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.llms import BaseLLM
from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from toolablate.agents.endpoint.requirements import blanking, read_api_key
from toolablate.agents.langchain.clients import settle
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.plugins import is_not
from toolablate.traces.records import Condition, LangChainModel

_RETRIES = ("max_retries",)
_TIMEOUTS = ("timeout", "request_timeout", "default_request_timeout")
_MODELS = ("model", "model_name", "model_id")
_KEYS = ("api_key",)
# Whose classes take OpenAI's `response_format`, and write it in their API's form.
TAKES_FORM = ("langchain_openai", "langchain_anthropic", "langchain_google_genai", "langchain_mistralai")
# What a condition, the conversation or the run itself sets; a second hand on it would make the trace lie.
_NOT_YOURS = {
    "callbacks": "",
    "cache": "replies are recorded by [replies]",
    "rate_limiter": "write requests_per_minute",
    "streaming": "",
    "stream": "",
    "tools": "a condition has tools",
    "tool_choice": "a condition has a tool_choice",
    "messages": "",
    "n": "a plan has repeats",
}


@dataclass(frozen=True, slots=True)
class OpenedChat:
    """`key` is what the class asks with, "" where it is not known; `key_variable` the environment variable that it
    came from."""

    chat: BaseChatModel
    key: str
    key_variable: str


def open_chat(model: LangChainModel) -> OpenedChat:
    """Raises InputError; it makes no request."""
    with _about("class"):
        kind = chat_class(model)
    names = _arguments(kind)
    with _about("kwargs"):
        _require_arguments(model, kind, names)
    with _about("api_key_env"):
        key = read_api_key(model)
        arguments = _filled(model, names, key)
    with _about("kwargs"):
        chat = _made(model, kind, arguments, key)
    held = _held_key(chat, names)
    own = chat.lc_secrets.get(_field(names, _KEYS) or "", "")
    with _about("api_key_env"):
        if held == "" and not key:
            raise _no_key(model, own)
    settle(chat)
    return OpenedChat(chat, key or held or "", model.api_key_env or own)


@contextmanager
def _about(key: str) -> Iterator[None]:
    """What is refused inside is about this key of the model's table."""
    try:
        yield
    except InputError as error:
        error.key = error.key or key
        raise


def require_condition(model: LangChainModel, condition: Condition) -> None:
    """Raises InputError where the class cannot be asked as the condition has it."""
    if condition.answer_schema and model.module.partition(".")[0] not in TAKES_FORM:
        raise InputError(
            f"{_said(model)}: it is not known to take a schema, and condition {condition.name!r} has an answer_schema",
            hint=f"the packages {', '.join(TAKES_FORM)} do",
            code="missing_capability",
        )
    if not condition.has_tools:
        return
    try:
        kind = chat_class(model)
    except InputError:
        # It is told where the class is opened; a replay needs none.
        return
    if kind.bind_tools is BaseChatModel.bind_tools:
        raise InputError(
            f"{_said(model)}: it cannot call tools, and condition {condition.name!r} has some",
            hint="take a class that has bind_tools",
            code="missing_capability",
        )
    if condition.parallel_tool_calls is not None and "parallel_tool_calls" not in signature(kind.bind_tools).parameters:
        raise InputError(
            f"{_said(model)}: it takes no parallel_tool_calls, and condition {condition.name!r} sets it",
            hint="leave it out of the condition",
            code="missing_capability",
        )


def sees_images(model: LangChainModel) -> bool | None:
    """What the profile of its class says of the model; None where it says nothing."""
    try:
        profile = open_chat(model).chat.profile
    except InputError:
        # It is told where the class is opened; a replay needs none.
        return None
    return (profile or {}).get("image_inputs")


def chat_class(model: LangChainModel) -> type[BaseChatModel]:
    """The class itself. Raises InputError."""
    module, _, name = model.class_path.partition(":")
    found: Any = _imported(model, module)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise _unknown_class(model, module, part, found) from None
    if isinstance(found, type) and issubclass(found, BaseLLM):
        raise _no_chat_model(model, "completes texts, and holds no conversation", "the package's class Chat... does")
    if not isinstance(found, type):
        raise _no_chat_model(model, is_not("class", found), "name the class, and its arguments in kwargs")
    if not issubclass(found, BaseChatModel):
        raise _no_chat_model(model, "is no chat model", "name a subclass of langchain_core's BaseChatModel")
    if isabstract(found):
        raise _no_chat_model(model, "is abstract", "name a class that can be made")
    return found


def _imported(model: LangChainModel, module: str) -> object:
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        absent = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        root = module.partition(".")[0]
        if absent == root:
            raise InputError(
                f"{_said(model)}: the module {root!r} is not installed",
                hint=_install(root),
                code="missing_package",
            ) from None
        if absent is not None and (module == absent or module.startswith(f"{absent}.")):
            raise _no_chat_model(model, f"cannot be found: there is no module {absent!r}", "") from None
        hint = _install(absent) if absent else ""
        told = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(f"{_said(model)}: cannot import {module!r}: {told}", hint=hint, code="bad_package") from error


def _install(module: str) -> str:
    root = module.partition(".")[0]
    if root.startswith("langchain"):
        return f"pip install {root.replace('_', '-')}"
    return f"install the package that has it (pip install {root}?), or put {root}.py into the plan's folder"


def _unknown_class(model: LangChainModel, module: str, name: str, found: object) -> InputError:
    held = vars(found).items()
    there = [each for each, value in held if isinstance(value, type) and issubclass(value, BaseChatModel)]
    # Packages that import their classes when they are asked for name them in `__all__`.
    there += [each for each in getattr(found, "__all__", ()) if str(each).startswith("Chat") and each not in there]
    near = get_close_matches(name, there, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(there))}" if there else ""
    return _no_chat_model(model, f"cannot be found: there is no {name!r} in {module!r}", hint)


# The arguments.


def _arguments(kind: type[BaseChatModel]) -> dict[str, set[str]]:
    """The names that each field of the class can be given by."""
    return {name: {name, *_aliases(field)} for name, field in kind.model_fields.items()}


def _aliases(field: FieldInfo) -> Iterator[str]:
    for alias in (field.alias, field.validation_alias):
        if isinstance(alias, str):
            yield alias
        elif isinstance(alias, AliasChoices):
            yield from (choice for choice in alias.choices if isinstance(choice, str))


def _field(names: Mapping[str, set[str]], wanted: tuple[str, ...]) -> str | None:
    """The field that can be given by one of these names."""
    return next((field for field, given in names.items() if given.intersection(wanted)), None)


def _require_arguments(model: LangChainModel, kind: type[BaseChatModel], names: Mapping[str, set[str]]) -> None:
    known = set().union(*names.values())
    retries, timeout = _field(names, _RETRIES), _field(names, _TIMEOUTS)
    for key in model.kwargs:
        if key in names.get(retries or "", _RETRIES):
            raise _refused(model, key, "is not yours to set", "requests are repeated by runner.attempts")
        if key in names.get(timeout or "", _TIMEOUTS):
            raise _refused(model, key, "is not yours to set", "write timeout_seconds beside kwargs")
        if key in _NOT_YOURS:
            raise _refused(model, key, "is not yours to set", _NOT_YOURS[key])
        if key not in known and kind.model_config.get("extra") != "allow":
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(_own(kind)))}"
            raise _refused(model, key, f"is no argument of {kind.__name__}", hint)


def _own(kind: type[BaseChatModel]) -> set[str]:
    """The arguments that are not those of all chat models."""
    return set(kind.model_fields) - set(BaseChatModel.model_fields)


def _filled(model: LangChainModel, names: Mapping[str, set[str]], key: str) -> dict[str, Any]:
    """The arguments of the plan, and those that are ours."""
    arguments: dict[str, Any] = dict(model.kwargs)
    named = _field(names, _MODELS)
    if named and not names[named].intersection(arguments):
        arguments[_given_by(names[named], _MODELS)] = model.wire_name
    for wanted, value in ((_RETRIES, 0), (_TIMEOUTS, model.timeout_seconds)):
        if field := _field(names, wanted):
            arguments[_given_by(names[field], wanted)] = value
    if key:
        if (field := _field(names, _KEYS)) is None:
            raise InputError(
                f"{_said(model)}: api_key_env: the class takes no key as an argument",
                hint="leave out api_key_env; it reads its credentials from the environment by itself",
                code="bad_key",
            )
        arguments[_given_by(names[field], _KEYS)] = SecretStr(key)
    return arguments


def _given_by(given: set[str], wanted: tuple[str, ...]) -> str:
    return next(name for name in wanted if name in given)


def _made(model: LangChainModel, kind: type[BaseChatModel], arguments: dict[str, Any], key: str) -> BaseChatModel:
    safe = blanking(key)
    try:
        chat = kind(**arguments)
        # That of `set_llm_cache` would make one reply of all repeats.
        vars(chat)["cache"] = False
        return chat
    except ValidationError as error:
        raise _refused(model, *_first(error, safe), "") from None
    except Exception as error:  # noqa: BLE001 - the class is anybody's
        field = _field(_arguments(kind), _KEYS)
        hint = ""
        if field and not key:
            hint = "if it is for want of a key: put the key into an environment variable and name that as api_key_env"
        told = one_line(safe(f"{type(error).__name__}: {error}"), 300)
        raise InputError(f"{_said(model)}: it cannot be made: {told}", hint=hint, code="bad_model") from None


def _first(error: ValidationError, safe: Any) -> tuple[str, str]:
    """The argument that is wrong, and what is wrong; what it holds is not told, since it may be a secret."""
    found = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, found["loc"])) or ""
    return where, one_line(safe(found["msg"][:1].lower() + found["msg"][1:]), 300)


def _held_key(chat: BaseChatModel, names: Mapping[str, set[str]]) -> str | None:
    """The key that the object has, "" where it wants one and has none; None where it is not known."""
    held = getattr(chat, _field(names, _KEYS) or "", None)
    return held.get_secret_value() if isinstance(held, SecretStr) else None


# What is told.


def _no_key(model: LangChainModel, variable: str) -> InputError:
    unset = f"the environment variable {variable} is not set" if variable else "it has no key"
    if variable and os.environ.get(variable):
        unset = "it has no key"
    return InputError(
        f"{_said(model)}: {unset}",
        hint="put the API key into it, or name another variable as api_key_env",
        code="missing_key",
    )


def _refused(model: LangChainModel, key: str, why: str, hint: str) -> InputError:
    where = f"kwargs.{key}" if key else "kwargs"
    error = InputError(f"{_said(model)}: {where} {why}", hint=hint, code="bad_kwargs")
    error.key = where
    return error


def _no_chat_model(model: LangChainModel, why: str, hint: str) -> InputError:
    return InputError(f"{_said(model)} {why}", hint=hint, code="no_chat_model")


def _said(model: LangChainModel) -> str:
    return f"model {model.name!r}: class {model.class_path!r}"
