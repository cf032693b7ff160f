"""What follows from an outcome."""

import re
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from toolablate.agents.probing.asking import Outcome, Refused, Taken, Unclear
from toolablate.agents.probing.findings import Observation, State
from toolablate.traces.records import ModelReply, OpenAIModel

_LIMIT_REACHED = re.compile(r"(limit|max_\w*tokens).{0,60}reached", re.IGNORECASE)
_AMONG = {"content": "thinking parts of the content"}
# A wait of its own, or one that the endpoint told of.
_SILENT = ("timeout", "given_up")
_NOT_THERE = ("unreachable", "disconnected")


def conclude(subject: str, tried: Outcome, evidence: str) -> Observation:
    """Yes where the request was taken, no where it was refused."""
    if isinstance(tried, Taken):
        return Observation(subject, "yes", evidence)
    return missed(subject, tried)


def missed(subject: str, tried: Refused | Unclear) -> Observation:
    return Observation(subject, "no" if isinstance(tried, Refused) else "unknown", tried.said)


def first_answer(model: OpenAIModel, tried: Taken | Unclear) -> list[Observation]:
    """Reachable, key, API and model, by the outcome of the plainest request that there is."""
    if isinstance(tried, Taken):
        key = (
            f"the one in {model.key_variable} was taken" if model.key_variable else "none was sent, none was asked for"
        )
        served = tried.reply.model or "a model that it does not name"
        return [
            Observation("reachable", "yes", "it replied"),
            Observation("key", "yes", key),
            Observation(model.api, "yes", "a request was taken"),
            Observation("model", "yes", f"{model.wire_name} was replied to by {served}"),
        ]
    there: State = "no" if tried.code in _NOT_THERE else "unknown" if tried.code in _SILENT else "yes"
    found = [Observation("reachable", there, tried.said if there != "yes" else "it replied")]
    if tried.code == "unauthorized":
        return [*found, Observation("key", "no", tried.said)]
    return [*found, Observation(model.api, "unknown", tried.said)] if there != "no" else found


def first_refused(model: OpenAIModel, tried: Refused, other: Observation) -> list[Observation]:
    """What is missing where the plainest request was refused; `other` is how the same fared by the other API."""
    seen = [Observation("reachable", "yes", "it replied")]
    named = model.wire_name.lower() in tried.said.lower() or "model" in tried.said.lower()
    if named and other.state != "yes":
        # With a model that is not there, neither API shows whether it is.
        return [*seen, Observation("model", "no", tried.said)]
    return [*seen, Observation(model.api, "no", tried.said), other]


def limit_kept(subject: str, tried: Outcome, limit: int) -> Observation:
    """Of a request for far more tokens than `limit`."""
    if isinstance(tried, Refused) and _LIMIT_REACHED.search(tried.said):
        # OpenAI refuses what leaves its reasoning models no room; that is a limit kept.
        return Observation(subject, "yes", tried.said)
    if not isinstance(tried, Taken):
        return missed(subject, tried)
    wrote = tried.reply.usage.output_tokens
    if tried.reply.finish_reason == "length":
        after = "" if wrote is None else f" after {wrote} tokens"
        return Observation(subject, "yes", f"it cut the reply{after}")
    if wrote is None or wrote <= limit:
        return Observation(subject, "unknown", "taken, and the reply was too short to show whether it is kept")
    return Observation(subject, "no", f"taken and not kept: {wrote} tokens came where {limit} were allowed")


def logprobs_given(tried: Outcome) -> Observation:
    if not isinstance(tried, Taken):
        return missed("logprobs", tried)
    if _filled(tried.reply.logprobs):
        return Observation("logprobs", "yes", "they came with the reply")
    if not tried.reply.message.content:
        return Observation("logprobs", "unknown", "the reply had no text that could have had any")
    return Observation("logprobs", "no", "taken, and none came")


def _filled(value: JsonValue) -> bool:
    """Whether there is anything in the lists that hold log probabilities; some servers send them empty."""
    lists = value.values() if isinstance(value, dict) else [value]
    return any(isinstance(part, list) and part for part in lists)


def reasoning_names(api: str, replies: Iterable[ModelReply]) -> Observation:
    """Under which names what the model thought came, in whatever replies there were."""
    names: dict[str, None] = {}
    for reply in replies:
        message = reply.message
        kinds = {str(item.get("type", "")) for item in message.items}
        if api == "responses" and "reasoning" in kinds:
            names["reasoning items"] = None
        if message.reasoning_key and message.reasoning:
            names[_AMONG.get(message.reasoning_key, message.reasoning_key)] = None
        if any(kind.startswith("reasoning.") for kind in kinds):
            names["reasoning_details"] = None
        if "<think>" in message.content:
            names["<think> in the text"] = None
    if names:
        return Observation("reasoning", "yes", f"as {', '.join(names)}")
    return Observation("reasoning", "unknown", "none came, which may be the model's way or the endpoint's")


def usage_reported(replies: Sequence[ModelReply]) -> Observation:
    kinds = ("input", "output", "cached", "cache_write", "reasoning")
    came = [kind for kind in kinds if any(getattr(reply.usage, f"{kind}_tokens") is not None for reply in replies)]
    lacking = [kind for kind in kinds if kind not in came]
    state: State = "yes" if {"input", "output"} <= set(came) else "no"
    told = f"tokens: {_named(came) or 'none'}" + (f"; not told: {_named(lacking)}" if lacking else "")
    charged = next((reply.charged_usd for reply in replies if reply.charged_usd is not None), None)
    told += "" if charged is None else f"; tells what it charges (${charged:g})"
    return Observation("usage", state, told)


def _named(kinds: Sequence[str]) -> str:
    return ", ".join(kind.replace("_", " ") for kind in kinds)
