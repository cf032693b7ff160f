"""python -m bench.runner.plain WAY KIND ITEMS URL IN_FLIGHT OUT: what a program without a harness costs.

    client      the `openai` client alone, in a loop
    graph       a bare LangGraph loop around it
    graph+sqlite    the same with LangGraph's SQLite checkpointer, where langgraph-checkpoint-sqlite is installed

Writes into OUT, as JSON, which item got which answer. Nothing else is kept but what the checkpointer writes beside OUT.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, TypedDict

from bench.runner.work import Item, Kind, read_items
from openai import AsyncOpenAI

Answer = Callable[[Item], Awaitable[str]]
Message = dict[str, Any]
Ask = Callable[[list[Message]], Awaitable[Message]]

_CHOICE = '\n\nEnd your reply with one line of the form "Answer: X".'
_TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two numbers.",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "The first number."},
                "b": {"type": "integer", "description": "The second number."},
            },
            "required": ["a", "b"],
        },
    },
}


async def answers_of(way: str, kind: Kind, items: Path, url: str, in_flight: int, out: Path) -> dict[str, str]:
    """By the id of the item."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(AsyncOpenAI(api_key="none", base_url=url, max_retries=0))
        tools: dict[str, Any] = {"tools": [_TOOL]} if kind == "four-tools" else {}

        async def ask(messages: list[Any]) -> Message:
            completion = await client.chat.completions.create(model="served", messages=messages, **tools)
            message: Message = completion.choices[0].message.model_dump(exclude_none=True)
            return message

        answer = _loop(ask) if way == "client" else await _graph(ask, stack, out if way == "graph+sqlite" else None)
        answers: dict[str, str] = {}
        waiting = iter(read_items(items))

        async def work() -> None:
            for item in waiting:
                answers[item.id] = await answer(item)

        await asyncio.gather(*(work() for _ in range(in_flight)))
    return answers


def prompt_of(item: Item) -> str:
    options = "".join(f"\n{letter}) {text}" for letter, text in zip("ABCD", item.choices, strict=False))
    return item.prompt + options + _CHOICE


async def call_tool(call: Mapping[str, Any]) -> Message:
    arguments = json.loads(call["function"]["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": str(arguments["a"] + arguments["b"])}


def _loop(ask: Ask) -> Answer:
    async def answer(item: Item) -> str:
        messages: list[Message] = [{"role": "user", "content": prompt_of(item)}]
        while (message := await ask(messages)).get("tool_calls"):
            messages += [message, *[await call_tool(call) for call in message["tool_calls"]]]
        return str(message["content"])

    return answer


async def _graph(ask: Ask, stack: AsyncExitStack, kept: Path | None) -> Answer:
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        messages: Annotated[list[Message], lambda before, new: before + new]

    async def ask_model(state: State) -> State:
        return {"messages": [await ask(state["messages"])]}

    async def act(state: State) -> State:
        calls = state["messages"][-1]["tool_calls"]
        return {"messages": [await call_tool(call) for call in calls]}

    def next_step(state: State) -> str:
        return "act" if state["messages"][-1].get("tool_calls") else END

    builder = StateGraph(State)
    builder.add_node("ask", ask_model)
    builder.add_node("act", act)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", next_step, ["act", END])
    builder.add_edge("act", "ask")
    checkpointer = None
    if kept:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        saver = AsyncSqliteSaver.from_conn_string(str(kept.with_suffix(".sqlite")))
        checkpointer = await stack.enter_async_context(saver)
    graph = builder.compile(checkpointer=checkpointer)

    async def answer(item: Item) -> str:
        config: Any = {"configurable": {"thread_id": item.id}}
        state = await graph.ainvoke({"messages": [{"role": "user", "content": prompt_of(item)}]}, config)
        return str(state["messages"][-1]["content"])

    return answer


if __name__ == "__main__":
    _way, _kind, _items, _url, _in_flight, _out = sys.argv[1:]
    _work = answers_of(_way, _kind, Path(_items), _url, int(_in_flight), Path(_out))  # type: ignore[arg-type]
    Path(_out).write_text(json.dumps(asyncio.run(_work)), encoding="utf-8")
