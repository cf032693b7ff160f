"""Text completions: a model goes on with a text, without a chat template.

https://platform.openai.com/docs/api-reference/completions, and
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html for base models of one's own.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from toolablate.agents.chat import ChatModel, ModelSource, NoReplyError
from toolablate.agents.endpoint.completions import BROKEN_OFF, FINISH_REASONS
from toolablate.agents.endpoint.requirements import require_text_sampling
from toolablate.agents.endpoint.transport import Transport
from toolablate.agents.endpoint.wire import bad_reply, charged_usd, chosen, completions_usage, dicts_in, merged, text_of
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Condition, Message, ModelReply, ModelRequest, OpenAIModel, Question

PATH = "/completions"
NOT_SERVED = "no_text_completions"
NOT_SCORED = "no_prompt_logprobs"
_OF_THE_REQUEST = frozenset({"not_found", "bad_request", "server_error"})
_ONLY_CHAT = re.compile(r"\bchat\b|\bmessages\b|\banswered (?:405|501)\b", re.IGNORECASE)


class TextEndpoint:
    """A model that continues texts. It samples greedily (temperature 0) where its record names no temperature.

    Raises InputError where the model cannot be asked as its record says.
    """

    def __init__(self, model: OpenAIModel) -> None:
        require_text_sampling(model)
        self._model = model
        self._transport = Transport(model)

    def limited(self, max_tokens: int) -> ModelSource:
        """The same with continuations of at most so many tokens; closing it closes nothing."""
        return _Limited(self, max_tokens)

    def scoring(self) -> ModelSource:
        """The same, giving back how likely each token of a text is: a reply's `logprobs` are natural logarithms,
        one a token, None of the first where nothing comes before it. Raises ModelError with the code
        `no_prompt_logprobs` where the endpoint does not say."""
        return _Scoring(self)

    async def close(self) -> None:
        await self._transport.close()

    async def score(self, text: str, *, seconds: float) -> ModelReply:
        body = {**self._body(text, 1), "echo": True, "logprobs": 1}
        return _scored(await self._posted(body, seconds), text, self._model.endpoint)

    async def complete(self, text: str, max_tokens: int, *, seconds: float) -> ModelReply:
        """The continuation of a text as the content of a reply, which may be empty: the model may find that the text
        is at its end. Where the endpoint sends the text back before it, that is taken off.

        Raises ModelError as chat models do, or with the code `no_text_completions`; NoReplyError with `content_filter`
        or `server_error`.
        """
        body = await self._posted(self._body(text, max_tokens), seconds)
        try:
            return _read(body, text)
        except ValidationError as error:
            raise bad_reply(f"the reply cannot be recorded: {error.errors()[0]['msg'][:200]}") from None

    async def _posted(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        written = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        try:
            return await self._transport.post(PATH, written.encode(), seconds=seconds)
        except ModelError as error:
            raise self._explained(error) from None

    def _body(self, text: str, max_tokens: int) -> dict[str, Any]:
        sampling = self._model.sampling
        ours = chosen(
            model=self._model.wire_name,
            prompt=text,
            max_tokens=max_tokens,
            temperature=0.0 if sampling.temperature is None else sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
        )
        return merged(ours, sampling.extra)

    def _explained(self, error: ModelError) -> ModelError:
        """A path that is not there, or answers nothing but chats, told apart from a model that is not there."""
        named = rf"(?<!\w){re.escape(self._model.wire_name)}(?!\w)"
        missing = error.code == "not_found" and not re.search(named, error.message, re.IGNORECASE)
        if not missing and not (error.code in _OF_THE_REQUEST and _ONLY_CHAT.search(error.message)):
            return error
        return ModelError(
            f"{self._model.endpoint} serves no text completions of {self._model.wire_name!r}: {error.message}",
            hint="vLLM, llama.cpp and SGLang do; check the endpoint's address, and that the model is no chat model",
            code=NOT_SERVED,
        )


@dataclass(frozen=True, slots=True)
class _Limited:
    """A request's last message is the text to go on with."""

    endpoint: TextEndpoint
    max_tokens: int

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return self

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        return await self.endpoint.complete(request.messages[-1].content, self.max_tokens, seconds=seconds)

    async def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Scoring:
    """A request's last message is the text to score."""

    endpoint: TextEndpoint

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return self

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        return await self.endpoint.score(request.messages[-1].content, seconds=seconds)

    async def close(self) -> None:
        pass


def _scored(body: Mapping[str, Any], text: str, endpoint: str) -> ModelReply:
    """`echo` with `logprobs` as OpenAI's completions had it, or vLLM's `prompt_logprobs` (in `sampling.extra`)."""
    choices = dicts_in(body.get("choices"))
    if not choices:
        raise bad_reply("the endpoint's reply has no choice")
    usage = completions_usage(body.get("usage"))
    found = _of_prompt(choices[0].get("prompt_logprobs"))
    if not found and str(choices[0].get("text", "")).startswith(text):
        # What was generated follows; without a count of the prompt's tokens it is the one that was asked for.
        echoed = _echoed(choices[0].get("logprobs"))
        found = echoed[: usage.input_tokens or len(echoed) - 1]
    if len(found) < 2 or None in found[1:]:
        raise ModelError(
            f"{endpoint} gives no log probabilities of a prompt's tokens",
            hint="vLLM and SGLang do; else leave perplexity out of the plan",
            code=NOT_SCORED,
        )
    return ModelReply(
        message=Message(role="assistant", content=""),
        finish_reason="length",
        usage=usage,
        charged_usd=charged_usd(body.get("usage")),
        logprobs=list(found),
        model=text_of(body.get("model")),
        response_id=text_of(body.get("id")),
    )


def _echoed(logprobs: Any) -> list[float | None]:
    values = logprobs.get("token_logprobs") if isinstance(logprobs, Mapping) else None
    return [_logprob(value) for value in values] if isinstance(values, list) else []


def _of_prompt(listed: Any) -> list[float | None]:
    """Of each token vLLM names the one of the prompt first, then likelier ones; of the first token nothing."""
    entries = [entry if isinstance(entry, Mapping) else {} for entry in listed] if isinstance(listed, list) else []
    told = [next(iter(entry.values()), None) for entry in entries]
    return [_logprob(each.get("logprob")) if isinstance(each, Mapping) else None for each in told]


def _logprob(value: Any) -> float | None:
    return min(float(value), 0.0) if isinstance(value, int | float) and math.isfinite(value) else None


def _read(body: Mapping[str, Any], given: str) -> ModelReply:
    choices = dicts_in(body.get("choices"))
    if not choices or not isinstance(choices[0].get("text"), str):
        raise bad_reply("the endpoint's reply has no choice with a text")
    ended = str(choices[0].get("finish_reason"))
    reply = ModelReply(
        message=Message(role="assistant", content=choices[0]["text"].removeprefix(given)),
        finish_reason=FINISH_REASONS.get(ended, "other"),
        usage=completions_usage(body.get("usage")),
        charged_usd=charged_usd(body.get("usage")),
        model=text_of(body.get("model")),
        response_id=text_of(body.get("id")),
    )
    if ended in BROKEN_OFF:
        raise NoReplyError(f"the endpoint broke the reply off: {ended}", reply, code="server_error", retryable=True)
    if reply.finish_reason == "content_filter":
        raise NoReplyError("the endpoint's content filter stopped the reply", reply, code="content_filter")
    return reply
