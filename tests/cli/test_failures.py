"""Wrong answers of a store in groups, as a user asks for them."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.experiments.judged import judge_at
from tests.servers.chat_server import ChatServer, reply
from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, attempt, begun, plan, run, score

from toolablate.cli import group
from toolablate.traces.records import Answer, Score, Trial, Usage
from toolablate.traces.store import Recorder


def score_of(trial: Trial) -> Score:
    """Without tools q3 alone is wrong; with them q0 and q1 are, and of q2 nothing can be read."""
    number = [question.identity() for question in QUESTIONS].index(trial.question)
    if trial.condition == NONE.identity():
        return score(trial, 0.0 if number == 3 else 1.0).model_copy(update={"extracted": ("B",)} if number == 3 else {})
    if number == 2:
        return score(trial, 0.0).model_copy(update={"verdict": "unparsed", "extracted": ()})
    return score(trial, 0.0 if number < 2 else 1.0).model_copy(update={"extracted": ("B",) if number else ("A", "B")})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("failing") / "store.sqlite"

    async def fill() -> None:
        with Recorder(path) as recorder:
            planned = plan(recorder)
            for trial in planned:
                await attempt(recorder, trial, outcome="answered")
            await recorder.score([score_of(trial) for trial in planned])

    asyncio.run(fill())
    return path


def failures(store: Path, *options: str) -> Result:
    return CliRunner().invoke(group, ["failures", str(store), "--baseline", "none", *options])


def found(store: Path, *options: str) -> dict[str, object]:
    done = failures(store, "--json", *options)
    assert done.exit_code == 0, done.output
    said: dict[str, object] = json.loads(done.output)
    return said


def counts(store: Path, *options: str) -> dict[tuple[str, ...], int]:
    groups = found(store, *options)["groups"]
    assert isinstance(groups, list)
    return {tuple(each["values"]): each["wrong"] for each in groups}


def test_they_are_grouped_by_any_key_and_by_several(store: Path) -> None:
    assert counts(store) == {("option",): 2, ("more",): 1, ("unreadable",): 1}
    assert counts(store, "--by", "flip,condition") == {("right", "python"): 3, ("", "none"): 1}
    assert counts(store, "--by", "model") == {(MODEL.name,): 4}
    assert counts(store, "--by", "verdict", "--where", "condition=python") == {("wrong",): 2, ("unparsed",): 1}


def test_filters_combine_and_trials_are_listed(store: Path) -> None:
    said = found(store, "--where", "flip=right", "--where", "relation=more", "--list")
    assert isinstance(said["failures"], list)
    (only,) = said["failures"]
    assert (only["question"], only["condition"], only["answer"], only["expected"]) == ("q0", CODE.name, "A; B", "A")
    page = failures(store, "--list", "--limit", "2").output
    assert "2 wrong trials; 2 more" in page


def test_so_many_of_each_group_are_drawn_by_the_seed(store: Path) -> None:
    drawn = []
    for seed in range(8):
        said = found(store, "--by", "condition", "--sample", "2", "--seed", str(seed))["failures"]
        assert isinstance(said, list)
        chances = {each["condition"]: each["inclusion_probability"] for each in said}
        assert (len(said), chances) == (3, {"none": 1.0, "python": pytest.approx(2 / 3)})
        drawn.append(tuple(sorted(each["question"] for each in said if each["condition"] == "python")))
    assert len(set(drawn)) == 3
    assert found(store, "--sample", "1", "--seed", "3") == found(store, "--sample", "1", "--seed", "3")


def test_mechanisms_are_those_of_attribute(store: Path) -> None:
    said = counts(store, "--by", "mechanism", "--where", "condition=python")
    assert sum(said.values()) == 3
    assert ("",) not in said


def test_shares_have_intervals_over_questions(store: Path) -> None:
    groups = found(store)["groups"]
    assert isinstance(groups, list)
    for each in groups:
        low, high = each["ci95"]
        assert 0 < low < each["share"] < high < 1
    (everything,) = found(store, "--by", "model")["groups"]  # type: ignore[misc]
    assert (everything["share"], everything["ci95"][1]) == (1.0, 1.0)
    assert "95 %" in failures(store).output


def test_the_page_counts_what_is_wrong_by_condition(store: Path) -> None:
    page = failures(store).output
    assert "option: another option" in page
    assert "4 of 8 scored trials are wrong." in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by", "relatoin"], "Failures have no 'relatoin'"),
        (["--where", "relation"], "is no KEY=VALUE"),
        (["--where", "relation=sign"], "no wrong trial has that"),
        (["--where", "metadata.field=x"], "Failures have no 'metadata.field'"),
        (["--scorer", "no-such"], "no-such"),
    ],
)
def test_a_mistake_is_told(store: Path, options: list[str], said: str) -> None:
    done = failures(store, *options)
    assert (done.exit_code != 0, said in str(done.exception)) == (True, True)


def two_ways(path: Path) -> list[Trial]:
    """Two ways to go wrong, in two times 15 replies; one more says nothing of either."""
    ways = ("the logarithm was taken twice here", "rows of the table were dropped silently")
    questions = tuple(QUESTIONS[0].model_copy(update={"id": f"w{number}"}) for number in range(31))
    trials = [
        Trial(question=each.identity(), model=MODEL.identity(), condition=NONE.identity(), repeat=0)
        for each in questions
    ]

    async def fill() -> None:
        with Recorder(path) as recorder:
            recorder.plan(run("run-1"), questions, (MODEL,), (NONE,), trials)
            for number, trial in enumerate(trials):
                session = await begun(recorder, trial)
                text = f"{ways[number % 2]}, note{number} aside{number % 7}" if number < 30 else "no idea"
                session.record(Answer(at=1.0, text=text))
                await session.finish("answered", 1.0, Usage(), 0.0)
            await recorder.score([score(trial, 0.0) for trial in trials])

    asyncio.run(fill())
    return trials


@pytest.fixture
def vectors() -> Iterator[tuple[str, list[list[str]]]]:
    """The address of an embedding endpoint, and the texts that it was asked for; the second request fails."""
    asked: list[list[str]] = []

    class Embedding(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            asked.append(texts)
            made = [[1.0, 0.1 + len(each) / 1e4] if "log" in each else [0.1 + len(each) / 1e4, 1.0] for each in texts]
            data = [{"index": place, "embedding": each} for place, each in enumerate(made)]
            body = json.dumps({"data": data[::-1] if len(asked) != 2 else data[1:]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Embedding) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
        server.shutdown()
        thread.join()


def test_an_embedding_endpoint_groups_and_is_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: tuple[str, list[list[str]]]
) -> None:
    monkeypatch.setattr("toolablate.experiments.embedded_texts.AT_ONCE", 25)
    address, asked = vectors
    path = tmp_path / "ways.sqlite"
    two_ways(path)
    plan_file = tmp_path / "plan.toml"
    plan_file.write_text(f'[embeddings]\nendpoint = "{address}"\nmodel = "m"\nusd_per_million_tokens = 1e6\n')
    by_meaning = ("--by", "cluster", "--plan", str(plan_file))
    assert "cost" in str(failures(path, *by_meaning, "--max-cost", "1").exception)
    assert asked == []
    broken = failures(path, *by_meaning)
    assert "not one vector" in str(broken.exception)
    made = failures(path, *by_meaning, "--json")
    assert made.exit_code == 0, made.output
    assert [len(each) for each in asked] == [25, 6, 6], "what was made before the failure is not asked for again"
    clusters = json.loads(made.stdout)["clusters"]
    assert sorted(each["size"] for each in clusters) == [15, 16]
    assert {each["called"] for each in clusters} == {None}
    assert failures(path, *by_meaning).exit_code == 0
    assert len(asked) == 3
    plan_file.write_text("[runner]\nattempts = 1\n")
    assert "neither" in str(failures(path, *by_meaning).exception)


def test_clusters_and_trials_alike_are_of_what_trials_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat_server: ChatServer
) -> None:
    """A judge names them, once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "ways.sqlite"
    trials = two_ways(path)
    said = found(path, "--by", "cluster")
    assert isinstance(said["clusters"], list)
    assert sorted(each["size"] for each in said["clusters"]) in ([15, 15], [15, 16])
    assert {term for each in said["clusters"] for term in each["terms"]} > {"logarithm", "table"}
    assert all(each["stability"] >= 0.6 for each in said["clusters"])
    assert "stability" in failures(path, "--by", "cluster").output
    near = found(path, "--like", trials[0].id[:12], "--limit", "10")["failures"]
    assert isinstance(near, list)
    assert {int(each["question"][1:]) % 2 for each in near} == {0}
    assert len(near) == 10
    (group_of,) = {each["name"] for each in said["clusters"] if "logarithm" in each["terms"]}
    assert len(counts(path, "--by", "question", "--where", f"cluster={group_of}")) >= 15

    def names(request: dict[str, object]) -> object:
        return reply("**A log twice**" if "logarithm" in str(request["messages"]) else "two\nlines")

    chat_server.answers(names)
    plan_file = tmp_path / "plan.toml"
    plan_file.write_text(f"conditions = ['none']\n[runner]\nattempts = 1\n{judge_at(chat_server.url)}")
    naming = ("--by", "cluster", "--plan", str(plan_file))
    first = failures(path, *naming, "--json")
    assert first.exit_code == 0, first.output
    called = {each["name"]: each["called"] for each in json.loads(first.stdout)["clusters"]}
    assert sorted(map(str, called.values())) == ["A log twice", "None"]
    assert called[group_of] == "A log twice"
    asked = len(chat_server.requests)
    again = failures(path, *naming)
    assert (again.exit_code, len(chat_server.requests)) == (0, asked), "all of it was paid for already"
    assert "A log twice" in again.output
    assert (tmp_path / "ways.sqlite.clusters.jsonl").exists()
    for options in (("--by", "relation", "--plan", str(plan_file)), (*naming, "--judge", "nobody")):
        assert failures(path, *options).exit_code != 0
