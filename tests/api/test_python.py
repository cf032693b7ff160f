"""`import toolablate`: what a researcher does in a script, in a notebook's loop, and with what is wrong."""

import asyncio
import re
import shutil
import sqlite3
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.servers.chat_server import ChatServer, reply

import toolablate as tb
from toolablate.formats import frames
from toolablate.traces.errors import InputError, StoreError

QUESTIONS = [
    {"id": f"q{number}", "prompt": f"What is {number} + {number}?", "answer": 2 * number, "domain": "ab"[number % 2]}
    for number in range(6)
]
SIMULATED = {"provider": "simulated", "name": "sim", "playbook": "builtin"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def plan(folder: Path, **keys: Any) -> tb.Plan:
    usual: dict[str, Any] = {
        "questions": {"file": "builtin", "limit": 6},
        "models": [SIMULATED],
        "conditions": ["none", tb.condition("brief", prompt="Be brief.")],
    }
    return tb.Plan(**{**usual, **keys}, folder=folder)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tb.Store:
    folder = tmp_path_factory.mktemp("python")
    done = tb.run(plan(folder, repeats=2, conditions=["none", {"name": HOSTILE, "prompt": HOSTILE}]), progress=False)
    assert done.complete
    assert (done.planned, done.missing, done.stopped) == (24, 0, False)
    return done.store


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def inert(text: str) -> None:
    for tag, given in Tags(text).found:
        assert tag not in {"script", "link", "object", "embed", "base", "form"}, tag
        assert not any(name.startswith("on") for name in given), given
        assert all((given.get(name) or "data:").startswith(("data:", "#")) for name in ("src", "href"))
        if tag == "iframe":
            assert given["sandbox"] is None, "a sandbox that allows nothing"
            inert(str(given["srcdoc"]))


def test_a_run_is_resumed_filtered_and_changed_by_the_same_words(tmp_path: Path) -> None:
    own = plan(tmp_path)
    first = tb.run(own, limit=2, condition="none", progress=False)
    assert (first.planned, first.json["missing"]) == (2, 0)
    assert tb.run(own, limit=2, progress=False).launched.done_before == 2
    again = tb.run(own, limit=1, set={"models.sim.seed": 5, "repeats": 3}, progress=False)
    assert again.planned == 6
    assert "sim" in repr(again)
    assert first.store.path == tmp_path / "runs/plan.sqlite"
    # What a replay reads again is the plan as it was run.
    with sqlite3.connect(first.store.path) as opened:
        assert opened.execute("SELECT count(*) FROM runs").fetchone() == (3,)


def test_questions_models_and_conditions_are_given_as_they_are(tmp_path: Path, chat_server: ChatServer) -> None:
    pandas = pytest.importorskip("pandas")
    chat_server.answers(lambda body: reply("Answer: 2"))
    model = {"provider": "openai", "name": "m", "endpoint": chat_server.url}
    for given in (QUESTIONS, pandas.DataFrame(QUESTIONS)):
        own = tb.Plan(given, [model], ["none", tb.condition("brief", prompt="Be brief.")], folder=tmp_path)
        done = tb.run(own, progress=False)
        assert done.planned == 12
    assert len(list((tmp_path / "runs").glob("plan.questions-*.jsonl"))) == 1
    found = done.store.trials()
    assert set(found[found.value == 1.0].question) == {"q1"}
    assert set(found.condition) == {"none", "brief"}
    assert list(done.store.questions().domain[:2]) == ["a", "b"]


def test_frames_have_the_columns_of_exports(store: tb.Store) -> None:
    pytest.importorskip("pandas")
    trials, scores, questions, events = store.trials(), store.scores(), store.questions(), store.events()
    assert len(trials) == len(scores) == 24
    assert set(trials.trial) == set(scores.trial) == set(events.trial)
    assert len(questions) == 6
    assert str(trials.condition.dtype) == "category"
    assert trials.value.isin([0.0, 1.0]).all()
    assert str(trials.started_at.dt.tz) == "UTC"
    assert set(events[events.kind == "answer"].trial) == set(trials.trial)
    identity = trials.trial[0]
    assert set(store.trial(identity[:10]).events().trial) == {identity}
    assert set(store.events(condition="none").trial) == set(trials[trials.condition == "none"].trial)
    assert len(store.trials(run="latest")) == 24
    assert list(store.status().planned) == [12, 12]
    assert store.verify().ok
    table = store.arrow("scores")
    assert (table.num_rows, table.column_names[:2]) == (24, ["trial", "scorer"])
    assert store.attributions().empty
    with pytest.raises(InputError, match=r"table: should be Literal.*; found 'labels'"):
        store.arrow("labels")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="arrow 'trials': there is no word 'condition'") as refused:
        store.arrow("trials", condition="python")
    assert refused.value.hint == "there are run, scorer"


def test_frames_without_arrow_or_pandas(store: tb.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = store.trials()
    missing: set[str] = {"pyarrow"}
    real = frames.find_spec
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name in missing else real(name))
    plain = store.trials()
    assert plain.columns.tolist() == whole.columns.tolist()
    assert plain.trial.tolist() == whole.trial.tolist()
    missing |= {"pandas", "polars"}
    with pytest.raises(InputError, match=r"neither pandas nor polars is installed\n  pip install pandas"):
        store.trials()
    with pytest.raises(InputError, match="polars is not installed"):
        store.trials(library="polars")


def test_polars_where_it_is(store: tb.Store) -> None:
    polars = pytest.importorskip("polars")
    assert isinstance(store.trials(library="polars"), polars.DataFrame)
    assert store.compare("none").to_frame("polars").height == 1
    assert store.events(library="polars").height == len(store.events())


def test_a_comparison_shows_itself_and_nothing_in_it_acts(store: tb.Store) -> None:
    found = store.compare("none", by="domain")
    assert (found.frame.condition == HOSTILE).all()
    assert found.frame.by.isna().sum() == 1
    assert found.json["comparisons"][0]["baseline"] == "none"
    html = found._repr_html_()
    inert(html)
    tags = [tag for tag, _ in Tags(html).found]
    assert tags.count("table") == 1
    assert tags.count("tr") == 1 + len(found.rows)
    assert tags.count("img") == 1
    assert "SIMULATED" in html
    assert "Δ points" in repr(found)
    with pytest.raises(InputError, match="There is no ladder"):
        store.ladder()
    assert len(store.flips()) == found.frame.right_to_wrong[0] + found.frame.wrong_to_right[0]
    with pytest.raises(InputError, match="There is no condition 'nne'"):
        store.compare("nne")


def test_a_trace_is_shown_inert_and_offline(store: tb.Store, tmp_path: Path) -> None:
    trials = store.trials()
    trial = store.trial(trials[trials.condition == HOSTILE].trial.iloc[0][:12])
    shown = trial.show()
    inert(shown._repr_html_())
    inert(trial._repr_html_())
    assert "default-src 'none'" in shown.html
    assert not re.search(r"(?:src|href)=\"?https?:", shown.html)
    assert shown.save(tmp_path / "t.html").read_text(encoding="utf-8") == shown.html
    assert trial.id[:10] in repr(trial)
    assert trial.trace.outcome == "answered"
    with pytest.raises(InputError):
        store.trial("zz")


@pytest.mark.deep
def test_attributions_and_reports(tmp_path: Path) -> None:
    cases = Path(__file__).parents[2] / "examples/lpfqa_cases"
    # A replay reads the plan again, by the place of the store that it names.
    shutil.copytree(cases, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("runs"))
    done = tb.run(tmp_path / "plan.toml", set={"repeats": 1, "conditions": ["none", "python"]}, progress=False)
    found = tb.attribute(done.store)
    assert set(found.frame.kind) == {"effect", "term", "mechanism"}
    assert found.json.keys() >= {"decompositions", "trials"}
    assert not found.undone
    ladder = done.store.ladder()
    assert set(ladder.frame.kind) == {"contrast", "total"}
    assert ladder.json["waterfalls"]
    inert(ladder._repr_html_())
    inert(found._repr_html_())
    replayed = tb.attribute(
        done.store, replay=True, max_cost=5, failures=0.5, successes=0, rollouts=1, samples=1, progress=False
    )
    assert replayed.report.design is not None
    assert len(replayed.trials) >= len(found.trials)
    trials = done.store.trials()
    forked = tb.replay(
        done.store.trial(trials[trials.condition == "python"].trial.iloc[0]), 0, say="Think.", progress=False
    )
    assert (forked.missing, len(forked.trials), forked.trials[0].trace.outcome) == (0, 1, "answered")
    assert forked.json["trials"]
    with pytest.raises(InputError, match="a replay changes one thing"):
        tb.replay(forked.trials[0], 1, say="Think.", drop=True)
    written = tb.report(done.store, traces=0)
    assert written == tmp_path / "runs/lpfqa_cases.html"
    assert written.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(InputError, match=r"failures: .*less than or equal to 1"):
        tb.attribute(done.store, failures=2)
    with pytest.raises(InputError, match="max_cost: should be US dollars"):
        tb.attribute(done.store, replay=True, max_cost=-1)


async def test_both_kinds_of_calls_work_where_a_loop_runs(tmp_path: Path) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.001)

    task = asyncio.create_task(beat())
    done = await tb.run_async(plan(tmp_path), progress=False)
    assert done.complete
    assert beats > 1
    task.cancel()
    assert tb.run(plan(tmp_path), progress=False).launched.done_before == done.planned
    assert not (await tb.attribute_async(done.store)).undone
    with pytest.raises(TypeError, match="unexpected keyword argument 'modl'"):
        await tb.attribute_async(done.store, modl="x")


async def test_a_run_that_is_cancelled_ends_cleanly_and_goes_on(tmp_path: Path, chat_server: ChatServer) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def answer(body: dict[str, Any]) -> Any:
        loop.call_soon_threadsafe(begun.set)
        return reply("Answer: 2")

    chat_server.answers(answer)
    model = {"provider": "openai", "name": "m", "endpoint": chat_server.url, "concurrency": 1}
    own = tb.Plan(QUESTIONS, [model], ["none"], folder=tmp_path, repeats=50)
    task = asyncio.create_task(tb.run_async(own, progress=False))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    store = tb.open(tmp_path / "runs/plan.sqlite")
    status = store.status()
    assert status.running[0] == 0
    assert 0 < status.answered[0] < 300


async def test_plans_with_keys_of_their_own_do_not_run_at_once(tmp_path: Path, chat_server: ChatServer) -> None:
    chat_server.answers(lambda body: reply("Answer: 2"))
    plans = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").write_text(f"OF_A_PLAN=key-of-{name}\n")
        model = {"provider": "openai", "name": name, "endpoint": chat_server.url, "api_key_env": "OF_A_PLAN"}
        plans.append(tb.Plan(QUESTIONS, [model], ["none"], folder=tmp_path / name))
    came = await asyncio.gather(*(tb.run_async(each, progress=False) for each in plans), return_exceptions=True)
    refused = [number for number, each in enumerate(came) if isinstance(each, InputError)]
    if refused:  # Otherwise one had ended before the other began.
        assert "has not the same OF_A_PLAN" in str(came[refused[0]])
        await tb.run_async(plans[refused[0]], progress=False)
    requests = zip(chat_server.requests, chat_server.headers, strict=True)
    asked = {(body["model"], headers["authorization"]) for body, headers in requests}
    assert asked == {("one", "Bearer key-of-one"), ("two", "Bearer key-of-two")}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: plan(folder, repeat=2), r"^Plan: repeat: unknown key; did you mean 'repeats'\?"),
        (lambda folder: plan(folder, models=[{"provider": "simulated"}]), r"^Plan: models\[0\]\.name: missing"),
        (lambda folder: plan(folder, models=SIMULATED), r"^Plan: models: should be a list"),
        (lambda folder: plan(folder, conditions="none"), r"^Plan: conditions: should be a list; found 'none'"),
        (lambda folder: plan(folder, questions=["q"]), r"^Plan: questions: found 'q'\n  a file, a table, or questions"),
        (lambda folder: plan(folder, conditions=[object()]), r"^plan: found object, where a plan has texts"),
        (lambda folder: tb.run(folder / "none.toml"), r"^there is no plan at .*none.toml"),
        (lambda folder: tb.run(plan(folder), set={"models.9.x": 1}), r"^set models.9.x: models has no item '9'"),
        (lambda folder: tb.run(plan(folder), condition="nne"), r"^condition: the plan has no condition 'nne'"),
        (lambda folder: tb.run(plan(folder), limit=0), r"^limit: should be 1 or more; found 0"),
        (lambda folder: tb.run(plan(folder), limit="3"), r"^limit: should be int \| None; found '3'"),
        (lambda folder: tb.run(plan(folder), limit=True), r"^limit: should be int \| None; found True"),
        (lambda _: tb.run(None), r"^plan: should be Plan \| str \| PathLike\[str\]; found None"),
        (lambda _: asyncio.run(tb.run_async(5)), r"^plan: should be Plan"),
        (
            lambda folder: tb.run(plan(folder), set=["a=1"]),
            r"^set: should be Mapping\[str, Any\] \| None; found \['a=1'\]",
        ),
        (lambda _: tb.attribute("s", model=5), r"^model: should be str \| Sequence\[str\]; found 5"),
        (lambda _: asyncio.run(tb.attribute_async("s", plan=5)), r"^plan: should be str"),
        (lambda _: tb.replay("t", 3), r"^trial: should be Trial; found 't'"),
        (lambda _: tb.Store("s").trials(library="numpy"), r"There is no store"),
    ],
)
def test_what_is_wrong_is_an_exception_with_its_key(tmp_path: Path, make: Any, said: str) -> None:
    with pytest.raises(tb.ToolablateError, match=said):
        make(tmp_path)
    assert not (tmp_path / "runs").exists()


def test_a_store_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store"):
        tb.open(tmp_path / "s.sqlite")
