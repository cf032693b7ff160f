"""What is refused before anything is asked: a missing API key, capabilities that a plan wants and cannot have."""

import os
import re
from collections.abc import Callable, Iterable

from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    AgentModel,
    Condition,
    LangChainModel,
    Model,
    OpenAIModel,
    Question,
    ServedModel,
)

# What a condition or the conversation itself sets; a second hand on it would make the trace lie.
_NOT_EXTRA = ("model", "messages", "input", "tools", "tool_choice", "parallel_tool_calls", "stream", "background")
_NOT_EXTRA_TEXT = ("prompt", "suffix", "echo", "n", "best_of", "max_tokens")
_NOT_EXTRA_STATEFUL = ("previous_response_id", "conversation")
# Packages of LangChain whose replies tell of calls that the provider made.
_RUNNING_TOOLS = ("langchain_anthropic", "langchain_google_genai")
# Shorter "keys" are dummies for local servers, and blanking them out would spoil replies that hold the same word.
SECRET_FROM_LENGTH = 12


def require_sampling(model: OpenAIModel) -> None:
    """Raises InputError where `sampling` asks for what the API cannot take, or what is declared as missing."""
    sampling, can = model.sampling, model.capabilities
    for key in (*_NOT_EXTRA, *_NOT_EXTRA_STATEFUL):
        if key in sampling.extra:
            raise _refused(
                model, f"sampling.extra.{key}", "is not yours to set", "leave it out; toolablate writes that part"
            )
    if sampling.seed is not None and model.api == "responses":
        raise _refused(model, "sampling.seed", "is unknown to Responses", 'leave it out, or set api = "chat"')
    if sampling.seed is not None and can.seed is False:
        raise _undeclared(model, "its sampling sets seed", "seed")
    if wants_logprobs(model) and can.logprobs is False:
        raise _undeclared(model, "its sampling asks for logprobs", "logprobs")


def require_text_sampling(model: OpenAIModel) -> None:
    """The same for text completions, which know neither reasoning nor a conversation, and have a limit each."""
    sampling = model.sampling
    for key, asked in (
        ("reasoning_effort", sampling.reasoning_effort is not None),
        ("logprobs", wants_logprobs(model)),
    ):
        if asked:
            raise _refused(model, f"sampling.{key}", "is not for a text completion", "leave it out")
    if sampling.max_tokens is not None:
        raise _refused(model, "sampling.max_tokens", "is not for a text completion", "leave it out; each has its own")
    for key in (*_NOT_EXTRA, *_NOT_EXTRA_TEXT):
        if key in sampling.extra:
            raise _refused(
                model, f"sampling.extra.{key}", "is not yours to set", "leave it out; toolablate writes that part"
            )
    if sampling.seed is not None and model.capabilities.seed is False:
        raise _undeclared(model, "its sampling sets seed", "seed")


def require_capabilities(model: Model, condition: Condition) -> None:
    """Raises InputError where a condition wants what the model's endpoint is declared not to take, or its class
    cannot."""
    if condition.provider_tools:
        _require_provider_tools(model, condition)
    if isinstance(model, AgentModel):
        from toolablate.agents.langgraph_agents.opening import require_agent_condition

        require_agent_condition(model, condition)
    elif isinstance(model, LangChainModel):
        from toolablate.agents.langchain.opening import require_condition

        require_condition(model, condition)
    elif isinstance(model, OpenAIModel):
        _require_of_endpoint(model, condition)


def _require_of_endpoint(model: OpenAIModel, condition: Condition) -> None:
    for key in ("response_format", "text") if condition.answer_schema else ():
        if key in model.extra:
            raise _refused(
                model,
                f"sampling.extra.{key}",
                f"cannot stand beside answer_schema of condition {condition.name!r}",
                "leave one of them out",
            )
    can, where = model.capabilities, f"condition {condition.name!r} sets"
    if can.images is False and condition.show_plots:
        raise _undeclared(model, f"{where} show_plots", "images")
    if not condition.tools:
        return
    if can.tools is False:
        raise _undeclared(model, f"{where} tools", "tools")
    if can.tool_choice_required is False and condition.tool_choice not in ("auto", "none"):
        raise _undeclared(model, f"{where} tool_choice = {condition.tool_choice!r}", "tool_choice_required")
    if can.parallel_tool_calls is False and condition.parallel_tool_calls is not None:
        raise _undeclared(model, f"{where} parallel_tool_calls", "parallel_tool_calls")


def require_images(model: Model, questions: Iterable[Question]) -> None:
    """Raises InputError where a question has images and the model is known not to see any."""
    pictured = next((question for question in questions if question.images), None)
    if pictured is None:
        return
    wanted = f"question {pictured.id!r} has images"
    if isinstance(model, OpenAIModel) and model.capabilities.images is False:
        raise _undeclared(model, wanted, "images")
    if isinstance(model, LangChainModel):
        from toolablate.agents.langchain.opening import sees_images

        if sees_images(model) is False:
            raise InputError(
                f"model {model.name!r}: {wanted}, but by the profile of its class the model sees none",
                hint="take one that does, or say that this one does: kwargs = { profile = { image_inputs = true } }",
                code="missing_capability",
            )


def _require_provider_tools(model: Model, condition: Condition) -> None:
    """Raises InputError where the model's provider is not known to run tools that a reply tells of."""
    by_type = all(isinstance(tool.get("type"), str) for tool in condition.provider_tools)
    package = model.module.partition(".")[0] if isinstance(model, LangChainModel) else ""
    if isinstance(model, OpenAIModel):
        why = "Chat Completions tells of no calls of its provider's tools" if model.api == "chat" else ""
        hint = 'set api = "responses", where the endpoint has it'
    else:
        unknown = f"of {package or model.provider!r} it is not known that it runs tools by itself"
        why = "" if package in _RUNNING_TOOLS else unknown
        hint = 'take a model of provider = "openai" with api = "responses", or ChatAnthropic or ChatGoogleGenerativeAI'
    if not why and by_type is (package == "langchain_google_genai"):
        why = "Gemini's tools have no `type`" if by_type else "each tool needs a `type`"
        hint = "write { google_search = {} }" if by_type else 'write { type = "web_search" }'
    forced = condition.tool_choice not in ("auto", "none") and not condition.tools
    if not why and package == "langchain_google_genai" and forced:
        why, hint = f"Gemini takes no tool_choice = {condition.tool_choice!r} for them", "leave tool_choice out"
    if why:
        raise InputError(
            f"model {model.name!r}: condition {condition.name!r} has provider_tools, and {why}",
            hint=f"{hint}, or leave the condition to a plan of its own",
            code="missing_capability",
        )


def wants_logprobs(model: OpenAIModel) -> bool:
    return model.sampling.logprobs or model.sampling.top_logprobs is not None


def _undeclared(model: OpenAIModel, wanted: str, capability: str) -> InputError:
    return InputError(
        f"model {model.name!r}: {wanted}, but capabilities.{capability} is false",
        hint="leave that out, or declare the capability if the endpoint has it: `toolablate doctor --capabilities`",
        code="missing_capability",
    )


def _refused(model: OpenAIModel, key: str, why: str, hint: str) -> InputError:
    return InputError(f"model {model.name!r}: {key} {why}", hint=hint, code="bad_sampling")


# The API key of a model, from the environment, and its ways into what comes back.


def read_api_key(model: ServedModel) -> str:
    """The key to send, "" where none is to be sent.

    Raises InputError where the variable that holds it is not set, or holds what no header can carry; no message quotes
    a key.
    """
    variable = model.key_variable
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        other = "leave out api_key_env to send no key"
        if isinstance(model, LangChainModel):
            other = "leave out api_key_env if the class finds its own"
        elif isinstance(model, OpenAIModel) and model.is_openai:
            other = "name another variable as api_key_env"
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


def blanking_all(keys: Iterable[str], before: Callable[[str], str] = str) -> Callable[[str], str]:
    """The same for several, but for those that are too short to be any; what `before` takes out comes first."""
    blanks = [blanking(key) for key in sorted(keys, key=len, reverse=True) if len(key) >= SECRET_FROM_LENGTH]

    def blank(text: str) -> str:
        text = before(text)
        for each in blanks:
            text = each(text)
        return text

    return blank if blanks else before


def _written(letter: str) -> str:
    # JSON within JSON within JSON has seven backslashes; any number of them would take time by its square.
    code = f"{ord(letter):02x}"
    escaped = rf"\\{{1,8}}u00(?:{code}|{code.upper()})"
    plain = re.escape(letter)
    return f"(?:{plain}|{escaped})" if letter.isalnum() else rf"(?:\\{{0,8}}{plain}|{escaped})"
