"""Datasets of the Hugging Face hub are downloaded once, and read as files; a server on this machine stands for it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from tests.benchmarks.rows.hub_server import HubServer
from tests.servers.chat_server import closed_port

from toolablate.benchmarks.questions import load_questions
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

Import = Callable[..., "subprocess.CompletedProcess[str]"]

ROWS = [
    {"prompt_id": "p1", "prompt": "Why?", "response_reference": "<参考答案>: Because.", "primary_domain": "Law"},
    {"prompt_id": "p2", "prompt": "How?", "response_reference": "So.", "primary_domain": "Law"},
]
ARRAY = {"LPFQA-data.json": json.dumps(ROWS, ensure_ascii=False).encode(), "README.md": b"# A dataset"}


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer().running() as server:
        yield server


@pytest.fixture
def bring(hub: HubServer, tmp_path: Path) -> Import:
    """The command, in a process of its own: the hub's address is read when its library is imported."""

    def run(source: str, endpoint: str = "", *, plan: bool = False) -> "subprocess.CompletedProcess[str]":
        called = ["run", source] if plan else ["lpfqa", "import", source, "-o", str(tmp_path / "out.jsonl")]
        command = [sys.executable, "-m", "toolablate", *called]
        changed = {"HF_ENDPOINT": endpoint or hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
        return subprocess.run(command, env=environment | changed, text=True, capture_output=True, timeout=100)

    return run


def ids(tmp_path: Path) -> list[str]:
    return [question.id for question in load_questions(tmp_path / "out.jsonl")]


@pytest.mark.deep
def test_a_dataset_is_downloaded_once_and_read_again_without_the_hub(
    hub: HubServer, bring: Import, tmp_path: Path
) -> None:
    hub.datasets["m-a-p/LPFQA"] = {"main": ARRAY, "v1": {**ARRAY, "LPFQA-data.json": json.dumps(ROWS[:1]).encode()}}
    first = bring("hf:m-a-p/LPFQA")
    assert (first.returncode, first.stderr) == (0, "")
    assert ids(tmp_path) == ["p1", "p2"]
    pinned = bring("hf:m-a-p/LPFQA@v1")
    assert (pinned.returncode, ids(tmp_path)) == (0, ["p1"])
    hub.down = True
    again = bring("hf:m-a-p/LPFQA")
    assert (again.returncode, ids(tmp_path)) == (0, ["p1", "p2"]), again.stderr
    again = bring("hf:m-a-p/LPFQA@v1", f"http://127.0.0.1:{closed_port()}")
    assert (again.returncode, ids(tmp_path)) == (0, ["p1"]), again.stderr


@pytest.mark.deep
def test_a_plan_asks_the_questions_of_a_dataset(hub: HubServer, bring: Import, tmp_path: Path) -> None:
    question = {"id": "q1", "prompt": "Which?", "choices": ["x", "y"], "answer": "B"}
    hub.datasets["o/n"] = {"main": {"train.json": json.dumps([question]).encode()}}
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "store = 'store.sqlite'\nconditions = ['none']\n[questions]\nfile = 'hf:o/n'\n"
        "[[models]]\nprovider = 'simulated'\nname = 'sim'\n",
        encoding="utf-8",
    )
    done = bring(str(plan), plan=True)
    assert done.returncode == 0, done.stderr
    with Store(tmp_path / "store.sqlite") as store:
        assert [each.id for each in store.questions()] == ["q1"]


@pytest.mark.deep
def test_nothing_but_its_data_is_asked_for(hub: HubServer, bring: Import) -> None:
    hub.datasets["o/n"] = {"main": {**ARRAY, "n.py": b"raise SystemExit(3)", "weights.bin": b"\0"}}
    assert bring("hf:o/n").returncode == 0
    asked = {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}
    assert asked == {"LPFQA-data.json", "README.md"}
    assert {path.split("/o/n/")[0] for path in hub.asked} == {"/api/datasets", "/datasets"}


@pytest.mark.deep
def test_other_files_that_the_cache_holds_are_not_taken_for_rows(hub: HubServer, bring: Import, tmp_path: Path) -> None:
    hub.datasets["o/n"] = {"main": ARRAY}
    assert bring("hf:o/n").returncode == 0
    (snapshot,) = (tmp_path / "hf" / "hub").glob("*/snapshots/*")
    for name in ("x.csv", "y.csv"):
        (snapshot / name).write_text("prompt_id\np1\n")
    assert "hf:o/n: its file x.csv is not of a kind that is read" in bring("hf:o/n").stderr


@pytest.mark.deep
def test_a_split_is_named_where_there_are_several(hub: HubServer, bring: Import, tmp_path: Path) -> None:
    parquet = tmp_path / "one.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS[1:]), parquet)
    lines = json.dumps(ROWS[0]).encode()
    hub.datasets["o/n"] = {"main": {"data/train.jsonl": lines, "data/test.jsonl": lines.replace(b"p1", b"p9")}}
    hub.datasets["o/parts"] = {"main": {f"data/train-0000{n}-of-00002.parquet": parquet.read_bytes() for n in (0, 1)}}
    refused = bring("hf:o/n")
    assert refused.returncode == 2
    assert "hf:o/n: several splits; it has train, test" in refused.stderr
    assert "Name one of them: hf:o/n#train" in refused.stderr
    assert bring("hf:o/n@main#test").returncode == 0
    assert ids(tmp_path) == ["p9"]
    assert "hf:o/n#dev: no split 'dev'; it has train, test" in bring("hf:o/n#dev").stderr
    twice = bring("hf:o/parts")
    assert 'hf:o/parts, row 2: the prompt_id "p2" is already taken by row 1' in twice.stderr


@pytest.mark.deep
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("hf:o/none", "the dataset is not on the hub, or you have no access"),
        ("hf:o/gated", "the dataset is not on the hub, or you have no access"),
        ("hf:o/n@v9", "the hub has no revision 'v9' of it"),
        ("hf:o/csv", "hf:o/csv: it has no file of a kind that is read; those are .json, .jsonl, .ndjson, .parquet"),
        ("hf:o/empty", "hf:o/empty: it has no file of a kind that is read"),
        ("hf:o/several", "its files cannot be told apart: Config name is missing."),
        ("hf:../n", "hf:../n: no name that the hub knows"),
        ("hf:o/yaml", "hf:o/yaml: its card cannot be read"),
        ("hf:o/knot", "hf:o/knot: its files cannot be told apart"),
        ("hf:o/broken", "LPFQA-data.json, row 1: invalid JSON at line 1, column 3"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(hub: HubServer, bring: Import, source: str, said: str) -> None:
    config = b"---\nconfigs:\n- config_name: a\n  data_files: a.json\n- config_name: b\n  data_files: b.json\n---\n"
    hub.gated.add("o/gated")
    hub.datasets |= {
        "o/n": {"main": ARRAY},
        "o/gated": {"main": ARRAY},
        "o/csv": {"main": {"x.csv": b"a\n1\n"}},
        "o/empty": {"main": {"README.md": b"# none"}},
        "o/several": {"main": {"README.md": config, "a.json": b"[]", "b.json": b"[]"}},
        "o/knot": {"main": {**ARRAY, "README.md": b"---\nconfigs: &a [*a]\n---\n"}},
        "o/yaml": {"main": {**ARRAY, "README.md": b"---\na: [\n---\n"}},
        "o/broken": {"main": {"LPFQA-data.json": b"[{]"}},
    }
    refused = bring(source)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.deep
@pytest.mark.parametrize("place", ["{secret}", "../../../../../secret.json", "file://{secret}", "{hub}/secret.json"])
def test_a_card_cannot_name_other_files_as_the_dataset(
    hub: HubServer, bring: Import, tmp_path: Path, place: str
) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(ROWS))
    named = place.format(secret=secret, hub=hub.url)
    card = f"---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: {named}\n---\n"
    hub.datasets["o/n"] = {"main": {"README.md": card.encode(), "a.json": b"[]"}}
    refused = bring("hf:o/n")
    assert (refused.returncode, (tmp_path / "out.jsonl").exists()) == (2, False)
    assert f"hf:o/n: its card names '{named}', which is no file of the dataset" in refused.stderr
    assert "/secret.json" not in hub.asked


@pytest.mark.deep
def test_a_card_tells_the_splits(hub: HubServer, bring: Import, tmp_path: Path) -> None:
    card = b"---\nconfigs:\n- config_name: default\n  data_files:\n  - split: dev\n    path: LPFQA-*.json\n---\n"
    hub.datasets["o/n"] = {"main": {**ARRAY, "README.md": card, "other.json": b"[]"}}
    assert bring("hf:o/n#dev").returncode == 0
    assert ids(tmp_path) == ["p1", "p2"]


@pytest.mark.deep
def test_a_disk_that_takes_nothing_is_said(hub: HubServer, bring: Import, tmp_path: Path) -> None:
    hub.datasets["o/n"] = {"main": ARRAY}
    (tmp_path / "hf").write_text("")
    refused = bring("hf:o/n")
    assert refused.returncode == 2
    assert "hf:o/n: cannot be downloaded: " in refused.stderr


@pytest.mark.deep
def test_a_hub_that_cannot_be_reached_is_said(hub: HubServer, bring: Import) -> None:
    refused = bring("hf:o/n", f"http://127.0.0.1:{closed_port()}")
    assert refused.returncode == 2
    assert "hf:o/n: the Hugging Face hub cannot be reached (ConnectError)" in refused.stderr
    assert "Traceback" not in refused.stderr
    hub.down = True
    refused = bring("hf:o/n")
    assert "hf:o/n: the Hugging Face hub cannot be reached (it answered 503)" in refused.stderr


@pytest.mark.parametrize(
    "name", ["hf:", "hf:squad", "hf:a/b/c", "hf:a/b@", "hf:a/b#", "hf:a/b#x@y", "hf:a b/c", "hf:../x/y"]
)
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="is not the name of a Hugging Face dataset"):
        list(rows_of(name))
