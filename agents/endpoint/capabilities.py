"""What a plan wants of an endpoint and cannot have is refused before anything is asked."""

from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Model, OpenAIModel

# What a condition or the conversation itself sets; a second hand on it would make the trace lie.
_NOT_EXTRA = ("model", "messages", "input", "tools", "tool_choice", "parallel_tool_calls", "stream", "background")
_NOT_EXTRA_TEXT = ("prompt", "suffix", "echo", "n", "best_of", "max_tokens")
_NOT_EXTRA_STATEFUL = ("previous_response_id", "conversation")


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
    """Raises InputError where a condition wants what the model's endpoint is declared not to take."""
    if not isinstance(model, OpenAIModel) or not condition.tools:
        return
    can, where = model.capabilities, f"condition {condition.name!r} sets"
    if can.tools is False:
        raise _undeclared(model, f"{where} tools", "tools")
    if can.tool_choice_required is False and condition.tool_choice not in ("auto", "none"):
        raise _undeclared(model, f"{where} tool_choice = {condition.tool_choice!r}", "tool_choice_required")
    if can.parallel_tool_calls is False and condition.parallel_tool_calls is not None:
        raise _undeclared(model, f"{where} parallel_tool_calls", "parallel_tool_calls")


def wants_logprobs(model: OpenAIModel) -> bool:
    return model.sampling.logprobs or model.sampling.top_logprobs is not None


def _undeclared(model: OpenAIModel, wanted: str, capability: str) -> InputError:
    return InputError(
        f"model {model.name!r}: {wanted}, but capabilities.{capability} is false",
        hint="leave the one out, or mend the other if the endpoint can do it (`toolablate probe` finds out)",
        code="missing_capability",
    )


def _refused(model: OpenAIModel, key: str, why: str, hint: str) -> InputError:
    return InputError(f"model {model.name!r}: {key} {why}", hint=hint, code="bad_sampling")
