"""What the guide to exports shows, run as it stands there."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.formats.collector import TestCollector, collecting
from tests.formats.test_lm_eval import FILES

from toolablate.cli import group
from toolablate.formats.exporting import Exported
from toolablate.formats.trial_tables import TABLES, columns_table

pytest.importorskip("datasets")
pytest.importorskip("pandas")
pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")


EXPORTS_GUIDE = (Path(__file__).parents[2] / "docs/exports.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def collector() -> Iterator[TestCollector]:
    with collecting() as found:
        yield found


def test_the_guide_has_every_table_and_column() -> None:
    """Copy what is missing out of `columns_table`."""
    for table in TABLES:
        assert f"### `{table.name}`\n\nOne row is {table.rows}.\n\n{columns_table(table)}\n\n" in EXPORTS_GUIDE, (
            table.name
        )


def test_the_guide_has_every_key_of_a_line() -> None:
    keys = re.findall(r"^\| `(\w+)` \|", EXPORTS_GUIDE.partition("## JSONL")[2].partition("## Tables")[0], re.MULTILINE)
    assert keys == list(Exported.model_fields)


def test_every_example_runs_in_its_order(
    store: Path, tmp_path: Path, collector: TestCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.sqlite").write_bytes(store.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "home" / "datasets")
    ran = 0
    for language, body in BLOCK.findall(EXPORTS_GUIDE):
        if language == "python":
            exec(body, {})
            continue
        for line in body.splitlines():
            _, *arguments = shlex.split(re.sub(r"https?://\S+", collector.url, line))
            told = CliRunner().invoke(group, arguments)
            assert told.exit_code == 0, f"{line}\n{told.output}\n{told.exception}"
            ran += 1
    assert ran == 7
    assert {each.get("api-key") for each in collector.headers} == {None, "$KEY"}


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_filter_of_jq_reads_what_is_written(store: Path) -> None:
    (wanted,) = re.findall(r"^```jq\n(.*?)\n```", EXPORTS_GUIDE, re.DOTALL | re.MULTILINE)
    lines = CliRunner().invoke(group, ["export", "jsonl", str(store), "-o", "-", "--no-attributions"]).stdout_bytes
    read = subprocess.run(["jq", "-r", wanted], input=lines, capture_output=True, check=True, timeout=60).stdout
    assert sorted(read.decode().splitlines()) == ["none\t0\t1", "python\t0\t1"]


# docs/imports.md: its commands run, and what it says of values is so.


GUIDE = Path(__file__).parents[2] / "docs/imports.md"


@pytest.mark.deep
def test_the_commands_run(inspect_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in [*inspect_logs.glob("*.eval"), *FILES.iterdir()]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (block,) = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "toolablate"
        result = CliRunner().invoke(group, arguments)
        assert result.exit_code == 0, (line, result.output, result.exception)
