"""The guide's benchmark, installed as it stands there: a plan uses its questions and its scorer."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.project.pages import ROOT, blocks
from tests.servers.chat_server import ChatServer, reply

from toolablate.benchmarks import registry
from toolablate.cli import group
from toolablate.traces.store import Outlines, Store

SECTION = "## Add a benchmark"


def section(language: str) -> list[str]:
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    own = page.partition(SECTION)[2].partition("\n## ")[0]
    return [body for body in blocks("docs/extending.md", language) if body in own]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (code,) = section("python")
    about, _ = map(tomllib.loads, section("toml"))
    (tmp_path / f"{about['tool']['setuptools']['py-modules'][0]}.py").write_text(code, encoding="utf-8")
    folder = tmp_path / "toolablate_capitals-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toolablate-capitals\nVersion: 1.0\n")
    points = about["project"]["entry-points"]["toolablate.benchmarks"]
    lines = [f"{name} = {value}" for name, value in points.items()]
    (folder / "entry_points.txt").write_text("\n".join(["[toolablate.benchmarks]", *lines]), encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    registry.benchmarks.cache_clear()
    yield tmp_path
    registry.benchmarks.cache_clear()
    sys.modules.pop("capitals", None)


def test_the_benchmark_of_the_guide_is_run_and_scored(
    installed: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"Australia": "Answer: Canberra", "Brazil": "Answer: the city Brasilia", "Kazakhstan": "Answer: Almaty"}
    chat_server.answers(lambda body: reply(next(said[name] for name in said if name in str(body["messages"]))))
    plan = section("toml")[1].replace("http://localhost:8000/v1", chat_server.url).replace(', "python"', "")
    (installed / "plan.toml").write_text(plan, encoding="utf-8")
    monkeypatch.chdir(installed)
    ran = CliRunner().invoke(group, ["run", "plan.toml"], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    with Store(installed / "runs/plan.sqlite") as store:
        asked = {question.identity(): question.id for question in store.questions()}
        with Outlines(installed / "runs/plan.sqlite") as outlines:
            found = {asked[each.question]: store.scores(each.trial)[0] for each in outlines.trials()}
    assert {name: score.value for name, score in found.items()} == {"australia": 1, "brazil": 0.5, "kazakhstan": 0}
    assert {score.scorer for score in found.values()} == {"capitals"}


def test_the_command_of_the_guide_stands_beside_ours(installed: Path) -> None:
    assert "Ask for capitals of countries." in CliRunner().invoke(group, ["--help"]).output
    assert CliRunner().invoke(group, ["capitals"]).output.splitlines()[0] == "Australia"
