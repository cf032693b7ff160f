"""What a provider's own tools did within a reply: its calls, what they asked, and what the provider tells of results.

A reply's items and blocks are read as their APIs write them (OpenAI's Responses; Anthropic's Messages and Gemini's
generateContent by LangChain). All of it is foreign: whatever has another form is read as far as it goes.
"""

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolablate.agents.foreign import dicts_in, text_of
from toolablate.traces.records import Message, ToolCall, ToolRequest, clean_text

MOST_CHARS = 20_000
"""Characters of a result that are kept, as many as a cell of ours may print."""
_MOST_OF_A_LINE = 2_000

LANGCHAIN = "langchain"
"""The type of the one item that holds a whole reply of LangChain's."""

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
    code interpreter), `units` for how many it is charged; what the provider could not do is not `charged`. `within` is
    the tool whose price covers it, for an action that has none of its own."""

    id: str
    name: str
    asked: Mapping[str, Any]
    output: str
    status: Literal["ok", "error"] = "ok"
    error: str = ""
    unit: str = ""
    units: int = 1
    charged: bool = True
    within: str = ""

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
    whole = next((item for item in message.items if item.get("type") == LANGCHAIN), None)
    return tuple(_of_items(message.items) if whole is None else _of_langchain(whole))


def charged_calls(message: Message, priced: Container[str] = ()) -> Counter[str]:
    """How many calls are charged, by name: not what the provider failed to do, and what shares a container as one.

    An action that another tool's price covers counts as 0 calls of that tool, unless it is among those `priced`."""
    counted = Counter[str]()
    seen: set[tuple[str, str]] = set()
    for call in calls_of_provider(message):
        if call.charged and not (call.unit and (call.name, call.unit) in seen):
            seen.add((call.name, call.unit))
            covered = call.within and call.name not in priced
            counted[call.within if covered else call.name] += 0 if covered else call.units
    return counted


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
            charged=not failed,
            within=_SEARCH if kind == _SEARCH != name else "",
        )


_SEARCH = "web_search"
_Read = tuple[str, Mapping[str, Any], list[str]]


def _web_search(_: str, item: Mapping[str, Any]) -> _Read:
    """A search, or a page that was opened or looked through: each has a name of its own, a search alone a price."""
    held = item.get("action")
    action: Mapping[str, Any] = held if isinstance(held, dict) else {}
    name = text_of(action.get("type")) or "search"
    asked = {key: value for key, value in action.items() if key not in ("type", "sources") and value is not None}
    sources = (_source(source) for source in dicts_in(action.get("sources")))
    return _SEARCH if name == "search" else name, _queried(asked), [_lines("Sources:", sources)]


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
    asked: dict[str, Any] = {key: held.pop(key) for key in ("arguments", "name", "server_label") if key in held}
    return kind, asked, [json.dumps(held, ensure_ascii=False)] if held else []


_RESPONSES = {_SEARCH: _web_search, "code_interpreter": _code, "file_search": _file_search}


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


# The blocks of Anthropic's replies and of Gemini's, as LangChain has them, and those that LangChain has for all.


def _of_langchain(item: Mapping[str, Any]) -> Iterator[ProviderCall]:
    blocks = dicts_in(item.get("content"))
    yield from _of_earlier_calls(blocks)
    asked = [(place, block) for place, block in enumerate(blocks) if block.get("type") in _ASKING]
    cited = _lines("Cited in the reply:", _passages(blocks)) if asked else ""
    for number, (place, block) in enumerate(asked):
        result = _result_of(block, blocks[place + 1 :])
        text, error = _told(result)
        yield ProviderCall(
            id=text_of(block.get("id")),
            name=text_of(block.get("name")) or "code_execution",
            asked=_asked(block),
            output="\n\n".join(filter(None, [text, cited if number == len(asked) - 1 else ""])),
            status="error" if error else "ok",
            error=error,
            charged=not error or error.startswith(_EXIT),
        )
    grounding = item.get("grounding_metadata")
    if isinstance(grounding, dict):
        yield from _grounded(grounding)


def _of_earlier_calls(blocks: list[dict[str, Any]]) -> Iterator[ProviderCall]:
    """What a reply has of calls that an earlier one made and paused at; they are charged there."""
    own = {block.get("id") for block in blocks}
    for block in blocks:
        kind, of_call = str(block.get("type")), text_of(block.get("tool_use_id"))
        if kind.endswith("_tool_result") and of_call and of_call not in own:
            text, error = _told(block)
            name = kind.removesuffix("_tool_result")
            yield ProviderCall(of_call, name, {}, text, "error" if error else "ok", error, charged=False)


_ASKING = ("server_tool_use", "mcp_tool_use", "server_tool_call", "executable_code")
_ANSWERING = ("server_tool_result", "code_execution_result")
_EXIT = "exit:"


def _asked(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if block.get("type") == "executable_code":
        return {"code": text_of(block.get("executable_code"))}
    given = block.get("input") or block.get("args")
    return given if isinstance(given, dict) else {}


def _result_of(asking: Mapping[str, Any], following: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The block that answers it: by its id, or where Gemini gives none the next one; {} where the reply pauses."""
    for block in following:
        kind = str(block.get("type"))
        of_call = block.get("tool_use_id") or block.get("tool_call_id")
        answers = of_call == asking.get("id") or (not of_call and asking["type"] == "executable_code")
        if answers and (kind.endswith("_tool_result") or kind in _ANSWERING):
            return block
    return {}


def _told(result: Mapping[str, Any]) -> tuple[str, str]:
    """What a result says, and what went wrong, "" where nothing did."""
    if result.get("type") == "code_execution_result" and "code_execution_result" in result:
        return text_of(result["code_execution_result"]), "" if result.get("outcome") in (1, None) else f"{_EXIT} error"
    held = result.get("content") if "content" in result else result.get("output")
    failed = FAILED if result.get("is_error") or result.get("status") == "error" else ""
    if isinstance(held, dict):
        return _one_result(held, failed)
    if isinstance(held, list):
        parts = (_one_result(each, "")[0] if isinstance(each, dict) else text_of(each) for each in held)
        return "\n".join(filter(None, parts)), failed
    return text_of(held), failed


def _one_result(held: Mapping[str, Any], failed: str) -> tuple[str, str]:
    kind = str(held.get("type"))
    if kind.endswith("_error"):
        code = text_of(held.get("error_code")) or FAILED
        return f"The provider's tool failed: {code}", code
    if "stdout" in held or "stderr" in held:
        files = (_at("file", text_of(each.get("file_id"))) for each in dicts_in(held.get("content")))
        parts = [text_of(held.get("stdout")), text_of(held.get("stderr")), *files]
        ended = held.get("return_code")
        return "\n".join(filter(None, parts)), failed or (f"{_EXIT} {ended}" if type(ended) is int and ended else "")
    if isinstance(document := held.get("content"), dict):
        # A page that was fetched: its address, and its text where it is one.
        source = document.get("source")
        text = text_of(source.get("data")) if isinstance(source, dict) and source.get("type") == "text" else ""
        return "\n\n".join(filter(None, [_source({**document, "url": held.get("url")}), text])), failed
    named = _source(held)
    if kind == "web_search_result" and (age := text_of(held.get("page_age"))):
        named += f" ({age})"
    return named or text_of(held.get("text")) or text_of(held.get("content")), failed


def _passages(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Of the pages that the text cites: their titles, addresses and words."""
    for block in blocks:
        for cited in dicts_in(block.get("citations")) if block.get("type") == "text" else ():
            words = " ".join(text_of(cited.get("cited_text")).split())[:_MOST_OF_A_LINE]
            yield ": ".join(filter(None, [_source(cited), f'"{words}"' if words else ""]))


def _grounded(grounding: Mapping[str, Any]) -> Iterator[ProviderCall]:
    """A search of Google's, which is told by the reply that is grounded in it: what was searched, and the sources that
    it cites. It is charged by the query."""
    queries = [text_of(each) for key in _QUERIES for each in _listed(grounding.get(key)) if text_of(each)]
    chunks = [(kind, held) for chunk in dicts_in(grounding.get("grounding_chunks")) for kind, held in chunk.items()]
    sources = [(kind, held) for kind, held in chunks if isinstance(held, dict)]
    if not (queries or sources):
        return
    texts = (": ".join(filter(None, [_source(held), text_of(held.get("text"))])) for _, held in sources)
    yield ProviderCall(
        id="",
        name="google_maps" if any(kind == "maps" for kind, _ in sources) else "google_search",
        asked=_queried({"queries": queries}),
        output=_lines("Sources:", texts),
        units=max(1, len(queries)),
    )


_QUERIES = ("web_search_queries", "image_search_queries", "retrieval_queries")
GROUNDING = (*_QUERIES, "grounding_chunks", "grounding_supports")
"""What is kept of how a reply of Gemini's is grounded: not the page that shows it."""


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


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
