"""How far judges, mappers and people agree on checklists of a store."""

import json
import random
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.benchmarks.clear.judging import FENCED, judged
from tests.experiments.judged import judge_at, judged_plan
from tests.servers.chat_server import ChatServer, Status, reply

from toolablate.analysis.checklist_agreement import Verdicts, correlated, with_people
from toolablate.analysis.checklists import Sample
from toolablate.benchmarks.clear.agreement import mapping_of
from toolablate.cli import group
from toolablate.traces.records import ItemScore

ITEMS = [
    {"name": "Origin", "definition": "where it comes from", "reference": "a fungus"},
    {"name": "Use", "reference": "kills mites"},
    {"name": "Colour", "reference": None},
]
ANSWERS = {
    "q0": "Origin: a fungus\nUse: kills mites and lice",
    "q1": "Origin: a fungus of Japan\nColour: red",
    "q2": "Use: none",
}


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(group, [*map(str, arguments)])


def contained(request: dict[str, Any]) -> Any:
    """j and k compare strings; k says no to what is longer than it should be; l maps without the last word."""
    said = judged(request["messages"])
    mapping = "text A" not in dict(FENCED.findall(request["messages"][1]["content"]))
    if request["model"] == "k" and not mapping and "Japan" in request["messages"][1]["content"]:
        said = "No"
    if request["model"] == "l" and mapping and said.endswith("Japan"):
        said = said.removesuffix(" of Japan")
    return reply(said)


@pytest.fixture
def store(chat_server: ChatServer, tmp_path: Path) -> Path:
    """Judged by j and k with j's mapping, then by j with l's."""
    chat_server.answers(contained)
    path = tmp_path / "store.sqlite"
    questions = [
        {"id": name, "prompt": f"Describe {name}.", "as_is": True, "target": {"kind": "checklist", "items": ITEMS}}
        for name in ANSWERS
    ]
    judges = "".join(judge_at(chat_server.url, name) for name in "jkl")
    plan = judged_plan(
        tmp_path, judges, answers=ANSWERS, questions=questions, conditions=("none",), extra=f"store = '{path}'"
    )
    whole = plan.read_text(encoding="utf-8")
    # l judges nothing in the first run: it is no judge there.
    plan.write_text(whole.replace(judge_at(chat_server.url, "l"), ""), encoding="utf-8")
    assert invoke("run", plan).exit_code == 0
    plan.write_text(f"{whole}\n[judging]\nmapper = 'l'\n", encoding="utf-8")
    assert invoke("run", plan).exit_code == 0
    return path


def shown(store: Path, *more: str | Path) -> dict[str, Any]:
    result = invoke("clear", "agreement", store, "--json", *more)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_judges_mappers_and_people(store: Path, chat_server: ChatServer, tmp_path: Path) -> None:
    found = shown(store)
    named = {tuple(name[10] for name in pair["scorers"]): pair for pair in found["pairs"] if pair["judged"]}
    assert named["j", "k"]["judged"][0]["items"] == 9
    mapped = [pair for pair in found["pairs"] if pair["filled"]]
    # j and k each judged two mappings; l judged one.
    assert [tuple(name[10] for name in pair["scorers"]) for pair in mapped] == [("j", "j"), ("k", "k")]
    assert all(pair["filled"]["agreement"] == 1 and pair["mapped"] is None for pair in mapped)

    before = len(chat_server.requests)
    compared = shown(store, "--plan", tmp_path / "plan.toml", "--judge", "j")
    other = [pair["mapped"] for pair in compared["pairs"] if pair["filled"]]
    # Of three answers one has an item of which the one mapper's text is within the other's: P or R is 2/3, F1 is 0.8.
    assert all(each["f1"]["value"] == pytest.approx((1 + 1 + 0.8) / 3) for each in other)
    assert len(chat_server.requests) == before + 2
    shown(store, "--plan", tmp_path / "plan.toml", "--judge", "j")
    assert len(chat_server.requests) == before + 2, "paid for once"

    page = tmp_path / "label.html"
    assert invoke("clear", "agreement", store, "--page", page).exit_code == 0
    cells = [json.loads(unescape(line))["cell"] for line in re.findall(r'data-line="([^"]*)"', page.read_text())]
    assert len(cells) == found["cells"] == 4, "q0 and, as l maps it, q1 say the same of the origin"
    assert "checklist[" not in page.read_text(encoding="utf-8"), "blind"
    labels = tmp_path / "label.jsonl"
    lines = [{"cell": each, "model_contains_reference": True, "reference_contains_model": False} for each in cells]
    lines[0]["reference_contains_model"] = None
    del lines[1]["model_contains_reference"]
    labels.write_text("".join(f"{json.dumps(line | {'person': 'Ada'})}\n" for line in lines), encoding="utf-8")
    people = shown(store, "--labels", labels)
    assert people["half"] == 2
    assert {pair["names"][1] for pair in people["people"]} == {"people"}
    table = invoke("clear", "agreement", store, "--labels", labels)
    assert table.exit_code == 0
    assert "Pearson r" in table.output
    labels.write_text(json.dumps({"cell": "no such"}), encoding="utf-8")
    assert "label.jsonl:1: the store has no two texts" in str(
        invoke("clear", "agreement", store, "--labels", labels).exception
    )
    refused = invoke("clear", "agreement", store, "--judge", "j")
    assert "needs --plan" in f"{refused.output}{refused.exception}"


def test_an_outage_leaves_texts_uncompared_and_is_told(store: Path, chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(lambda request: Status(401))
    failed = invoke("clear", "agreement", store, "--plan", tmp_path / "plan.toml", "--json")
    assert failed.exit_code == 1
    assert "1 pair of texts not compared yet" in failed.stderr
    # The answer is left out, the others were the same in both mappings.
    assert all(pair["mapped"]["f1"]["value"] == 1 for pair in json.loads(failed.stdout)["pairs"] if pair["filled"])


def item(precision: bool, recall: bool) -> ItemScore:
    return ItemScore(item="A", expected=True, mapped="x", precision=precision, recall=recall)


def test_the_correlation_is_pearsons() -> None:
    rng = random.Random(1)
    tables = [
        {
            judge: tuple(
                item(rng.random() < 0.6, rng.random() < 0.6).model_copy(update={"item": str(n)}) for n in range(4)
            )
            for judge in "ab"
        }
        for _ in range(30)
    ]
    samples = [Sample(str(n), table, cluster=str(n // 2)) for n, table in enumerate(tables)]
    values = [
        [sample.values("published")["f1"] for sample in (Sample("", {judge: table[judge]}) for table in tables)]
        for judge in "ab"
    ]
    found = correlated(samples, "a", "b", "published")
    assert found.r == pytest.approx(np.corrcoef(values)[0, 1], abs=1e-9)
    assert found.ci95 is not None
    assert found.ci95[0] < found.r < found.ci95[1]
    assert correlated(samples[:1], "a", "b", "published").r is None


def test_people_are_compared_with_judges_and_with_each_other() -> None:
    judges = [Verdicts("j", str(n), n, n % 2 == 0, True) for n in range(10)]
    people = [Verdicts("Ada", str(n), n, n % 2 == 0, True) for n in range(10)]
    people += [Verdicts("Bo", str(n), n, n % 2 == 1, True) for n in range(5)]
    found = {pair.names: pair for pair in with_people(judges, people)}
    assert found["j", "people"].contains.agreement == pytest.approx(25 / 30)
    assert (found["Ada", "Bo"].cells, found["Ada", "Bo"].accuracy.agreement) == (5, 0)


@pytest.mark.parametrize(
    ("scorer", "mapping"),
    [
        ("checklist[j@0a1b2c3d]", ("0a1b2c3d", "each", "0")),
        ("checklist[j@0a1b2c3d,mapper=11111111,mapping=once,na=out]", ("11111111", "once", "0")),
        ("checklist[j@0a1b2c3d,again=1]", ("0a1b2c3d", "each", "1")),
    ],
)
def test_which_mapping_a_scorer_judges(scorer: str, mapping: tuple[str, str, str]) -> None:
    assert mapping_of(scorer) == mapping
