"""How endpoints of different makes take requests; for `ChatServer.answers`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.servers.chat_server import Json, Status, Step, reply

Personality = Callable[[dict[str, Any]], Step]

NOT_FOUND = Status(404, {"message": "Not Found"})
FULL_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


def unsupported(key: str) -> Status:
    return Status(
        400, {"message": f"Unsupported parameter: '{key}' is not supported.", "code": "unsupported_parameter"}
    )


@dataclass(frozen=True)
class Chat:
    """A Chat Completions server that `sees` images, takes them unseen, or refuses them (None). `refuses` are keys that it answers 400 to, `limits` the names of a limit that it
    keeps; `thoughts` come with each message, and a call whose thoughts are missing is refused if it `insists`."""

    refuses: tuple[str, ...] = ()
    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    tools: bool = True
    required: str = "kept"
    logprobs: bool = True
    keeps_single: bool = True
    thoughts: Mapping[str, Any] | None = None
    insists: bool = False
    sees: bool | None = True

    def __call__(self, body: dict[str, Any]) -> Step:
        if "input" in body:
            return NOT_FOUND
        for key in self.refuses:
            if key in body:
                return unsupported(key)
        if body.get("tool_choice") == "required" and self.required == "refused":
            return Status(400, {"message": 'tool_choice "required" is not supported'})
        return self._tool_reply(body) if self.tools and body.get("tools") else self._text_reply(body)

    def _text_reply(self, body: dict[str, Any]) -> Step:
        if isinstance(body["messages"][-1]["content"], list):
            refusal = Status(500, {"message": "image input is not supported - hint: provide the mmproj"})
            return refusal if self.sees is None else reply("Blue, yellow and red." if self.sees else "I see no image.")
        if "Count" in body["messages"][-1]["content"]:
            cut = any(key in body for key in self.limits)
            wrote = 16 if cut else 290
            usage = {"prompt_tokens": 30, "completion_tokens": wrote}
            return reply("1\n2\n3", finish_reason="length" if cut else "stop", usage=usage, **self.thoughts or {})
        said = reply("ready", usage=FULL_USAGE, **self.thoughts or {})
        if body.get("logprobs"):
            content = [{"token": "ready", "logprob": -0.1, "bytes": None, "top_logprobs": []}] if self.logprobs else []
            said.value["choices"][0]["logprobs"] = {"content": content}
        return said

    def _tool_reply(self, body: dict[str, Any]) -> Step:
        messages = body["messages"]
        if messages[-1]["role"] == "tool":
            if self.insists and not any(key in messages[-2] for key in self.thoughts or {}):
                return Status(400, {"message": "reasoning_content is missing in assistant tool call message"})
            return reply("7")
        asked = messages[-1]["content"]
        if "Say hello" in asked:
            must = body.get("tool_choice") == "required" and self.required == "kept"
            return self._calls("a") if must else reply("Hello!")
        two = '"b"' in asked and (body.get("parallel_tool_calls", True) or not self.keeps_single)
        return self._calls("a", "b") if two else self._calls("a")

    def _calls(self, *names: str) -> Step:
        return reply(None, *(("read_number", {"name": name}) for name in names), **self.thoughts or {})


@dataclass(frozen=True)
class Responses:
    """A server that has Responses only. `encrypts` says whether a reasoning item comes with its content encrypted."""

    encrypts: bool = True

    def __call__(self, body: dict[str, Any]) -> Step:
        if "messages" in body:
            return NOT_FOUND
        conversation = body["input"]
        given_back = [item for item in conversation if item.get("type") == "reasoning"]
        if any("encrypted_content" not in item for item in given_back):
            return Status(404, {"message": "Item 'rs_1' not found. Items are not persisted when `store` is false."})
        text: dict[str, Any] = {"type": "output_text", "text": "ready", "annotations": []}
        if "message.output_text.logprobs" in body.get("include", []):
            text["logprobs"] = [{"token": "ready", "logprob": -0.1, "top_logprobs": []}]
        message = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [text]}
        asked = str(conversation[-1].get("content", ""))
        if "input_image" in asked:
            text["text"] = "blue\nyellow\nred"
        if "Count" in asked:
            cut = "max_output_tokens" in body
            return self._reply([message], 16 if cut else 290, cut=cut)
        if body.get("tools") and conversation[-1].get("type") != "function_call_output":
            two = '"b"' in asked and body.get("parallel_tool_calls", True)
            if "Say hello" not in asked or body.get("tool_choice") == "required":
                return self._reply([self._thought(body), *map(_function_call, "ab" if two else "a")], 20)
        return self._reply([message], 5)

    def _thought(self, body: dict[str, Any]) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
        if self.encrypts and "reasoning.encrypted_content" in body.get("include", []):
            item["encrypted_content"] = "gAAAA"
        return item

    def _reply(self, output: list[dict[str, Any]], wrote: int, *, cut: bool = False) -> Json:
        usage = {
            "input_tokens": 10,
            "output_tokens": wrote,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        status = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}} if cut else {}
        return Json(
            {"id": "resp_1", "model": "served", "status": "completed", "output": output, "usage": usage, **status}
        )


def _function_call(name: str) -> dict[str, Any]:
    arguments = f'{{"name": "{name}"}}'
    return {
        "type": "function_call",
        "id": f"fc_{name}",
        "call_id": f"call_{name}",
        "name": "read_number",
        "arguments": arguments,
    }
