"""Whether tools are called, must be called, may be called together, and what goes back with their results."""

from collections.abc import AsyncIterator

from toolablate.agents.probing.asking import TOOL, Asker, Outcome, Refused, Taken, saying
from toolablate.agents.probing.conclusions import conclude, missed
from toolablate.agents.probing.findings import Observation
from toolablate.traces.records import Capabilities, Message, ModelReply, ModelRequest, OpenAIModel

_CALL_ONE = f'Call the tool {TOOL.name} for the name "a", then reply with the number alone.'
_CALL_NONE = "Say hello."
_CALL_TWO = f'Call the tool {TOOL.name} for the name "a" and for the name "b", both calls in this one reply.'


async def probe_tools(base: OpenAIModel, asker: Asker) -> AsyncIterator[Observation]:
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
        if isinstance(encrypted, Taken):
            auto, base = encrypted, base.model_copy(update={"capabilities": Capabilities()})
    for each in await _given_back(base, asker, asked, auto):
        yield each


def _calls(tried: Outcome) -> int:
    return len(tried.reply.message.tool_calls) if isinstance(tried, Taken) else 0


def _was_cut(tried: Outcome) -> bool:
    return isinstance(tried, Taken) and tried.reply.finish_reason == "length"


def _tools(auto: Outcome, required: Outcome) -> Observation:
    if _calls(auto):
        return Observation("tools", "yes", "called when it was told to")
    if not isinstance(auto, Taken):
        return missed("tools", auto)
    if _was_cut(auto) or _was_cut(required) or not isinstance(required, Taken):
        return Observation("tools", "unknown", "taken, and the model called none, which may be its own choice")
    if _calls(required):
        return Observation("tools", "yes", 'called under tool_choice = "required", and not when it was only told to')
    return Observation("tools", "no", 'taken, and none was called, not even under tool_choice = "required"')


def _required(tried: Outcome) -> Observation:
    if not isinstance(tried, Taken):
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
        if not isinstance(tried, Taken):
            return missed(subject, tried)
        counts.append(_calls(tried))
    told = f"asked for two calls in one reply, true brought {counts[0]} and false {counts[1]}"
    if counts[1] > 1:
        return Observation(subject, "no", told)
    # One call each is what a model does that never makes two, and says nothing of the parameter.
    return Observation(subject, "yes" if counts[0] > 1 else "unknown", told)


def _encrypted(tried: Outcome) -> Observation:
    subject = "encrypted_reasoning"
    if not isinstance(tried, Taken):
        return missed(subject, tried)
    thoughts = [item for item in tried.reply.message.items if item.get("type") == "reasoning"]
    if not thoughts:
        return Observation(subject, "unknown", "taken, and the reply had no reasoning items")
    if all(item.get("encrypted_content") for item in thoughts):
        return Observation(subject, "yes", "reasoning items came with encrypted_content")
    return Observation(subject, "no", "reasoning items came without encrypted_content")


async def _given_back(base: OpenAIModel, asker: Asker, asked: ModelRequest, tried: Outcome) -> list[Observation]:
    """What the model thought before a call, given back with the call's result, and left out."""
    if not isinstance(tried, Taken) or not tried.reply.message.tool_calls:
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
