"""Formats of other packages: found by the same entry points as ours."""

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolablate.cli import group
from toolablate.formats.commands import ENTRY_POINTS, export_group, import_group
from toolablate.traces.errors import InputError

MODULE = """
import click

@click.command("yours", short_help="Yours.")
def command() -> None:
    click.echo("exported")
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_another_package.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    points = EntryPoints(
        [
            EntryPoint("export.yours", "of_another_package:command", ENTRY_POINTS),
            EntryPoint("export.broken", "not_installed_anywhere:command", ENTRY_POINTS),
            EntryPoint("import.theirs", "of_another_package:command", ENTRY_POINTS),
        ]
    )
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == ENTRY_POINTS else ())
    for each in (export_group, import_group):
        monkeypatch.delitem(each.__dict__, "_points", raising=False)  # what is installed is looked up once


def test_a_format_of_another_package_is_a_command() -> None:
    listed = CliRunner().invoke(group, ["export", "--help"])
    assert "yours" in listed.output
    assert "Yours." in listed.output
    assert "theirs" not in listed.output
    assert CliRunner().invoke(group, ["export", "yours"]).output == "exported\n"


def test_one_that_cannot_be_imported_keeps_none_of_the_others_from_being_listed() -> None:
    assert "(cannot be imported)" in CliRunner().invoke(group, ["export", "--help"]).output
    result = CliRunner().invoke(group, ["export", "broken"])
    assert isinstance(result.exception, InputError)
    assert result.exception.code == "bad_plugin"


def test_the_nearest_name_is_named() -> None:
    assert "Did you mean 'yours'?" in CliRunner().invoke(group, ["export", "your"]).output
