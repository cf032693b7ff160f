"""Where results go: into pipes that are closed, terminals that are narrow, and encodings that lack half of it."""

import asyncio
import io
import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.traces.samples import filled

from toolablate.cli.streams import take_any_text


@pytest.fixture
def ran(cli: Cli, good_plan: Path, store: Path) -> Path:
    cli("run", good_plan)
    return store


@pytest.mark.deep
def test_no_locale_ends_a_command(ran: Path) -> None:
    for command, encoding in product(("compare", "show", "status", "attribute"), ("ascii", "latin-1")):
        local = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        line = [sys.executable, "-m", "toolablate", command, ran]
        done = subprocess.run(line, capture_output=True, env=local, check=False)
        assert done.stdout.decode(encoding), (command, encoding)
        assert (done.returncode in (0, 1), done.stderr) == (True, b""), (command, encoding)


def test_what_an_encoding_lacks_stays_json(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"Δ": "…\udcff😀", "plain": "é"}
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    take_any_text()
    print(json.dumps(told, ensure_ascii=False), flush=True)  # noqa: T201
    assert json.loads(written.getvalue().decode("latin-1")) == told
    assert "é" in written.getvalue().decode("latin-1")


@pytest.mark.deep
def test_a_pipe_that_is_closed_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    asyncio.run(filled(path, 3))
    for command in (["--help"], ["show", str(path)], ["show", str(path), "--json"]):
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "wb") as closed:  # noqa: PTH123 - a descriptor
            done = subprocess.run(
                [sys.executable, "-m", "toolablate", *command], stdout=closed, stderr=subprocess.PIPE, check=False
            )
        assert (done.returncode, done.stderr) == (1, b""), command


def test_a_full_disk_behind_a_redirect_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    asyncio.run(filled(path, 3))
    for command in (["--help"], ["show", str(path)], ["show", str(path), "--json"], ["status", str(path)]):
        with Path("/dev/full").open("wb") as full:
            line = [sys.executable, "-m", "toolablate", *command]
            done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, check=False, text=True)
        said, _ = done.stderr.splitlines()
        assert (done.returncode, said) == (1, "toolablate: there is no room to write to: No space left on device")


@pytest.mark.parametrize("setting", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_a_terminal_of_forty_columns(setting: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    asyncio.run(filled(path, 3))
    ours, theirs = os.openpty()
    local = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    local |= {"TERM": "xterm", "COLUMNS": "40"} | setting
    with open(ours, "rb", buffering=0) as terminal:  # noqa: PTH123 - a descriptor
        program = subprocess.Popen(
            [sys.executable, "-m", "toolablate", "status", str(path)], stdout=theirs, stderr=theirs, env=local
        )
        os.close(theirs)
        shown = b""
        try:
            while part := terminal.read(4096):
                shown += part
        except OSError:
            pass  # as Linux tells that the other side is closed
        assert program.wait() == 0
    text = shown.decode()
    if setting.get("TERM") == "dumb":
        assert "\x1b" not in text
    if "NO_COLOR" in setting:
        assert not any(f"\x1b[{colour}" in text for colour in ("3", "9", "1;3"))
    # Rich takes every dumb terminal for one of 80 columns.
    wide = 80 if setting.get("TERM") == "dumb" else 40
    assert max(map(len, re.sub("\x1b\\[[0-9;]*m", "", text).splitlines())) <= wide
