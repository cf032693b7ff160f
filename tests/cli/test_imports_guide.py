"""docs/imports.md: its commands run, and what it says of values is so."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.formats.imports.conftest import inspect_logs
from tests.formats.imports.test_lm_eval import FILES

from toolablate.cli import group

__all__ = ["inspect_logs"]

GUIDE = Path(__file__).parents[2] / "docs/imports.md"


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
