"""A chat model of LangChain, for all its trials."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from langsmith.run_helpers import tracing_context
from pydantic import ValidationError

from toolablate.agents.chat import ChatModel
from toolablate.agents.endpoint.completions import response_format
from toolablate.agents.endpoint.requirements import SECRET_FROM_LENGTH, blanking
from toolablate.agents.endpoint.wire import bad_reply, chosen
from toolablate.agents.langchain.clients import close_clients, is_blocking, with_own_clients
from toolablate.agents.langchain.failures import model_error
from toolablate.agents.langchain.messages import BARRED, BARRED_BY_WORD, read, written, written_tools
from toolablate.agents.langchain.opening import open_chat
from toolablate.agents.pacing.waits import watched_sending
from toolablate.tools.function import outcome_of
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Condition, LangChainModel, ModelReply, ModelRequest, Question

# LangChain's word for `required` is "any". Classes write the name of a tool in their API's form, and "none" too but for
# Anthropic's, which takes it for a tool's name.
_CHOICES: dict[str, Any] = {"required": "any", "auto": None}

# Whose API has images in the result of a tool: https://docs.claude.com/en/api/messages. Gemini's has them in its newest
# models alone, and Chat Completions has none.
_IMAGES_IN_RESULTS = ("langchain_anthropic",)


class LangChainSource:
    """Raises InputError where the class cannot be had, or cannot be made as the model's record says."""

    def __init__(self, model: LangChainModel) -> None:
        self._model = model
        opened = with_own_clients(partial(open_chat, model))
        self._chat = opened.chat
        self._key_variable = opened.key_variable
        self._without_key = blanking(opened.key)
        self._blank: Callable[[str], str] = self._without_key if len(opened.key) >= SECRET_FROM_LENGTH else str
        self._blocks = is_blocking(opened.chat)
        self._in_results = model.module.partition(".")[0] in _IMAGES_IN_RESULTS

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return _LangChainChat(self)

    async def close(self) -> None:
        await close_clients(self._chat)

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises ModelError with one of the codes of `failures`; NoReplyError with `content_filter`, `empty_reply`,
        `bad_reply` or `server_error` where a reply came that is none."""
        allowed = min(seconds, self._model.timeout_seconds)
        try:
            asked, messages = self._bound(request), written(request, in_results=self._in_results)
            if (sent := watched_sending()) is not None:
                # No client tells when; about now.
                sent()
            async with asyncio.timeout(allowed) as deadline:
                message = await self._ask(asked, messages)
        except Exception as error:  # noqa: BLE001 - the class is anybody's
            if isinstance(error, TimeoutError) and deadline.expired():
                raise ModelError(
                    f"{self._model.endpoint} did not reply within {allowed:g} s", code="timeout", retryable=True
                ) from None
            raise model_error(error, self._model, key_variable=self._key_variable, safe=self._safe) from None
        turn = sum(each.role == "assistant" for each in request.messages)
        try:
            return read(message, turn, self._blank)
        except ValidationError as error:
            raise bad_reply(f"the reply cannot be recorded: {error.errors()[0]['msg'][:200]}") from None

    async def _ask(self, asked: Runnable[Any, BaseMessage], messages: list[BaseMessage]) -> BaseMessage:
        # A LANGSMITH_TRACING left over from another project must not send benchmark questions to a third party.
        with tracing_context(enabled=False):
            if not self._blocks:
                return await asked.ainvoke(messages, {"callbacks": []})

            # The loop's own threads are few, and a run that ends would wait for one that hangs.
            def invoke() -> BaseMessage:
                return asked.invoke(messages, {"callbacks": []})

            message, error = await outcome_of(invoke)
            if error is not None:
                raise error if isinstance(error, Exception) else RuntimeError(f"it ended in {type(error).__name__}")
            assert isinstance(message, BaseMessage)
            return message

    def _bound(self, request: ModelRequest) -> Runnable[Any, BaseMessage]:
        """The model with the request's tools."""
        form = response_format(request)
        if request.provider_tools and request.tool_choice == "none" and self._package not in BARRED:
            # Only functions are barred by the choice of another.
            request = request.model_copy(update={"provider_tools": ()})
        if not (request.tools or request.provider_tools):
            return self._chat.bind(**form) if form else self._chat
        options: dict[str, Any] = chosen(
            tool_choice=self._choice(request.tool_choice), parallel_tool_calls=request.parallel_tool_calls, **form
        )
        if request.provider_tools and self._package == "langchain_google_genai":
            # Its `bind_tools` breaks functions that stand beside tools of Google's.
            return self._chat.bind(tools=written_tools(request), **options)
        return self._chat.bind_tools(written_tools(request), **options)

    def _choice(self, choice: str) -> Any:
        """The choice as the class takes it; None where it takes none. A call that is made all the same is not run."""
        if choice != "none":
            return _CHOICES.get(choice, choice)
        return BARRED.get(self._package, "none" if self._package in BARRED_BY_WORD else None)

    @property
    def _package(self) -> str:
        return self._model.module.partition(".")[0]

    def _safe(self, text: str) -> str:
        """Foreign text without the key."""
        return self._without_key(text)


class _LangChainChat:
    def __init__(self, source: LangChainSource) -> None:
        self._source = source

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        return await self._source.complete(request, seconds=seconds)
