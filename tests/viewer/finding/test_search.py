"""Searches of real stores."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.traces.samples import MODEL, NONE, begun, run
from tests.viewer.finding.stores import PAGE, answered, called, failed, question, recorded, said, trial

from toolablate.analysis.found import Found
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Usage
from toolablate.traces.store import Recorder
from toolablate.viewer.finding.query import parse
from toolablate.viewer.finding.store_texts import StoreTexts
from toolablate.viewer.finding.text_index import CALLS, TextIndex

FLIPPED, KEPT, CHINESE, LONG = (
    question("flipped", "Which logarithm is meant?", "maths"),
    question("kept"),
    question("chinese", "求对数函数的导数", "maths"),
    question("long"),
)
QUESTIONS = (FLIPPED, KEPT, CHINESE, LONG)
HOSTILE = "<script>alert(1)</script> \x1b[31m\u202e \ud83d half \x00 nul"

Ask = Callable[..., Found]


def filled(path: Path) -> Path:
    trials = [
        (trial(FLIPPED), [said("The natural logarithm."), answered("A")], 1.0),
        (
            trial(FLIPPED, tools=True),
            [
                said("I will compute it.", reasoning="Perhaps base ten"),
                called("python", "import math\nprint(math.log(0))", "ValueError: math domain error", "error"),
                called("python", "print(1)", "1"),
                answered("It is base ten: B"),
            ],
            0.0,
        ),
        (trial(KEPT), [answered("A")], 1.0),
        (trial(KEPT, tools=True), [called("python", "math.log10(5)", "0.69 domain"), answered("A")], 1.0),
        (trial(CHINESE), [answered("函数的对数")], 1.0),
        (trial(CHINESE, tools=True), [said("先求对数函数，再求导"), answered("导数是1/x")], 0.0),
        (trial(LONG), [answered(HOSTILE)], 1.0),
        (
            trial(LONG, tools=True),
            [called("browser_open", "u", PAGE), called("browser_open", "v", PAGE), answered("A")],
            1.0,
        ),
    ]
    asyncio.run(recorded(path, trials, QUESTIONS))
    return path


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> StoreTexts:
    folder = tmp_path_factory.mktemp("texts")
    found = StoreTexts(filled(folder / "s.sqlite"), TextIndex.open(folder / "texts"), baseline="none")
    found.refresh()
    return found


@pytest.fixture
def ask(texts: StoreTexts) -> Ask:
    def asked(query: str, **more: object) -> Found:
        found = texts.find(parse(query), **more)  # type: ignore[arg-type]
        assert found is not None
        return found

    return asked


def hits(found: Found) -> set[tuple[str, str]]:
    return {(hit.question, hit.condition) for hit in found.hits}


TOOLS = "python"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("natural", {("flipped", "none")}),
        ("logarithm", {("flipped", "none")}),
        ("question:logarithm", {("flipped", "none"), ("flipped", TOOLS)}),
        ('question:"对数"', {("chinese", "none"), ("chinese", TOOLS)}),
        ("math domain", {("flipped", TOOLS), ("kept", TOOLS)}),
        ('"math domain"', {("flipped", TOOLS)}),
        ("code:math output:domain", {("flipped", TOOLS), ("kept", TOOLS)}),
        ("tool:python status:error log", {("flipped", TOOLS)}),
        ("tool:python status:error print", {("flipped", TOOLS)}),
        ("tool:python status:ok domain", {("kept", TOOLS)}),
        ("tool:python", {("flipped", TOOLS), ("kept", TOOLS)}),
        ("Python", {("flipped", TOOLS), ("kept", TOOLS)}),
        ("browser_open OR 函数 -answer:函数", {("long", TOOLS), ("chinese", TOOLS)}),
        ("brows* 1859 -python", {("long", TOOLS)}),
        ("python status:error", {("flipped", TOOLS)}),
        ("browser", set()),
        ("-tool:python condition:python", {("chinese", TOOLS), ("long", TOOLS)}),
        ("tool:python OR tool:browser_open status:ok", {("flipped", TOOLS), ("kept", TOOLS), ("long", TOOLS)}),
        ("log*", {("flipped", "none"), ("flipped", TOOLS), ("kept", TOOLS)}),
        ("log* -code:log", {("flipped", "none"), ("kept", TOOLS)}),
        ("对数", {("chinese", "none"), ("chinese", TOOLS)}),
        ("对数函数", {("chinese", TOOLS)}),
        ("函数 -answer:函数", {("chinese", TOOLS)}),
        ('reply:"base ten"', {("flipped", TOOLS)}),
        ('answer:"base ten"', {("flipped", TOOLS)}),
        ('"domain error 1"', set()),
        ("page:Zürich OR page:zurich", {("long", TOOLS)}),
        ("output:1859", {("long", TOOLS)}),
        ('page:"1859 the treaty"', {("long", TOOLS)}),
        ("id:kept answer:a", {("kept", "none"), ("kept", TOOLS)}),
        ("model:gpt-x 1859", {("long", TOOLS)}),
        ("model:gpt* condition:none script", {("long", "none")}),
        ("nul half", {("long", "none")}),
        (r"/math\.log\d+/", {("kept", TOOLS)}),
        (r"code:/LOG\(0\)/", {("flipped", TOOLS)}),
        (r"status:error /log|zurich/", {("flipped", TOOLS)}),
        (r"/treaty of (zurich|rome)/ -tool:python", {("long", TOOLS)}),
        (r"-/a/ condition:none", {("chinese", "none")}),
        (r"/<script>/ OR 对数", {("long", "none"), ("chinese", "none"), ("chinese", TOOLS)}),
        (r"question:/derivative|导数/ -answer:/\d/", {("chinese", "none")}),
        ("repeated prompt", set()),
    ],
)
def test_queries_find_trials(ask: Ask, query: str, wanted: set[tuple[str, str]]) -> None:
    found = ask(query)
    assert hits(found) == wanted
    assert found.all.hits == len(wanted)
    assert found.questions == len({name for name, _ in wanted})
    for hit in found.hits:
        for snippet in hit.snippets:
            assert len(snippet.before) + len(snippet.match) + len(snippet.after) < 600


def test_snippets_name_the_event_and_the_place_of_the_match(ask: Ask) -> None:
    (hit,) = ask("status:error log").hits
    (snippet,) = hit.snippets
    assert (snippet.event, snippet.field, snippet.match) == (1, "code", "log")
    assert snippet.before.endswith("print(math.")
    assert snippet.after.startswith("(0))")
    assert hit.flip == "right_to_wrong"
    assert [(each.field, each.match) for each in ask("python status:error").hits[0].snippets] == [("code", "")]
    (page,) = ask("page:1859").hits
    assert [(each.event, each.field) for each in page.snippets] == [(0, "page")]


def test_words_of_a_question_are_no_hits_and_are_told_apart(ask: Ask) -> None:
    found = ask("meant")
    assert (found.all.hits, found.asked, found.asked_total) == (0, ("flipped",), 1)
    assert ask("answer:meant").asked_total == 0


def test_counts_by_condition_set_flips_beside_the_rest(ask: Ask) -> None:
    found = ask("base OR 求")
    none, python = found.by_condition
    assert (none.condition, python.condition) == ("none", "python")
    assert none.p is None
    assert (python.flips.hits, python.flips.trials, python.rest.hits, python.rest.trials) == (2, 2, 0, 2)
    assert python.p == python.corrected == pytest.approx(1 / 3)
    assert python.expected == 0.0


def test_where_narrows_the_trials_that_are_searched(ask: Ask) -> None:
    found = ask("log*", where={"flip": "right", "domain": "maths"})
    assert hits(found) == {("flipped", TOOLS)}
    assert found.all.trials == 2
    with pytest.raises(InputError, match="no trial has that"):
        ask("log", where={"domain": "law"})
    with pytest.raises(InputError, match="relation"):
        ask("log", where={"relation": "sign"})
    with pytest.raises(InputError, match="metadata"):
        ask("log", where={"metadata.x": "sign"})


def test_mechanisms_are_those_that_are_given(texts: StoreTexts) -> None:
    flipped = trial(FLIPPED, tools=True).id
    found = texts.find(parse("mechanism:budget"), mechanisms={flipped: "budget"})
    assert found is not None
    assert [hit.trial for hit in found.hits] == [flipped]


@pytest.mark.parametrize("query", ["status:eror x", "tool:pyhton x", "condition:nine", "model:gpt", "mechanism:x"])
def test_a_value_that_there_is_not_is_an_error_that_says_which_there_are(ask: Ask, query: str) -> None:
    with pytest.raises(InputError) as raised:
        ask(query)
    assert raised.value.code == "unknown_value"
    assert "there are" in raised.value.hint


def test_a_pattern_reads_so_many_trials_and_counts_those_alone(ask: Ask) -> None:
    whole, part = ask("/./"), ask("/./", most_read=3)
    assert (whole.read, whole.candidates, whole.all.hits) == (8, 8, 8)
    assert (part.read, part.candidates, part.all.hits, part.all.trials) == (3, 8, 3, 3)
    assert sum(row.all.trials for row in part.by_condition) == 3
    lettered = ask(r"/math\.log/", most_read=1)
    assert (lettered.candidates, lettered.read) == (3, 1)


def test_a_hostile_pattern_takes_no_more_time_than_any(tmp_path: Path) -> None:
    path, evil = tmp_path / "s.sqlite", "a" * 100_000 + "!"
    asyncio.run(recorded(path, [(trial(KEPT), [answered(evil)], 0.0)], [KEPT]))
    found = searched(path, tmp_path, "/(a+)+b/")
    assert found.all.hits == 0


def searched(path: Path, folder: Path, query: str) -> Found:
    texts = StoreTexts(path, TextIndex.open(folder / "texts"), baseline="none")
    texts.refresh()
    found = texts.find(parse(query))
    assert found is not None
    return found


def test_new_trials_are_taken_in_and_old_traces_forgotten(tmp_path: Path) -> None:
    path, broken = (
        tmp_path / "s.sqlite",
        [
            failed("connection reset"),
        ],
    )
    asyncio.run(recorded(path, [(trial(KEPT), broken, None)], [KEPT], outcome="failed"))
    assert hits(searched(path, tmp_path, "status:failure reset")) == {("kept", "none")}
    asyncio.run(
        recorded(
            path,
            [(trial(KEPT), [answered("reached")], 1.0), (trial(LONG), [answered("later")], 1.0)],
            [KEPT, LONG],
            identity="run-2",
        )
    )
    assert hits(searched(path, tmp_path, "reset")) == set()
    assert hits(searched(path, tmp_path, "reached OR later")) == {("kept", "none"), ("long", "none")}


def test_a_store_that_is_being_written_is_searched_as_far_as_it_is(tmp_path: Path) -> None:
    path, more = filled(tmp_path / "s.sqlite"), trial(KEPT, repeat=1)

    async def during() -> tuple[Found, Found, Found]:
        with Recorder(path) as recorder:
            recorder.plan(run("run-2"), [KEPT], [MODEL], [NONE], [more])
            session = await begun(recorder, more)
            session.record(answered("unheard of"))
            running = searched(path, tmp_path, "unheard")
            await session.finish("answered", 1.0, Usage(), None)
            return running, searched(path, tmp_path, "unheard"), searched(path, tmp_path, "natural")

    running, ended, older = asyncio.run(during())
    assert (running.all.hits, ended.all.hits, older.all.hits) == (0, 1, 0)
    assert ended.all.trials == 1


def test_what_is_not_indexed_yet_is_told(tmp_path: Path) -> None:
    texts = StoreTexts(filled(tmp_path / "s.sqlite"), TextIndex.open(tmp_path / "texts"), baseline="none")
    assert texts.find(parse("x")) is None
    texts.refresh()
    with texts.index.writing() as connection:
        connection.execute("UPDATE entries SET live = 0 WHERE number <= 3")
    found = texts.find(parse("a"))
    assert found is not None
    assert (found.unindexed, found.all.trials) == (3, 5)


def test_another_store_at_the_same_place_replaces_all(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    searched(path, tmp_path, "natural")
    path.unlink()
    asyncio.run(recorded(path, [(trial(KEPT), [answered("elsewhere")], 1.0)], [KEPT]))
    assert hits(searched(path, tmp_path, "elsewhere")) == {("kept", "none")}
    assert hits(searched(path, tmp_path, "natural")) == set()


def test_a_long_text_is_indexed_once(texts: StoreTexts) -> None:
    with texts.index.reading() as connection:
        assert connection.execute("SELECT count(*) FROM shared").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM places").fetchone() == (1,)
        kinds = {row[0] % CALLS for row in connection.execute("SELECT document FROM documents")}
    assert 0 in kinds
    assert len(kinds) == 4


@pytest.mark.parametrize("damage", [b"not a database at all" * 400, b""])
def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    path = filled(tmp_path / "s.sqlite")
    (tmp_path / "texts").write_bytes(damage)
    assert searched(path, tmp_path, "natural").all.hits == 1


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    searched(path, tmp_path, "natural")
    with sqlite3.connect(tmp_path / "texts") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert searched(path, tmp_path, "natural").all.hits == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="index of texts"):
        TextIndex.open(tmp_path / "file" / "texts")
