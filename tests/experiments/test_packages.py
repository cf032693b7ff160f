"""What packages bring and what fails there: a run and `doctor` name the package and go on, or refuse in a sentence."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolablate.benchmarks import registry
from toolablate.cli import group
from toolablate.tools import user_code
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

PROVIDER = """
from toolablate.traces.records import Message, ModelReply

class Parrot:
    def __init__(self, model): pass
    def session(self, question, condition, repeat): return self
    async def complete(self, request, *, seconds):
        {complete}
        return ModelReply(message=Message(role="assistant", content="Answer: 7"), finish_reason="stop")
    async def close(self):
        {close}
"""
SCORER = """
from toolablate.benchmarks import Benchmark
from toolablate.traces.records import Score

class Strict:
    name, version = "strict", 1
    {method}

BENCHMARK = Benchmark(description="Strict.", scorers={{"strict": Strict}})
"""
OPENED = """
    def refusal(self, question): return ""
    async def open(self): {open}
    async def score(self, question, trial_id, answer):
        return Score(trial=trial_id, scorer="strict", scorer_version=1, value=1.0, verdict="correct")
    async def close(self): {close}
"""
STRICT = "the scorer 'strict' of the benchmark 'strict' of strict-package 1.0"
PLAN = """
conditions = ["none"]

[questions]
file = "questions.jsonl"
{scorer}

[[models]]
name = "parrot"
provider = "parrot"
"""
SAID = "providers: 'parrot' of the package parrot-package"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions.jsonl").write_text(json.dumps({"id": "q", "prompt": "Say 7", "answer": "7"}))
    _forget()
    yield
    _forget()


def _forget() -> None:
    user_code.registered.cache_clear()
    registry.benchmarks.cache_clear()
    for name in ("parrot_for_test", "scorer_for_test"):
        sys.modules.pop(name, None)


def install(package: str, module: str, code: str, kind: str, point: str) -> None:
    about = Path(f"{package.replace('-', '_')}-1.0.dist-info")
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[toolablate.{kind}]\n{point}\n")
    Path(f"{module}.py").write_text(code)
    _forget()


def install_parrot(complete: str = "pass", close: str = "pass") -> None:
    code = PROVIDER.format(complete=complete, close=close)
    install("parrot-package", "parrot_for_test", code, "providers", "parrot = parrot_for_test:Parrot")


def called(command: str, scorer: str = "") -> Result:
    Path("plan.toml").write_text(PLAN.format(scorer=scorer))
    return CliRunner().invoke(group, [command, "plan.toml"], terminal_width=400, env={"COLUMNS": "400"})


def unfolded(shown: str) -> str:
    return " ".join(shown.split())


@pytest.mark.parametrize("error", ["ValueError('no luck')", "SystemExit('no luck')"])
def test_a_model_that_cannot_be_closed_is_warned_of_after_its_trials(error: str) -> None:
    install_parrot(close=f"raise {error}")
    ran = called("run")
    assert ran.exit_code == 0, ran.output
    assert f"Warning: {SAID} cannot be closed: {error.partition('(')[0]}: no luck" in unfolded(ran.output)
    with Store(Path("runs/plan.sqlite")) as store:
        assert [trace.answer for trace in store.traces()] == ["Answer: 7"]


def test_doctor_notes_a_model_that_cannot_be_closed() -> None:
    install_parrot(close="raise ValueError('no luck')")
    shown = unfolded(called("doctor").output)
    assert f"models note {SAID} cannot be closed: ValueError: no luck" in shown
    assert "models works 1 can be set up" in shown


@pytest.mark.parametrize("error", ["ValueError('no luck')", "SystemExit('no luck')"])
def test_a_model_that_breaks_or_exits_fails_its_trial_and_is_named(error: str) -> None:
    install_parrot(complete=f"raise {error}")
    ran = called("run")
    assert ran.exit_code == 1
    assert isinstance(ran.exception, SystemExit)
    with Store(Path("runs/plan.sqlite")) as store:
        (trace,) = store.traces()
    failure = trace.events[-1]
    assert failure.kind == "failure"
    assert (failure.boundary, failure.code) == ("runner", "internal_error")
    assert failure.message == f"{SAID} failed: {error.partition('(')[0]}: no luck"


def install_strict(method: str) -> None:
    code = SCORER.format(method=method)
    install("strict-package", "scorer_for_test", code, "benchmarks", "strict = scorer_for_test:BENCHMARK")


@pytest.mark.parametrize(
    ("command", "method", "told"),
    [
        ("doctor", "def score(self, *given): raise ValueError('no luck')", "cannot score question 'q': ValueError: no"),
        (
            "run",
            "def score(self, *given): raise ValueError('no luck')",
            "cannot score question 'q': ValueError: no luck",
        ),
        (
            "run",
            "def score(self, *given): raise SystemExit('no luck')",
            "cannot score question 'q': SystemExit: no luck",
        ),
        ("run", "def score(self, *given): return 1.0", "cannot score question 'q': a Score is expected, found 1.0"),
        (
            "run",
            OPENED.format(open="raise ValueError('no luck')", close="pass"),
            "cannot be opened: ValueError: no luck",
        ),
    ],
)
def test_a_scorer_that_breaks_before_the_trials_is_refused_with_its_package(
    command: str, method: str, told: str
) -> None:
    install_parrot()
    install_strict(method)
    ran = called(command, 'scorer = "strict"')
    assert ran.exit_code == 1
    assert isinstance(ran.exception, InputError | SystemExit), ran.exception
    assert f"{STRICT} {told}" in unfolded(f"{ran.output} {ran.exception}")
    assert not Path("runs/plan.sqlite").exists()


@pytest.mark.parametrize("broken", ["return 3", "raise SystemExit('no luck')"])
def test_a_scorer_that_breaks_at_an_answer_leaves_it_unscored(broken: str) -> None:
    install_parrot()
    install_strict(f"""
    def score(self, question, trial_id, answer):
        if answer: {broken}
        return Score(trial=trial_id, scorer="strict", scorer_version=1, value=0.0, verdict="wrong")
""")
    ran = called("run", 'scorer = "strict"')
    assert isinstance(ran.exception, SystemExit | None), ran.exception
    with Store(Path("runs/plan.sqlite")) as store:
        (score,) = [store.scores(trace.trial.id)[0] for trace in store.traces()]
    assert score.verdict == "unscored"
    assert score.reason.startswith("the scorer broke: ")


def test_a_scorer_that_cannot_be_closed_is_warned_of() -> None:
    install_parrot()
    install_strict(OPENED.format(open="pass", close="raise ValueError('no luck')"))
    ran = called("run", 'scorer = "strict"')
    assert ran.exit_code == 0, ran.output
    assert f"Warning: {STRICT} cannot be closed: ValueError: no luck" in unfolded(ran.output)
    assert f"note {STRICT} cannot be closed" in unfolded(called("doctor", 'scorer = "strict"').output)
