"""What a user mistypes: each mistake is a sentence on standard error that says what to do, and exit code 2."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.conftest import Cli, WritePlan
from tests.traces.samples import filled

from toolablate.cli import group

MORE = {
    "replay": ["3f", "--from", "0"],
    "explain": ["3f"],
    "view": ["--no-open"],
    "find": ["word"],
    "labels queue": ["--people", "ada", "-o", "queue.json"],
    "lpfqa pilot": ["-o", "tiered.jsonl"],
    "report": ["-o", "report.html"],
    "export jsonl": ["-o", "out.jsonl"],
    "export parquet": ["-o", "out"],
    "export otlp": ["--endpoint", "http://127.0.0.1:9/v1/traces"],
}
"""What commands want besides their store."""

SLOW = {"export datasets", "export inspect"}
"""They read no store in another way than `export parquet`, and import their libraries first, for seconds."""


def _commands(inside: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(inside)
    for name in inside.list_commands(context):
        command = inside.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, f"{name} ")
        else:
            yield f"{above}{name}", command


COMMANDS = dict(_commands(group))
READERS = [
    name
    for name, command in COMMANDS.items()
    if name not in SLOW and any(each.name == "store" and isinstance(each, click.Argument) for each in command.params)
]


def _is_wanted(argument: click.Argument) -> bool:
    return argument.required or isinstance(argument.type, click.Path)


@pytest.fixture(scope="module")
def no_stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By what each is."""
    folder = tmp_path_factory.mktemp("no_stores")
    (folder / "folder").mkdir()
    (folder / "empty.sqlite").touch()
    (folder / "text.sqlite").write_text("not a store\n", encoding="utf-8")
    newer = folder / "newer.sqlite"
    asyncio.run(filled(newer, 1))
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    return {
        "There is no store at": folder / "nowhere.sqlite",
        "it is a folder": folder / "folder",
        "it is an empty file": folder / "empty.sqlite",
        "it is not a toolablate store": folder / "text.sqlite",
        "was written by a newer toolablate": newer,
    }


@pytest.mark.deep
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_store_is_refused_in_a_sentence(name: str, cli: Cli, no_stores: dict[str, Path]) -> None:
    for said, store in no_stores.items():
        done = cli(*name.split(), store, *MORE.get(name, []))
        assert (done.returncode, done.stdout) == (2, ""), done
        assert said in done.stderr
        assert str(store) in done.stderr
        assert "Traceback" not in done.stderr
        assert "new file" not in done.stderr


@pytest.mark.deep
def test_who_writes_a_store_hears_that_a_new_one_would_do(
    cli: Cli, good_plan: Path, no_stores: dict[str, Path]
) -> None:
    for said in ("it is an empty file", "it is not a toolablate store"):
        for command in (("run", good_plan), ("import", "lm-eval", good_plan)):
            done = cli(*command, "--store", no_stores[said])
            assert (done.returncode, done.stdout) == (2, "")
            assert "Name the store that `toolablate run` wrote, or a new file." in done.stderr
    good_plan.write_text(f"store = '{no_stores[said]}'\n{good_plan.read_text(encoding='utf-8')}", encoding="utf-8")
    assert "wrote, or a new file." in " ".join(cli("doctor", good_plan).stdout.split())


@pytest.mark.deep
def test_every_command_refuses_an_empty_name(cli: Cli, tmp_path: Path) -> None:
    """As of a variable that is not set: it would stand for the folder that one is in."""
    for name, command in COMMANDS.items():
        paths = [each for each in command.params if isinstance(each.type, click.Path)]
        if not paths:
            continue
        arguments = [each for each in command.params if isinstance(each, click.Argument) and _is_wanted(each)]
        done = cli(*name.split(), *[""] * len(arguments), *MORE.get(name, []))
        assert (done.returncode, done.stdout) == (2, ""), name
        assert "name is empty" in done.stderr or "Missing option" in done.stderr, name
    assert not list(tmp_path.iterdir())


@pytest.mark.deep
def test_an_empty_name_of_a_file_to_write_is_refused(cli: Cli, good_plan: Path, store: Path) -> None:
    cli("run", good_plan)
    for option, command in (
        ("--csv", ("compare", store)),
        ("--output", ("export", "jsonl", store)),
        ("--output", ("export", "parquet", store)),
        ("--store", ("import", "lm-eval", good_plan)),
    ):
        done = cli(*command, option, "")
        assert (done.returncode, done.stdout) == (2, "")
        assert "The name is empty." in done.stderr


def test_the_command_that_was_meant_is_named(cli: Cli) -> None:
    assert "No such command 'comapre'. Did you mean 'compare'?" in cli("comapre", "s.sqlite").stderr
    assert "No such command 'jsnol'. Did you mean 'jsonl'?" in cli("export", "jsnol").stderr
    unlike = cli("planted", "frobnicate")
    assert "No such command 'frobnicate'. There are make, score." in unlike.stderr
    assert unlike.returncode == 2


def test_a_plan_that_cannot_be_read_is_told_without_numbers_of_errors(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "image.toml").write_bytes(b"name = '\xff'")
    assert "cannot read the plan .: Is a directory" in cli("run", ".").stderr
    assert "cannot read the plan image.toml: it is no UTF-8 text: byte 0xff at position 9" in (
        cli("run", "image.toml").stderr
    )


def test_a_store_in_place_of_a_plan_is_known(cli: Cli, good_plan: Path, store: Path) -> None:
    cli("run", good_plan)
    assert f"cannot read the plan {store}: it is a database, as stores are, and no text" in cli("run", store).stderr


def test_options_that_say_nothing_are_refused(cli: Cli, good_plan: Path, store: Path) -> None:
    cli("run", good_plan)
    of_a_trace = cli("show", store, "--full")
    assert (of_a_trace.returncode, of_a_trace.stdout) == (2, "")
    assert "--full needs a TRIAL" in of_a_trace.stderr
    of_a_list = cli("show", store, "3f", "--condition", "none")
    assert (of_a_list.returncode, of_a_list.stdout) == (2, "")
    assert "--condition chooses what is listed, and a TRIAL was named" in of_a_list.stderr


def test_a_scorer_that_is_not_there_is_refused_without_labels(cli: Cli, good_plan: Path, store: Path) -> None:
    cli("run", good_plan)
    done = cli("agreement", "--labels", store, "--scorer", "exakt")
    assert done.returncode == 2
    assert "There are no scores by a scorer 'exakt'" in done.stderr


def test_a_limit_that_is_none_is_told_with_those_that_are(cli: Cli, good_plan: Path, store: Path) -> None:
    cli("run", good_plan)
    with sqlite3.connect(store) as connection:
        ((trial,),) = connection.execute("SELECT id FROM trials LIMIT 1").fetchall()
    connection.close()
    assert "--extend: turn: unknown key; did you mean 'turns'? (allowed: cost_usd, seconds," in (
        cli("replay", store, trial, "--from", "0", "--extend", "turn=4").stderr
    )
    assert "--swap: cannot read nul: No such file or directory" in (
        cli("replay", store, trial, "--from", "0", "--swap", "nul").stderr
    )


def test_a_store_that_is_cut_off_is_damaged_for_verify(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    asyncio.run(filled(path, 3))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = cli("verify", path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "cannot be opened" in done.stdout
    read = cli("status", path)
    assert read.returncode == 2
    assert "Run `toolablate verify` on it" in read.stderr


def test_seeds_count_from_nothing(cli: Cli, write_plan: WritePlan, tmp_path: Path) -> None:
    """Python's own generator takes -1 for 1: two seeds would be one."""
    done = cli("planted", "make", "made", "--seed", "-1")
    assert done.returncode == 2
    assert "-1 is not in the range x>=0" in done.stderr
    assert not (tmp_path / "made").exists()
