"""The same questions for Inspect AI, as its users write them. Run by Inspect's own Python, which has none of ours."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import choice, match
from inspect_ai.solver import generate, multiple_choice, use_tools
from inspect_ai.tool import Tool, tool


@tool
def add() -> Tool:
    async def execute(a: int, b: int) -> int:
        """Adds two numbers.

        Args:
            a: The first number.
            b: The second number.
        """
        return a + b

    return execute


@task
def one_call(items: str) -> Task:
    return Task(dataset=_dataset(items), solver=multiple_choice(), scorer=choice())


@task
def four_tools(items: str) -> Task:
    return Task(dataset=_dataset(items), solver=[use_tools(add()), generate()], scorer=match(numeric=True))


def _dataset(items: str) -> MemoryDataset:
    rows = map(json.loads, Path(items).read_text(encoding="utf-8").splitlines())
    return MemoryDataset(
        [
            Sample(id=row["id"], input=row["prompt"], choices=row["choices"] or None, target=row["answer"])
            for row in rows
        ]
    )
