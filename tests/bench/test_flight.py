"""What is reckoned from the moments that the server has seen. The benchmark is loaded as its folder stands."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def flight() -> ModuleType:
    folder = ROOT / "bench" / "runner"
    spec = importlib.util.spec_from_file_location(
        "bench_runner", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["bench_runner"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return importlib.import_module("bench_runner.flight")


def test_places_taken(flight: ModuleType) -> None:
    watch = importlib.import_module("bench_runner.server").Watch(came=[0.0, 1.0, 3.0], left=[2.0, 3.0, 5.0])
    assert flight.most_at_once(watch) == 2
    assert flight.filled(watch, 2) == 1.0
    assert flight.filled(watch, 3) is None
    # Two until 2, then one until 5; a request that comes when another leaves takes its place.
    assert flight.occupied(watch, 1.0, 3.0) == pytest.approx(1.5)
    assert flight.occupied(watch, 0.0, 10.0) == pytest.approx(0.6)
    assert flight.occupied(watch, 3.0, 3.0) == 0.0


def test_a_wrong_sum_ends_in_a_wrong_answer(flight: ModuleType) -> None:
    work = importlib.import_module("bench_runner.work")
    (item,) = work.items("four-tools", 1)
    for error in (0, 1):
        messages = [{"role": "user", "content": item.prompt}]
        tools = [{"type": "function", "function": {"name": "sum"}}]
        while calls := (reply := work.message_for({"messages": messages, "tools": tools})).get("tool_calls"):
            given = json.loads(calls[0]["function"]["arguments"])
            messages += [reply, {"role": "tool", "content": str(given["a"] + given["b"] + error)}]
        assert len(messages) == 1 + 2 * work.TOOL_CALLS
        assert work.is_right(item, reply["content"]) == (error == 0)
