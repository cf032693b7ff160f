"""What a provider's own tools did within a reply: its calls, what they asked, and what the provider tells of results.

A reply's items and blocks are read as their APIs write them (OpenAI's Responses; Anthropic's Messages and Gemini's
generateContent by LangChain). All of it is foreign: whatever has another form is read as far as it goes.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolablate.agents.foreign import dicts_in, text_of
from toolablate.traces.records import Message, ToolCall, ToolRequest, clean_text

MOST_CHARS = 20_000
"""Characters of a result that are kept, as many as a cell of ours may print."""
_MOST_OF_A_LINE = 2_000

NOT_TOLD = "(The provider tells nothing of the result.)"
FAILED = "provider_error"

# What is carried out by whoever asked, and is no call of the provider's.
_OURS = frozenset(
    {
        *("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"),
        *("tool_call", "invalid_tool_call"),
    }
)


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """A call that the provider made. `unit` is what it is charged by where several calls share one (a container of a
    code interpreter), `units` for how many it is charged."""

    id: str
    name: str
    asked: Mapping[str, Any]
    output: str
    status: Literal["ok", "error"] = "ok"
    error: str = ""
    unit: str = ""
    units: int = 1

    def event(self, at: float) -> ToolCall:
        """As the trace tells it; `at` is when the request was sent that it answered a part of."""
        output = clean_text(self.output).strip() or NOT_TOLD
        return ToolCall(
            at=at,
            call=ToolRequest(
                id=clean_text(self.id),
                name=clean_text(self.name)[:200] or "unnamed",
                arguments=clean_text(json.dumps(self.asked, ensure_ascii=False)),
            ),
            output=output[:MOST_CHARS],
            status=self.status,
            error=clean_text(self.error)[:200],
            truncated=len(output) > MOST_CHARS,
            by_provider=True,
        )


def calls_of_provider(message: Message) -> tuple[ProviderCall, ...]:
    """In the order in which the reply has them."""
    return tuple(_of_items(message.items))


def charged_calls(message: Message) -> Counter[str]:
    """How many calls are charged, by name: what failed is not, and what shares a container is one."""
    counted = Counter[str]()
    seen: set[tuple[str, str]] = set()
    for call in calls_of_provider(message):
        if call.status == "ok" and not (call.unit and (call.name, call.unit) in seen):
            seen.add((call.name, call.unit))
            counted[call.name] += call.units
    return +counted


# The output items of Responses.


def _of_items(items: Iterable[Mapping[str, Any]]) -> Iterator[ProviderCall]:
    found = [item for item in items if str(item.get("type")).endswith("_call") and item["type"] not in _OURS]
    cited = _lines("Cited in the reply:", _citations(items)) if found else ""
    searches = [place for place, item in enumerate(found) if item["type"] == "web_search_call"]
    for place, item in enumerate(found):
        kind = str(item["type"]).removesuffix("_call")
        read = _RESPONSES.get(kind, _other)
        asked_last = place == (searches[-1] if searches else len(found) - 1)
        name, asked, parts = read(kind, item)
        failed = item.get("status") == "failed"
        yield ProviderCall(
            id=text_of(item.get("id")),
            name=name,
            asked=asked,
            output="\n\n".join(filter(None, [*parts, cited if asked_last else ""])),
            status="error" if failed else "ok",
            error=FAILED if failed else "",
            unit=text_of(item.get("container_id")),
        )


_Read = tuple[str, Mapping[str, Any], list[str]]


def _web_search(_: str, item: Mapping[str, Any]) -> _Read:
    """A search, or a page that was opened or looked through: each has a name and a price of its own."""
    held = item.get("action")
    action: Mapping[str, Any] = held if isinstance(held, dict) else {}
    name = text_of(action.get("type")) or "search"
    asked = {key: value for key, value in action.items() if key not in ("type", "sources") and value is not None}
    sources = (_source(source) for source in dicts_in(action.get("sources")))
    return "web_search" if name == "search" else name, _queried(asked), [_lines("Sources:", sources)]


def _code(kind: str, item: Mapping[str, Any]) -> _Read:
    outputs = dicts_in(item.get("outputs"))
    parts = [text_of(each.get("logs")) or _at("image", text_of(each.get("url"))) for each in outputs]
    return kind, {"code": text_of(item.get("code"))}, parts


def _file_search(kind: str, item: Mapping[str, Any]) -> _Read:
    results = dicts_in(item.get("results"))
    parts = ["\n".join(filter(None, map(text_of, (each.get("filename"), each.get("text"))))) for each in results]
    return kind, _queried({"queries": item.get("queries")}), parts


def _other(kind: str, item: Mapping[str, Any]) -> _Read:
    """A tool that nothing is known of: what its item holds besides."""
    held = {key: value for key, value in item.items() if key not in ("type", "id", "status")}
    asked = {key: held.pop(key) for key in ("arguments", "name", "server_label") if key in held}
    return kind, asked, [json.dumps(held, ensure_ascii=False)] if held else []


_RESPONSES = {"web_search": _web_search, "code_interpreter": _code, "file_search": _file_search}


def _queried(asked: dict[str, Any]) -> dict[str, Any]:
    """With a `query`, as all searches of ours have one: by it a call is known as a search."""
    queries = asked.get("queries")
    if "query" not in asked and isinstance(queries, list):
        asked["query"] = "; ".join(filter(None, map(text_of, queries)))
    return asked


def _citations(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Of web pages and files that the text of the reply names as its sources, not the text itself."""
    for item in items:
        for part in dicts_in(item.get("content")) if item.get("type") == "message" else ():
            yield from map(_source, dicts_in(part.get("annotations")))


# What several APIs have in common.


def _source(source: Mapping[str, Any]) -> str:
    """`title: address`, or the name of a file."""
    title = text_of(source.get("title")) or text_of(source.get("filename"))
    address = text_of(source.get("url")) or text_of(source.get("uri"))
    return ": ".join(" ".join(text.split())[:_MOST_OF_A_LINE] for text in (title, address) if text.strip())


def _at(what: str, address: str) -> str:
    """An image or a file that the provider keeps; one that is written into its address is too long to be shown."""
    return f"[{what}]" if not address or address.startswith("data:") else f"[{what}: {address[:_MOST_OF_A_LINE]}]"


def _lines(heading: str, lines: Iterable[str]) -> str:
    """The distinct ones, below a heading; "" where there are none."""
    distinct = [line for line in dict.fromkeys(lines) if line]
    return "\n".join([heading, *(f"- {line}" for line in distinct)]) if distinct else ""
