"""One trace a line, as JSON, and back."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pydantic import SerializerFunctionWrapHandler, model_serializer
from pydantic_core import PydanticSerializationError
from tests.formats.conftest import all_of
from tests.formats.stores import BARE, BUDGET, FAILED, HOSTILE, TOOLS

from toolablate.cli import group
from toolablate.formats.exporting import Exported, Reasons
from toolablate.formats.jsonl import read_jsonl, write_jsonl
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Attribution
from toolablate.traces.store import Store

REASONS = {
    TOOLS.id: Reasons(
        attribution=Attribution(
            trial=TOOLS.id, mechanism="budget", method="trace", confidence=0.5, turned_at=2, evidence=(2, 4)
        ),
        hypotheses=(
            Attribution(trial=TOOLS.id, mechanism="sampling_noise", method="judge", confidence=0.1, note=HOSTILE),
        ),
    )
}


def written(path: Path, exported: list[Exported]) -> Path:
    with path.open("wb") as file:
        assert write_jsonl(exported, file) == len(exported)
    return path


def test_what_is_read_back_equals_what_the_store_holds(store: Path, tmp_path: Path) -> None:
    found = all_of(store, REASONS)
    assert list(read_jsonl(written(tmp_path / "all.jsonl", found))) == found
    with Store(store) as opened:
        for each in found:
            assert each.trace == opened.trace(each.trial)
            assert each.scores == opened.scores(each.trial)
            assert each.labels == opened.labels(each.trial)
            assert each.diagnoses == opened.diagnoses(each.trial)
            assert each.question == opened.question(each.trace.trial.question)
            assert each.model == opened.model(each.trace.trial.model)
            assert each.condition == opened.condition(each.trace.trial.condition)
            assert each.reasons == REASONS.get(each.trial, Reasons())


def test_everything_of_a_trial_stands_in_its_line(store: Path, tmp_path: Path) -> None:
    lines = written(tmp_path / "all.jsonl", all_of(store, REASONS)).read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    trials = {line["trial"]: line for line in map(json.loads, lines)}
    assert len(trials) == 5
    found = trials[TOOLS.id]
    assert found["called"] == {"question": "q0", "model": "gpt-x", "condition": "python"}
    assert [event["kind"] for event in found["trace"]["events"]] == [
        *("failure", "model_call", "tool_call", "model_call", "answer")
    ]
    assert [score["scorer"] for score in found["scores"]] == ["choice", "judge[gpt-x@00000000]"]
    assert found["reasons"]["attribution"]["mechanism"] == "budget"
    assert [label["person"] for label in found["labels"]] == ["Ada\u202e", "Bob"]
    assert trials[FAILED.id]["trace"]["outcome"] == "failed"
    assert "scores" not in trials[FAILED.id]
    (replay,) = (each for each in trials.values() if "resumed" in each["condition"])
    assert replay["condition"]["resumed"]["trial"] == TOOLS.id


def test_a_line_is_one_line_to_every_reader(store: Path, tmp_path: Path) -> None:
    text = written(tmp_path / "all.jsonl", all_of(store)).read_text(encoding="utf-8")
    assert len(text.splitlines()) == text.count("\n") == 5
    assert "\x00" not in text
    assert "\x1b" not in text


def test_a_lone_surrogate_in_a_store_that_others_wrote_is_replaced(store: Path, tmp_path: Path) -> None:
    found = all_of(store)[0]
    broken = found.model_copy(update={"question": found.question.model_copy(update={"prompt": "a\ud800b"})})
    (back,) = read_jsonl(written(tmp_path / "one.jsonl", [broken]))
    assert back.question.prompt == "a\ufffdb"
    assert back.trace == found.trace


class Interrupted(Exported):
    """Whoever presses Ctrl-C while a line is made."""

    @model_serializer(mode="wrap")
    def _interrupt(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        signal.raise_signal(signal.SIGINT)
        made: dict[str, Any] = handler(self)
        return made


def test_an_interrupt_while_a_line_is_made_is_not_lost(store: Path, tmp_path: Path) -> None:
    """Pydantic gives it as an error of its own."""
    found = Interrupted.model_construct(**dict(all_of(store)[0]))
    with pytest.raises(PydanticSerializationError, match="KeyboardInterrupt"):
        written(tmp_path / "one.jsonl", [found])


def test_a_line_that_is_no_trace_is_named(store: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "all.jsonl", all_of(store)[:1])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"version": 2}\n')
    lines = read_jsonl(path)
    assert next(lines).trial == BARE.id
    with pytest.raises(InputError, match=r"all\.jsonl, line 2: version"):
        next(lines)
    with pytest.raises(InputError, match="cannot be read"):
        next(read_jsonl(tmp_path / "absent.jsonl"))


# `toolablate export jsonl`, and what all exports share.


def called(*arguments: str | Path) -> Result:
    return CliRunner().invoke(group, ["export", *map(str, arguments)])


def refused(*arguments: str | Path) -> str:
    result = called(*arguments)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_it_writes_a_file_with_attributions(store: Path, tmp_path: Path) -> None:
    result = called("jsonl", store, "-o", tmp_path / "new" / "all.jsonl")
    assert result.exit_code == 0, result.output
    assert "4 trials in" in result.stderr
    found = {each.trial: each for each in read_jsonl(tmp_path / "new" / "all.jsonl")}
    assert len(found) == 4
    reasons = found[TOOLS.id].reasons
    assert reasons.attribution is not None
    assert reasons.attribution.method == "trace"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["all.jsonl"]


def test_it_prints_what_is_chosen(store: Path) -> None:
    result = called("jsonl", store, "-o", "-", "--condition", "python", "--no-attributions")
    lines = [json.loads(line) for line in result.stdout.split("\n")[:-1]]
    assert [line["trial"] for line in lines] == [TOOLS.id, BUDGET.id]
    assert not any("reasons" in line for line in lines)


def test_replays_are_written_where_they_are_wanted(store: Path) -> None:
    assert called("jsonl", store, "-o", "-", "--replays").stdout.count("\n") == 5


def test_neither_a_store_nor_a_device_is_overwritten(store: Path, tmp_path: Path) -> None:
    before = store.read_bytes()
    assert "is a store and would be overwritten" in refused("jsonl", store, "-o", store)
    assert store.read_bytes() == before
    (tmp_path / "pipe").unlink(missing_ok=True)
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in refused("jsonl", store, "-o", tmp_path / "pipe")
    assert "is no file" in refused("jsonl", store, "-o", tmp_path)


def test_a_file_that_is_there_is_replaced_through_a_link(store: Path, tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("old", encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert called("jsonl", store, "-o", tmp_path / "link.jsonl").exit_code == 0
    assert len(list(read_jsonl(tmp_path / "real.jsonl"))) == 4
    assert (tmp_path / "link.jsonl").is_symlink()


def test_a_choice_of_nothing_is_refused_before_anything_is_written(store: Path, tmp_path: Path) -> None:
    assert "no ended trial has the model" in refused("jsonl", store, "-o", tmp_path / "x", "--model", "other")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_whoever_is_stopped_leaves_no_half_file(store: Path, tmp_path: Path, stop: signal.Signals) -> None:
    program = (
        "import os, sys\n"
        "import toolablate.formats.jsonl as jsonl\n"
        "from toolablate.cli import main\n"
        "line = jsonl._line\n"
        "def slow(exported):\n"
        f"    os.kill(os.getpid(), {int(stop)})\n"
        "    return line(exported)\n"
        "jsonl._line = slow\n"
        "main()\n"
    )
    (tmp_path / "out.jsonl").write_text("as it was", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", program, "export", "jsonl", str(store), "-o", str(tmp_path / "out.jsonl")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (1, -signal.SIGKILL)
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == "as it was"
    if stop == signal.SIGINT:
        assert "Stopped." in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize("swallowed", [False, True])
def test_ctrl_c_while_pydantic_calls_back_ends_it_as_well(store: Path, tmp_path: Path, swallowed: bool) -> None:
    """What is raised then, pydantic gives as an error of its own, or takes for a member of a union that does not fit."""
    kept = "except KeyboardInterrupt: pass" if swallowed else "finally: pass"
    program = (
        "import signal\n"
        "from pydantic import model_serializer\n"
        "import toolablate.formats.exporting as reading\n"
        "from toolablate.cli import main\n"
        "class Interrupted(reading.Exported):\n"
        "    @model_serializer(mode='wrap')\n"
        "    def interrupt(self, handler):\n"
        "        try: signal.raise_signal(signal.SIGINT)\n"
        f"        {kept}\n"
        "        return handler(self)\n"
        "reading.Exported = Interrupted\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "export", "jsonl", str(store), "-o", str(tmp_path / "out.jsonl")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (1, "Stopped.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_ends_it_in_silence(store: Path) -> None:
    program = [sys.executable, "-m", "toolablate", "export", "jsonl", str(store), "-o", "-"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [
        (("parquet", "-o", "x"), "pyarrow.parquet", "parquet"),
        (("datasets", "-o", "x"), "datasets", "datasets"),
        (("otlp", "--endpoint", "http://127.0.0.1:9/"), "openinference.semconv.trace", "otlp"),
    ],
)
def test_what_is_not_installed_is_told_with_the_way_to_get_it(
    store: Path, command: tuple[str, ...], module: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    assert to_install(extra) in refused(command[0], store, *command[1:])
    assert list(tmp_path.iterdir()) == []
