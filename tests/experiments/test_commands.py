"""Commands that are forked from a process that has imported everything do what those do that start from nothing."""

import os
from pathlib import Path

import pytest
from tests.conftest import Cli


@pytest.mark.deep
def test_they_say_and_write_the_same(cli: Cli, cold_cli: Cli, good_plan: Path, store: Path, tmp_path: Path) -> None:
    assert cli("run", good_plan).returncode == 0
    for arguments in (
        ("agreement", store),
        ("compare", store, "--flips"),
        ("show", "--why", store, "no-such-trial"),
        ("agreement", "--labels", store),
        ("compare", "--ladder", store),
        ("planted", "score", store),
        ("power", good_plan),
        ("doctor", "--capabilities", good_plan),
        ("replay", store, "no-such-trial", "--from", "1"),
        ("verify", tmp_path),
        ("status", store),
        ("verify", store),
        ("no-such-command",),
    ):
        forked, cold = cli(*arguments), cold_cli(*arguments)
        assert (forked.returncode, forked.stdout, forked.stderr) == (cold.returncode, cold.stdout, cold.stderr), (
            arguments
        )
        assert "Traceback" not in forked.stderr


def test_each_has_the_environment_and_the_folder_of_its_caller(
    cli: Cli, good_plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("COLUMNS", "50")
    assert max(map(len, cli("power", "plan.toml").stdout.splitlines())) <= 50
    wide = cli("power", "plan.toml", env={**os.environ, "COLUMNS": "200"}).stdout
    assert max(map(len, wide.splitlines())) > 50
    assert cli("power", good_plan, env={}).returncode == 0
