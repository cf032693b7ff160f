"""`toolablate import` by the real command group, and what the other commands make of a store of imports."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.formats.test_lm_eval import NO_SHOT, TWO_SHOT, samples
from tests.traces.samples import CODE, NONE, SIMULATED, WHEN, attempt, question, run, score, trials

from toolablate.cli import group
from toolablate.traces.commands import STOPPED
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Label
from toolablate.traces.store import Recorder, Store

pytest.importorskip("inspect_ai")


def called(*arguments: str | Path) -> Result:
    return CliRunner().invoke(group, list(map(str, arguments)))


def printed(*arguments: str | Path) -> Any:
    result = called(*arguments, "--json")
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def refused(*arguments: str | Path) -> str:
    result = called(*arguments)
    assert isinstance(result.exception, InputError), (result.output, result.exception)
    return str(result.exception)


async def _ran(path: Path) -> None:
    questions = tuple(question(number, domain=f"d{number % 2}") for number in range(12))
    asked = trials(questions, (SIMULATED,), (NONE, CODE))
    with Recorder(path) as recorder:
        planned = run().model_copy(update={"baseline": "none", "scorers": ("choice",)})
        recorder.plan(planned, questions, [SIMULATED], [NONE, CODE], asked)
        for number, trial in enumerate(asked):
            await attempt(recorder, trial)
            right = number % 3 > 0 if trial.condition == NONE.identity() else number % 5 > 1
            await recorder.score([score(trial, float(right))])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ran") / "study.sqlite"
    asyncio.run(_ran(path))
    return path


@pytest.fixture(scope="module")
def back(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, by way of logs of Inspect."""
    folder = tmp_path_factory.mktemp("logs")
    exported = called("export", "inspect", store, "-o", folder / "logs")
    assert exported.exit_code == 0, (exported.output, exported.exception)
    assert "in 2 logs in" in exported.stderr
    path = folder / "back.sqlite"
    told = printed("import", "inspect", *sorted((folder / "logs").iterdir(), reverse=True), "--store", path)
    assert [each["failed"] for each in told["imported"]] == [0, 0]
    return path


def named(trial: dict[str, Any]) -> tuple[str, list[int]] | None:
    """Its mechanism and the events that are its evidence."""
    found = trial["attribution"]
    return found and (found["mechanism"], found["evidence"])


def test_comparisons_and_attributions_are_those_of_before(store: Path, back: Path) -> None:
    before, after = printed("compare", store), printed("compare", back)
    assert before["comparisons"] == after["comparisons"]
    assert before["comparisons"][0]["simulated"] is True
    assert before["comparisons"][0]["right_to_wrong"] > 0
    before, after = printed("attribute", store), printed("attribute", back)
    assert before["decompositions"] == after["decompositions"]
    explained, again = ([(each["question"], named(each)) for each in found["trials"]] for found in (before, after))
    assert explained == again
    assert any(mechanism for _, mechanism in explained)


def test_conditions_come_back_in_their_order(store: Path, back: Path) -> None:
    """The logs were named the other way round."""
    with Store(store) as opened, Store(back) as again:
        assert again.conditions() == opened.conditions()
        assert again.runs()[-1].baseline == opened.runs()[-1].baseline == "none"


def test_labels_of_an_export_are_told(store: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.sqlite"
    own.write_bytes(store.read_bytes())
    trial = next(each["trial"] for each in printed("show", own)["trials"] if each["value"] == 0)
    with Recorder(own) as recorder:
        recorder.label(Label(trial=trial, person="Ada", at=WHEN, mechanism="sampling_noise", note="Hm."))
    assert called("export", "inspect", own, "-o", tmp_path / "logs").exit_code == 0
    arguments = ("import", "inspect", *sorted((tmp_path / "logs").iterdir()), "--store", tmp_path / "back.sqlite")
    first, again = called(*arguments), called(*arguments)
    assert "12 samples, 12 new; 1 label new" in first.stdout
    assert "label new" not in again.stdout
    (label,) = printed("agreement", "--labels", tmp_path / "back.sqlite")["labels"]
    assert (label["person"], label["mechanism"], label["note"]) == ("Ada", "sampling_noise", "Hm.")


def test_traces_are_shown_and_verified(back: Path) -> None:
    listed = printed("show", back)["trials"]
    assert len(listed) == 24
    shown = called("show", back, listed[0]["trial"])
    assert shown.exit_code == 0, shown.output
    assert "SIMULATED" in shown.output.upper()
    assert called("verify", back).exit_code == 0
    assert called("status", back).exit_code == 0


def test_nothing_runs_into_a_store_of_imports(back: Path, tmp_path: Path) -> None:
    trial = printed("show", back, "--condition", "python")["trials"][0]["trial"]
    assert "was imported from a log: its model cannot be asked again" in refused("replay", back, trial, "--from", "1")
    assert "were imported from logs" in refused("attribute", back, "--replay")
    (tmp_path / "plan.toml").write_text(
        f"store = {str(back)!r}\nconditions = ['none']\nquestions.file = 'builtin'\n"
        "[[models]]\nprovider = 'simulated'\nname = 'sim'\n",
        encoding="utf-8",
    )
    assert "has imported trials" in refused("run", tmp_path / "plan.toml")
    (tmp_path / "asked.toml").write_text(
        "store = 'new.sqlite'\nconditions = ['none']\nquestions.file = 'builtin'\n"
        "[[models]]\nprovider = 'imported'\nname = 'gone'\n",
        encoding="utf-8",
    )
    assert "cannot be asked" in refused("run", tmp_path / "asked.toml")
    assert not (tmp_path / "new.sqlite").exists()


def test_samples_of_lm_eval_are_told_and_named(tmp_path: Path) -> None:
    store = tmp_path / "lm.sqlite"
    results = samples("sums", NO_SHOT).with_name(f"results_{NO_SHOT}.json")
    result = called("import", "lm-eval", samples("sums", NO_SHOT), results, "--store", store)
    assert result.exit_code == 0, result.output
    assert "acme/known, 0-shot" in result.stdout
    assert "3 samples, 3 new" in result.stdout
    assert "scored by exact_match,strict-match; also there: exact_match,flexible-extract" in result.stdout
    metric = "exact_match,flexible-extract"
    arguments = ("import", "lm-eval", samples("sums", TWO_SHOT), "--store", store)
    told = printed(*arguments, "--condition", "with two", "--metric", metric)
    assert [(each["condition"], each["scorers"]) for each in told["imported"]] == [("with two", [metric])]
    (row,) = printed("compare", store)["comparisons"]
    assert (row["baseline"], row["condition"], row["questions"]) == ("0-shot", "with two", 3)
    assert "has no scores by 'f1'" in refused(*arguments, "--metric", "f1")


def test_an_arm_gets_another_name(tmp_path: Path) -> None:
    store = tmp_path / "lm.sqlite"
    path = samples("capitals", NO_SHOT)
    for name in ("first", "second"):
        assert called("import", "lm-eval", path, "--store", store, "--condition", name).exit_code == 0
    with Store(store) as opened:
        assert [condition.name for condition in opened.conditions()] == ["second"]
    both = path, samples("capitals", TWO_SHOT)
    assert "have different conditions named" in refused(
        "import", "lm-eval", *both, "--store", store, "--condition", "x"
    )
    assert "is no name" in refused("import", "lm-eval", path, "--store", store, "--condition", "a\x1b[31mb")


def test_what_cannot_be_exported_is_refused(store: Path, tmp_path: Path) -> None:
    replays = called("export", "inspect", store, "-o", tmp_path / "logs", "--replays")
    assert (replays.exit_code, "No such option" in replays.output) == (2, True)
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert "has other files" in refused("export", "inspect", store, "-o", tmp_path)


@pytest.mark.deep
def test_logs_that_inspect_wrote_are_never_replaced(store: Path, tmp_path: Path, inspect_logs: Path) -> None:
    """Its own folder is `logs`, too."""
    logs = tmp_path / "logs"
    for _ in range(2):
        assert called("export", "inspect", store, "-o", logs).exit_code == 0
    mine = set(logs.iterdir())
    assert len(mine) == 2
    theirs, odd = logs / "plain.eval", logs / "odd.eval"
    theirs.write_bytes((inspect_logs / "plain.eval").read_bytes())
    assert "has other files, such as 'plain.eval'" in refused("export", "inspect", store, "-o", logs)
    theirs.unlink()
    odd.write_bytes(b"no log")
    assert "has other files, such as 'odd.eval'" in refused("export", "inspect", store, "-o", logs)
    assert set(logs.iterdir()) == {*mine, odd}


def test_an_extra_that_is_not_installed_is_named(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("inspect_ai", "inspect_ai.log"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    log = tmp_path / "a.eval"
    assert to_install("inspect") in refused("import", "inspect", log, "--store", tmp_path / "s.sqlite")
    assert to_install("inspect") in refused("export", "inspect", store, "-o", tmp_path / "logs")


def test_stopped_it_says_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("toolablate.formats.importing.import_logs", stop)
    stopped = called("import", "lm-eval", samples("sums", NO_SHOT), "--store", tmp_path / "s.sqlite")
    assert (stopped.exit_code, stopped.stdout) == (1, "")
    assert " ".join(stopped.stderr.split()) == STOPPED
