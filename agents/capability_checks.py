"""What an endpoint can do, found out by asking it a handful of small requests."""

import asyncio
import re
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from toolablate.agents.chat import BUSY_CODES, ChatModel, NoReplyError, connect
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    Capabilities,
    ChoiceTarget,
    Condition,
    Message,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Picture,
    Question,
    Sampling,
    ToolSpec,
    Usage,
)

State = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Observation:
    """`unknown` is what the replies did not show, or what a rate limit or an outage kept from being found out."""

    subject: str
    state: State
    evidence: str


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model's endpoint after it was asked. `requests` counts those that were sent, `usage` adds up their tokens.

    `capabilities` holds what was found out and is None elsewhere. `stopped` says that not all was asked.
    """

    model: str
    endpoint: str
    api: str
    requests: int
    usage: Usage
    observations: tuple[Observation, ...]
    capabilities: Capabilities
    stopped: bool = False

    def state(self, subject: str) -> State:
        return next((seen.state for seen in self.observations if seen.subject == subject), "unknown")

    def evidence(self, subject: str) -> str:
        return next((seen.evidence for seen in self.observations if seen.subject == subject), "")


# Asks an endpoint the way a trial does, and tells what it refused from what says nothing about it.


# Thirteen; one more where the first fails with the plan's sampling parameters and is made again without them; and those
# that are made again because the endpoint was busy or broke down.
MOST_REPEATS = 3
MOST_REQUESTS = 14 + MOST_REPEATS
MOST_TOKENS_IN = 6_000
MOST_TOKENS_OUT = 12_000

# The other codes (a rate limit, an outage, no money left, a filter) would have met any request.
_REFUSALS = ("bad_request", "not_found", "unknown_model", "no_images", "bad_image")
_PASSING = BUSY_CODES | {"server_error"}
# Replies that are none by the model's way or a filter's, to a request that was taken.
_TAKEN = ("empty_reply", "content_filter")
_LONGEST_WAIT_SECONDS = 30.0
_LOST_AFTER = 3

TOOL = ToolSpec(
    name="read_number",
    description="Gives the number that is stored under a name.",
    parameters={
        "type": "object",
        "properties": {"name": {"type": "string", "description": "the name"}},
        "required": ["name"],
        "additionalProperties": False,
    },
)
# Sources are opened for a question; no endpoint sees it.
_NOBODYS = Question(id="check", prompt="check", choices=("yes", "no"), target=ChoiceTarget(letters=("A",)))


@dataclass(frozen=True, slots=True)
class Accepted:
    """The request was accepted."""

    reply: ModelReply


@dataclass(frozen=True, slots=True)
class Refused:
    """The endpoint does not take such a request."""

    said: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """No answer that says anything about the request."""

    code: str
    said: str


Outcome = Accepted | Refused | Unclear


class Asker:
    """Counts what it asks, and what that took. After a few requests in a row without a clear answer it asks no more.

    A request is made up to `attempts` times, and not more than MOST_REPEATS are made again in all. Raises ValueError
    where there is to be no attempt at all.
    """

    def __init__(self, *, attempts: int = 2) -> None:
        if attempts < 1:
            raise ValueError(f"attempts should be at least 1, and not {attempts}")
        self._attempts = attempts
        self._repeats = 0
        self._unclear = 0
        self.requests = 0
        self.usage = Usage()
        self.replies: list[ModelReply] = []

    async def ask(self, model: OpenAIModel, request: ModelRequest) -> Outcome:
        """Raises InputError where the model cannot be asked at all: no key, no address."""
        if self._unclear >= _LOST_AFTER:
            return Unclear("given_up", f"not asked: {self._unclear} requests in a row got no clear answer")
        source = connect(model)
        try:
            chat = source.session(_NOBODYS, Condition(name="check"), 0)
            outcome = await self._ask(chat, request, model.timeout_seconds)
        finally:
            await source.close()
        self._unclear = self._unclear + 1 if isinstance(outcome, Unclear) else 0
        if isinstance(outcome, Accepted):
            self.replies.append(outcome.reply)
        return outcome

    async def _ask(self, chat: ChatModel, request: ModelRequest, seconds: float) -> Outcome:
        for left in reversed(range(self._attempts)):
            self.requests += 1
            try:
                reply = await chat.complete(request, seconds=seconds)
                self.usage = self.usage + reply.usage
                return Accepted(reply)
            except NoReplyError as error:
                self.usage = self.usage + error.reply.usage
                if error.code in _TAKEN:
                    return Accepted(error.reply)
                failed: ModelError = error
            except ModelError as error:
                failed = error
            if failed.code in _REFUSALS:
                return Refused(failed.message)
            if failed.code not in _PASSING or not left or self._repeats == MOST_REPEATS:
                break
            self._repeats += 1
            await asyncio.sleep(min(failed.retry_after or 1.0, _LONGEST_WAIT_SECONDS))
        return Unclear(failed.code, failed.message)


def saying(text: str, **options: object) -> ModelRequest:
    """A request with one message of the user's."""
    return ModelRequest.model_validate({"messages": (Message(role="user", content=text),), **options})


# What follows from an outcome.


_LIMIT_REACHED = re.compile(r"(limit|max_\w*tokens).{0,60}reached", re.IGNORECASE)
_AMONG = {"content": "thinking parts of the content"}
# A wait of its own, or one that the endpoint told of.
_SILENT = ("timeout", "given_up")
_NOT_THERE = ("unreachable", "disconnected")


def conclude(subject: str, tried: Outcome, evidence: str) -> Observation:
    """Yes where the request was taken, no where it was refused."""
    if isinstance(tried, Accepted):
        return Observation(subject, "yes", evidence)
    return missed(subject, tried)


def missed(subject: str, tried: Refused | Unclear) -> Observation:
    return Observation(subject, "no" if isinstance(tried, Refused) else "unknown", tried.said)


def first_answer(model: OpenAIModel, tried: Accepted | Unclear) -> list[Observation]:
    """Reachable, key, API and model, by the outcome of the plainest request that there is."""
    if isinstance(tried, Accepted):
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
    if not isinstance(tried, Accepted):
        return missed(subject, tried)
    wrote = tried.reply.usage.output_tokens
    if tried.reply.finish_reason == "length":
        after = "" if wrote is None else f" after {wrote} tokens"
        return Observation(subject, "yes", f"it cut the reply{after}")
    if wrote is None or wrote <= limit:
        return Observation(subject, "unknown", "taken, and the reply was too short to show whether it is kept")
    return Observation(subject, "no", f"taken and not kept: {wrote} tokens came where {limit} were allowed")


def logprobs_given(tried: Outcome) -> Observation:
    if not isinstance(tried, Accepted):
        return missed("logprobs", tried)
    if _filled(tried.reply.logprobs):
        return Observation("logprobs", "yes", "they came with the reply")
    if not tried.reply.message.content:
        return Observation("logprobs", "unknown", "the reply had no text that could have had any")
    return Observation("logprobs", "no", "taken, and none came")


def image_seen(tried: Outcome) -> Observation:
    if not isinstance(tried, Accepted):
        return missed("images", tried)
    said = tried.reply.message.content
    if re.search(".*".join(BARS), said, re.IGNORECASE | re.DOTALL):
        return Observation("images", "yes", "it said what an image shows")
    if tried.reply.finish_reason == "length" or not said:
        return Observation("images", "unknown", "taken, and the reply does not say what the image shows")
    return Observation("images", "no", f"taken and not seen: asked for the colours of an image, it said {said[:60]!r}")


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


# Whether tools are called, must be called, may be called together, and what goes back with their results.


_CALL_ONE = f'Call the tool {TOOL.name} for the name "a", then reply with the number alone.'
_CALL_NONE = "Say hello."
_CALL_TWO = f'Call the tool {TOOL.name} for the name "a" and for the name "b", both calls in this one reply.'


async def check_tools(base: OpenAIModel, asker: Asker) -> AsyncIterator[Observation]:
    """Each thing as it is found out."""
    asked = saying(_CALL_ONE, tools=(TOOL,))
    auto = await asker.ask(base, asked)
    required = await asker.ask(base, saying(_CALL_NONE, tools=(TOOL,), tool_choice="required"))
    tools = _tools(auto, required)
    yield tools
    yield _required(required)
    yield await _parallel(base, asker, tools)
    if base.api == "responses":
        encrypted = await asker.ask(base.model_copy(update={"capabilities": Capabilities()}), asked)
        yield _encrypted(encrypted)
        if isinstance(encrypted, Accepted):
            auto, base = encrypted, base.model_copy(update={"capabilities": Capabilities()})
    for each in await _given_back(base, asker, asked, auto):
        yield each


def _calls(tried: Outcome) -> int:
    return len(tried.reply.message.tool_calls) if isinstance(tried, Accepted) else 0


def _was_cut(tried: Outcome) -> bool:
    return isinstance(tried, Accepted) and tried.reply.finish_reason == "length"


def _tools(auto: Outcome, required: Outcome) -> Observation:
    if _calls(auto):
        return Observation("tools", "yes", "called when it was told to")
    if not isinstance(auto, Accepted):
        return missed("tools", auto)
    if _was_cut(auto) or _was_cut(required) or not isinstance(required, Accepted):
        return Observation("tools", "unknown", "taken, and the model called none, which may be its own choice")
    if _calls(required):
        return Observation("tools", "yes", 'called under tool_choice = "required", and not when it was only told to')
    return Observation("tools", "no", 'taken, and none was called, not even under tool_choice = "required"')


def _required(tried: Outcome) -> Observation:
    if not isinstance(tried, Accepted):
        return missed("tool_choice_required", tried)
    if _calls(tried):
        return Observation("tool_choice_required", "yes", "a tool was called where none was needed")
    if _was_cut(tried):
        return Observation("tool_choice_required", "unknown", "the reply was cut before any call")
    return Observation("tool_choice_required", "no", "taken and not kept: no tool was called")


async def _parallel(base: OpenAIModel, asker: Asker, tools: Observation) -> Observation:
    subject = "parallel_tool_calls"
    if tools.state != "yes":
        return Observation(subject, "unknown", "not asked: no tool was called before")
    counts = []
    for allowed in (True, False):
        tried = await asker.ask(base, saying(_CALL_TWO, tools=(TOOL,), parallel_tool_calls=allowed))
        if not isinstance(tried, Accepted):
            return missed(subject, tried)
        counts.append(_calls(tried))
    told = f"asked for two calls in one reply, true brought {counts[0]} and false {counts[1]}"
    if counts[1] > 1:
        return Observation(subject, "no", told)
    # One call each is what a model does that never makes two, and says nothing of the parameter.
    return Observation(subject, "yes" if counts[0] > 1 else "unknown", told)


def _encrypted(tried: Outcome) -> Observation:
    subject = "encrypted_reasoning"
    if not isinstance(tried, Accepted):
        return missed(subject, tried)
    thoughts = [item for item in tried.reply.message.items if item.get("type") == "reasoning"]
    if not thoughts:
        return Observation(subject, "unknown", "taken, and the reply had no reasoning items")
    if all(item.get("encrypted_content") for item in thoughts):
        return Observation(subject, "yes", "reasoning items came with encrypted_content")
    return Observation(subject, "no", "reasoning items came without encrypted_content")


async def _given_back(base: OpenAIModel, asker: Asker, asked: ModelRequest, tried: Outcome) -> list[Observation]:
    """What the model thought before a call, given back with the call's result, and left out."""
    if not isinstance(tried, Accepted) or not tried.reply.message.tool_calls:
        return [Observation("tool_results", "unknown", "not asked: no tool was called that could have one")]
    said = tried.reply.message
    whole = await asker.ask(base, _answered(asked, tried.reply, said))
    if not _thought(said):
        return [conclude("tool_results", whole, "taken; no reasoning came that could have been given back")]
    bare = said.model_copy(update={"reasoning": "", "reasoning_key": "", "items": ()})
    without = await asker.ask(base, _answered(asked, tried.reply, bare))
    if isinstance(whole, Refused) and isinstance(without, Refused):
        return [missed("tool_results", whole)]
    return [
        conclude("reasoning_given_back", whole, "taken, with a tool's result"),
        conclude("reasoning_left_out", without, "taken, with a tool's result"),
    ]


def _thought(said: Message) -> bool:
    return bool(said.reasoning_key) or any(str(item.get("type", "")).startswith("reasoning") for item in said.items)


def _answered(asked: ModelRequest, reply: ModelReply, said: Message) -> ModelRequest:
    results = [Message(role="tool", content="7", tool_call_id=call.id) for call in reply.message.tool_calls]
    return asked.model_copy(update={"messages": (*asked.messages, said, *results)})


# The requests of a capability check, in their order, and what follows from the replies.


# Responses takes no smaller limit than this.
CUT_AT = 16
ROOM = 1_000
_SHORT = "Reply with the single word: ready"
_LONG = "Count from 1 to 100, one number per line, and write nothing else."


BARS = {"blue": b"\x00\x00\xff", "yellow": b"\xff\xff\x00", "red": b"\xff\x00\x00"}
"""From left to right: nobody guesses these three in this order."""
_WIDTH, _HEIGHT = 32, 64


def _bars() -> Picture:
    """A PNG (its specification, 5 and 11)."""
    row = b"\x00" + b"".join(colour * _WIDTH for colour in BARS.values())
    head = struct.pack(">IIBBBBB", _WIDTH * len(BARS), _HEIGHT, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(row * _HEIGHT)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return Picture.of(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


_ABOUT_BARS = ModelRequest(
    messages=(
        Message(
            role="user",
            content="The image has three bars. Name their colours from left to right, and say nothing else.",
            images=(_bars(),),
        ),
    )
)


class _Seen(list[Observation]):
    """What was found out so far; each is told at once."""

    def __init__(self, tell: Callable[[Observation], None]) -> None:
        super().__init__()
        self._tell = tell

    def add(self, *observations: Observation) -> None:
        for each in observations:
            self.append(each)
            self._tell(each)


async def check_capabilities(
    model: OpenAIModel, *, attempts: int = 2, tell: Callable[[Observation], None] = lambda _: None
) -> CheckedModel:
    """Asks the endpoint of a model at most MOST_REQUESTS times, repeats included; a request that finds it busy or
    broken is made up to `attempts` times. `tell` hears of each thing when it is found out. Where the task is cancelled,
    what was found out until then is returned. Raises InputError where it cannot be asked at all: no key, no address."""
    asker, seen, stopped = Asker(attempts=attempts), _Seen(tell), False
    try:
        await _ask_all(model, asker, seen)
    except asyncio.CancelledError:
        stopped = True
    if any(one.subject == model.api and one.state == "yes" for one in seen):
        seen.add(reasoning_names(model.api, asker.replies), usage_reported(asker.replies))
    return _checked(model, asker, seen, stopped=stopped)


async def _ask_all(model: OpenAIModel, asker: Asker, seen: _Seen) -> None:
    base = await _first(model, asker, seen)
    if base is None:
        return
    seen.add(await _other_api(base, asker))
    base = await _limits(base, asker, seen)
    if model.api == "chat":
        tried = await asker.ask(_sampled(base, seed=7), saying(_SHORT))
        seen.add(conclude("seed", tried, "taken; one reply cannot show whether it is kept"))
    else:
        seen.add(Observation("seed", "no", "Responses has no such parameter"))
    seen.add(logprobs_given(await asker.ask(_sampled(base, logprobs=True), saying(_SHORT))))
    seen.add(image_seen(await asker.ask(base, _ABOUT_BARS)))
    async for each in check_tools(base, asker):
        seen.add(each)


async def _first(model: OpenAIModel, asker: Asker, seen: _Seen) -> OpenAIModel | None:
    """The model as the further requests ask it; None where there is no asking."""
    # Without what the further requests are about.
    sampling = model.sampling.model_copy(
        update={"max_tokens": None, "seed": None, "logprobs": False, "top_logprobs": None}
    )
    base = model.model_copy(
        update={"sampling": sampling, "capabilities": Capabilities(encrypted_reasoning=False), "price": None}
    )
    tried = await asker.ask(base, saying(_SHORT))
    if isinstance(tried, Refused) and sampling != Sampling():
        bare = base.model_copy(update={"sampling": Sampling()})
        again = await asker.ask(bare, saying(_SHORT))
        if isinstance(again, Accepted):
            seen.add(*first_answer(model, again), Observation("sampling", "no", tried.said))
            return bare
        tried = again
    if isinstance(tried, Refused):
        seen.add(*first_refused(model, tried, await _other_api(base, asker)))
        return None
    seen.add(*first_answer(model, tried))
    if not isinstance(tried, Accepted):
        return None
    if sampling != Sampling():
        seen.add(Observation("sampling", "yes", "the plan's parameters were taken"))
    return base


async def _other_api(base: OpenAIModel, asker: Asker) -> Observation:
    other = "responses" if base.api == "chat" else "chat"
    tried = await asker.ask(base.model_copy(update={"api": other, "sampling": Sampling()}), saying(_SHORT))
    return conclude(other, tried, "a request was taken")


async def _limits(base: OpenAIModel, asker: Asker, seen: _Seen) -> OpenAIModel:
    """Finds the name of a reply's limit; the model with a limit under it, so that the rest costs little."""
    if base.api == "responses":
        tried = await asker.ask(_sampled(base, max_tokens=CUT_AT), saying(_LONG))
        seen.add(limit_kept("max_output_tokens", tried, CUT_AT))
        return _sampled(base, max_tokens=ROOM) if seen[-1].state != "no" else base
    kept = []
    for key in ("max_tokens", "max_completion_tokens"):
        asked = base.model_copy(update={"capabilities": base.capabilities.model_copy(update={"max_tokens_key": key})})
        seen.add(limit_kept(key, await asker.ask(_sampled(asked, max_tokens=CUT_AT), saying(_LONG)), CUT_AT))
        if seen[-1].state == "yes":
            kept.append(asked)
    return _sampled(kept[0], max_tokens=ROOM) if kept else base


def _sampled(model: OpenAIModel, **changes: object) -> OpenAIModel:
    return model.model_copy(update={"sampling": model.sampling.model_copy(update=changes)})


def _checked(model: OpenAIModel, asker: Asker, seen: Sequence[Observation], *, stopped: bool) -> CheckedModel:
    states = {one.subject: one.state for one in seen}
    return CheckedModel(
        model=model.name,
        endpoint=model.endpoint,
        api=model.api,
        requests=asker.requests,
        usage=asker.usage,
        observations=tuple(seen),
        capabilities=_capabilities(model, states),
        stopped=stopped,
    )


def _capabilities(model: OpenAIModel, states: dict[str, State]) -> Capabilities:
    def known(subject: str) -> bool | None:
        return {"yes": True, "no": False}.get(states.get(subject, "unknown"))

    # Where both names are kept, the one that is sent anyway.
    usual = ("max_completion_tokens", "max_tokens") if model.is_openai else ("max_tokens", "max_completion_tokens")
    return Capabilities(
        max_tokens_key=next((key for key in usual if states.get(key) == "yes"), None),
        tools=known("tools"),
        tool_choice_required=known("tool_choice_required"),
        parallel_tool_calls=known("parallel_tool_calls"),
        seed=known("seed") if model.api == "chat" else None,
        logprobs=known("logprobs"),
        encrypted_reasoning=known("encrypted_reasoning"),
        images=known("images"),
    )
