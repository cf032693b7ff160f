"""Formats of other packages: found by the same entry points as ours."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints, PathDistribution, entry_points
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


NUMBER = 3
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "of_another_package.py").write_text(MODULE)
    (tmp_path / "exits_on_import.py").write_text("raise SystemExit(3)")
    about = tmp_path / "rival-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nexport.both = of_another_package:command\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = EntryPoints(
        [
            EntryPoint("export.yours", "of_another_package:command", ENTRY_POINTS),
            EntryPoint("export.broken", "not_installed_anywhere:command", ENTRY_POINTS),
            EntryPoint("export.exits", "exits_on_import:command", ENTRY_POINTS),
            EntryPoint("export.number", "of_another_package:NUMBER", ENTRY_POINTS),
            EntryPoint("export.both", "of_another_package:command", ENTRY_POINTS),
            *PathDistribution(about).entry_points,
            EntryPoint("export.", "of_another_package:command", ENTRY_POINTS),
            EntryPoint("import.theirs", "of_another_package:command", ENTRY_POINTS),
        ]
    )
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: points if group == ENTRY_POINTS else entry_points(group=group)
    )
    for each in (export_group, import_group):
        each.__dict__.pop("_points", None)  # what is installed is looked up once
    yield
    for each in (export_group, import_group):
        each.__dict__.pop("_points", None)


def test_a_format_of_another_package_is_a_command() -> None:
    listed = CliRunner().invoke(group, ["export", "--help"])
    assert "yours" in listed.output
    assert "Yours." in listed.output
    assert "theirs" not in listed.output
    assert CliRunner().invoke(group, ["export", "yours"]).output == "exported\n"


@pytest.mark.parametrize(
    ("name", "told", "code"),
    [
        ("broken", "an unknown package cannot be loaded from not_installed_anywhere:command", "bad_plugin"),
        ("exits", "SystemExit: 3", "bad_plugin"),
        ("number", "a click command is expected, found 3", "bad_plugin"),
        ("both", "'export both' is claimed by several packages: an unknown package and rival", "claimed_twice"),
    ],
)
def test_one_that_cannot_be_had_keeps_none_of_the_others_from_being_listed(name: str, told: str, code: str) -> None:
    listed = CliRunner().invoke(group, ["export", "--help"]).output
    assert [line.split()[0] for line in listed.splitlines() if "(cannot be loaded)" in line] == [
        "both",
        "broken",
        "exits",
        "number",
    ]
    result = CliRunner().invoke(group, ["export", name])
    assert isinstance(result.exception, InputError)
    assert told in result.exception.message
    assert result.exception.code == code


def test_without_any_format_the_help_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(export_group.__dict__, "_points", {})
    for arguments in (["--help"], ["jsonl"]):
        result = CliRunner().invoke(group, ["export", *arguments])
        assert "pip install -e ." in " ".join(result.output.split())
        assert isinstance(result.exception, SystemExit | None)


def test_the_nearest_name_is_named() -> None:
    assert "Did you mean 'yours'?" in CliRunner().invoke(group, ["export", "your"]).output
