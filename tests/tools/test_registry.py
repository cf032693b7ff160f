"""What a plan can name, and what is missing."""

from pathlib import Path

import pytest

from toolablate.sandbox import open_sandbox
from toolablate.tools import CorpusSearch, Resources, open_toolset, resources_needed
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolUse

WEB = ["web_search", "browser_open", "browser_find"]


@pytest.fixture
def resources(corpus_file: Path) -> Resources:
    return Resources(sandbox=open_sandbox("none"), search=CorpusSearch.from_file(corpus_file))


def uses(*names: str) -> list[ToolUse]:
    return [ToolUse(name=name) for name in names]


@pytest.mark.parametrize(
    ("named", "opened", "needs"),
    [
        ((), [], set()),
        (("python",), ["python"], {"sandbox"}),
        (("search",), WEB, {"search"}),
        (("all",), ["python", *WEB], {"sandbox", "search"}),
        (("browser_find", "python"), ["browser_find", "python"], {"sandbox", "search"}),
    ],
)
def test_names_and_toolsets(resources: Resources, named: tuple[str, ...], opened: list[str], needs: set[str]) -> None:
    assert [spec.name for spec in open_toolset(uses(*named), resources).specs] == opened
    assert resources_needed(uses(*named)) == needs


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ([ToolUse(name="pyhton")], "there is no tool 'pyhton'"),
        ([ToolUse(name="python", options={"timeout": 3})], "'python' has no option 'timeout'"),
        ([ToolUse(name="all", options={"x": 3})], "'all' has no option 'x'"),
        (uses("all", "python"), "'python' is named twice"),
        (uses("search", "search"), "'web_search' is named twice"),
    ],
)
def test_mistakes_in_a_plan_are_named(resources: Resources, use: list[ToolUse], said: str) -> None:
    for read in (lambda: open_toolset(use, resources), lambda: resources_needed(use)):
        with pytest.raises(InputError) as refused:
            read()
        assert said in str(refused.value)


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(InputError) as refused:
        resources_needed(uses("pyhton"))
    assert all(name in refused.value.hint for name in ("python", *WEB, "search", "all"))


@pytest.mark.parametrize(
    ("name", "table"), [("python", "[sandbox]"), ("web_search", "[search]"), ("browser_open", "[search]")]
)
def test_a_missing_resource_says_what_to_put_into_the_plan(name: str, table: str) -> None:
    with pytest.raises(InputError) as refused:
        open_toolset(uses(name), Resources())
    assert table in refused.value.hint
