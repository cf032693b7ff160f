"""What the guide to attribution shows, run as it stands there."""

import json
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner
from tests.conftest import Cli
from tests.reports.attribution.samples import decomposition, explained, report

from toolablate.analysis.attribution.decomposition import EffectMechanism, Term
from toolablate.analysis.attribution.report import attribution_json, decompositions_csv, explained_json, mechanism_name
from toolablate.cli import group
from toolablate.cli.attributing import attribute_command
from toolablate.experiments.attribution.store_report import Reason

GUIDE = (Path(__file__).parents[3] / "docs/attribution.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(GUIDE) if found == language]


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_every_command_of_the_guide_works_on_its_plan(cli: Cli, tmp_path: Path) -> None:
    (plan,), (commands, *_) = blocks("toml"), blocks("sh")
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    trial = ""
    for line in commands.splitlines():
        name, *arguments = shlex.split(line)
        assert name == "toolablate"
        told = cli(*(trial if each == "TRIAL" else each for each in arguments))
        assert told.returncode == 0, f"{line}\n{told.stdout}{told.stderr}"
        if "--list" in arguments:
            found = json.loads(cli(*arguments[:2], "--json").stdout)["trials"]
            trial = next(each["trial"][:10] for each in found if each["attribution"])
            assert trial in told.stdout
    table = (tmp_path / "decomposition.csv").read_text(encoding="utf-8")
    assert table.startswith("model,simulated,condition,kind,name")


def test_every_command_and_option_of_the_guide_is_there() -> None:
    for line in "".join(blocks("sh")).splitlines():
        _, *arguments = shlex.split(line)
        told = CliRunner().invoke(group, [*arguments, "--help"])
        assert told.exit_code == 0, f"{line}\n{told.output}"


def test_the_guide_names_every_term_and_mechanism() -> None:
    text = GUIDE.replace("`", "").replace("_", " ")
    for name in (*get_args(Term), *get_args(EffectMechanism)):
        assert mechanism_name(name) in text or name.replace("_", " ") in text, name


def test_the_guide_names_every_key_of_the_json_and_csv() -> None:
    named = set(re.findall(r"`(\w+)`", GUIDE.partition("## As JSON and CSV")[2]))
    found = json.loads(attribution_json(report()))
    assert named >= found.keys()
    for part, without in (("trials", ()), ("decompositions", ("model", "condition")), ("design", ("version",))):
        one = found[part][0] if isinstance(found[part], list) else found[part]
        assert named >= one.keys() - set(without), part
    (trial,) = found["trials"]
    for part in (found["decompositions"][0]["effect"], trial["attribution"], trial["belief"][0], trial["flip"]):
        assert named >= part.keys() - {"version"}
    assert named >= set(get_args(Reason)) | set(json.loads(explained_json(explained())))
    (header, *_) = decompositions_csv([decomposition()]).splitlines()
    assert named >= set(header.split(","))


def test_the_guide_names_options_that_there_are() -> None:
    options = {option for parameter in attribute_command.params for option in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)", GUIDE.replace("toolablate replay", "")))
    assert named
    assert named <= options
