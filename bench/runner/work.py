"""The questions that all harnesses are given, and what the server replies to them.

Two kinds of work: `one-call` is multiple choice, answered at once; `four-tools` takes four calls of the tool `add`, or
of `python`, each with what the last one gave, and then the answer. A reply depends on nothing but the request, and a
wrong result of the tool ends in a wrong answer.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["one-call", "four-tools"]
KINDS: tuple[Kind, ...] = ("one-call", "four-tools")
TOOL_CALLS = 4
LETTERS = "ABCD"

_ITEM = re.compile(r"Item (\d+)\b")
_LAST_NUMBER = re.compile(r"-?\d+(?!.*\d)", re.DOTALL)
_STEM = (
    "Item {item}. A sealed vessel of {litres} litres holds an ideal gas at {kelvin} K and a pressure of 150 "
    "kPa. The gas is first compressed without exchange of heat to a third of its volume, then cooled at "
    "constant volume until it has its first temperature again, and last let expand at that temperature to the "
    "volume that it had. Consider the work that is done on the gas and the heat that it gives off over the "
    "whole of the cycle, and take both from the surroundings' point of view. Which of the statements below is "
    "true?"
)
_OPTIONS = (
    "The work and the heat are equal, and both are more than zero.",
    "The work is zero, since the gas ends at the state in which it began.",
    "The heat is more than the work by the change of the inner energy.",
    "Neither can be told without the number of atoms in each molecule.",
)
_SUM = (
    "Item {item}. A ledger begins with a balance of {item}. Four entries are to be added to it, one after the "
    "other, and each of them is told only when the balance before it has been worked out. Use the tool for "
    "every addition, since the ledger is audited, and do not reckon in your head. What is the balance after "
    "the fourth entry?"
)
_THOUGHT = (
    "Over a whole cycle the inner energy is a function of the state alone, so its change is zero and what is "
    "done on the gas as work has to leave it as heat. The compression is steeper than the expansion, so that "
    "the area that the cycle encloses is not zero. Of the statements only one says this.\n\nAnswer: {letter}"
)


@dataclass(frozen=True, slots=True)
class Item:
    """One question; `choices` is empty for `four-tools`. `answer` is the letter, or the number as text."""

    id: str
    prompt: str
    choices: tuple[str, ...]
    answer: str


def items(kind: Kind, count: int) -> list[Item]:
    """`count` questions, the same ones each time."""
    return [_choice(number) if kind == "one-call" else _sum(number) for number in range(1, count + 1)]


def write_items(path: Path, kind: Kind, count: int) -> None:
    """As JSONL, with the answer; read back by `read_items` and by the Inspect side."""
    lines = (
        json.dumps({"id": each.id, "prompt": each.prompt, "choices": each.choices, "answer": each.answer})
        for each in items(kind, count)
    )
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def read_items(path: Path) -> list[Item]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Item(row["id"], row["prompt"], tuple(row["choices"]), row["answer"]) for row in rows]


def is_right(item: Item, answer: str) -> bool:
    """Whether a reply's last line answers the item. For the harnesses that bring no scorer."""
    return answer.rstrip().endswith(f"Answer: {item.answer}")


def message_for(request: Mapping[str, Any]) -> dict[str, Any]:
    """The assistant's message for a Chat Completions request."""
    messages: Sequence[Mapping[str, Any]] = request["messages"]
    item = _number(messages)
    if not request.get("tools"):
        return {"role": "assistant", "content": _THOUGHT.format(letter=_letter(item)), "refusal": None}
    results = [message["content"] for message in messages if message["role"] == "tool"]
    balance = _read_number(results[-1]) if results else item
    if len(results) >= TOOL_CALLS:
        return {"role": "assistant", "content": f"All four are entered.\n\nAnswer: {balance}", "refusal": None}
    name = request["tools"][0]["function"]["name"]
    entry = _entry(item, len(results))
    given = {"code": f"print({balance} + {entry})"} if name == "python" else {"a": balance, "b": entry}
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"id": f"call_{item}_{len(results)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}


def _choice(number: int) -> Item:
    prompt = _STEM.format(item=number, litres=2 + number % 7, kelvin=280 + number % 50)
    return Item(f"q{number}", prompt, _OPTIONS, _letter(number))


def _sum(number: int) -> Item:
    balance = number + sum(_entry(number, turn) for turn in range(TOOL_CALLS))
    return Item(f"q{number}", _SUM.format(item=number), (), str(balance))


def _letter(item: int) -> str:
    return LETTERS[item % len(LETTERS)]


def _entry(item: int, turn: int) -> int:
    return (item * 7 + turn * 13) % 97 + 1


def _number(messages: Sequence[Mapping[str, Any]]) -> int:
    for message in messages:
        if message["role"] == "user" and (found := _ITEM.search(_text(message["content"]))):
            return int(found[1])
    raise ValueError("the request names no item")


def _read_number(content: Any) -> int:
    found = _LAST_NUMBER.search(_text(content))
    if not found:
        raise ValueError(f"no number in {content!r}")
    return int(found[0])


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())
