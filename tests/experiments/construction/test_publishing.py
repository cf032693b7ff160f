"""What a build publishes, and what its output may have in it."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.experiments.construction import killed_publishing
from tests.experiments.construction.writing import ALONE, PAIRS, Writer, pipeline_of, run
from tests.servers.chat_server import ChatServer

from toolablate.benchmarks.lpfqa.published import load_lpfqa
from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.experiments.construction.building import seen_so_far
from toolablate.experiments.construction.funnel import funnel_of
from toolablate.experiments.construction.pipeline import load_pipeline
from toolablate.experiments.construction.publishing import licences_told, publish, question_of
from toolablate.experiments.construction.stages import Content
from toolablate.experiments.construction.thread_worlds import thread_worlds
from toolablate.experiments.construction.workbench import Workbench
from toolablate.tools import CorpusPages, CorpusSearch, SearchQuery, open_corpus
from toolablate.traces.errors import InputError


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_has_a_published_name_and_is_no_file_of_its_own_is_refused(
    kind: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    mine = tmp_path / "published/questions.jsonl"
    mine.parent.mkdir()
    if kind == "folder":
        mine.mkdir()
    else:
        mine.symlink_to(path)
    refused = run(path, code=1).exception
    assert isinstance(refused, InputError)
    assert "has other files, such as 'questions.jsonl'" in refused.message
    assert chat_server.requests == []


def test_a_folder_with_other_files_is_refused_before_anything_is_asked(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    (tmp_path / "published").mkdir()
    (tmp_path / "published/notes.txt").write_text("mine", encoding="utf-8")
    refused = run(path, code=1).exception
    assert isinstance(refused, InputError)
    assert "output: " in refused.message
    assert "has other files, such as 'notes.txt'" in refused.message
    assert chat_server.requests == []
    assert [each.name for each in (tmp_path / "published").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("kind", "world", "told"),
    [
        ("questions", 'pages = "book.jsonl"', "worlds.pages: a book's, of statements; questions have worlds.threads"),
        ("statements", "threads = true", "worlds.threads: those of questions; statements have worlds.pages"),
        ("statements", 'pages = "none.jsonl"', "none.jsonl"),
        ("statements", 'pages = "book.jsonl"', "book.jsonl:2: url: is that of an earlier page"),
    ],
)
def test_corpora_that_cannot_be_published_are_refused_first(
    kind: str, world: str, told: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    rows = PAIRS[:1] if kind == "questions" else [{"text": "Coal:\nIt burns.", "discipline": "Mining"}]
    path = pipeline_of(tmp_path, chat_server, rows, f'kind = "{kind}"\n[worlds]\n{world}\n')
    pages = [{"text": f"Page {number}.", "url": f"https://x.example/b.pdf#page={number}"} for number in (1, 2)]
    (tmp_path / "book.jsonl").write_text("\n".join(map(json.dumps, pages)), encoding="utf-8")
    refused = CliRunner().invoke(group, ["build", str(path)]).exception
    assert isinstance(refused, InputError)
    assert told in refused.message
    assert chat_server.requests == []


def test_two_questions_of_one_thread_are_one_document_that_a_search_takes(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    pairs = [{**PAIRS[0], "replies": []}, {**PAIRS[1], "url": f"{PAIRS[0]['url']}/#answer"}, PAIRS[2]]
    run(pipeline_of(tmp_path, chat_server, pairs, f"{ALONE}[worlds]\nthreads = true\n"))
    for name, marked in (("threads", [None, None]), ("falsified_threads", [None, True])):
        path = tmp_path / "published" / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert [row.get("falsified") for row in rows] == marked
        assert all(pair["question"] in rows[0]["text"] for pair in pairs[:2])
        open_corpus(path, cache=tmp_path / "cache")


def test_files_that_a_build_no_longer_makes_are_gone(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    run(pipeline_of(tmp_path, chat_server, PAIRS[:2], f"{ALONE}[worlds]\nthreads = true\n"))
    assert (tmp_path / "published/threads.jsonl").exists()
    run(pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE))
    assert {each.name for each in (tmp_path / "published").iterdir()} == {"questions.jsonl", "lpfqa.jsonl", "card.md"}


def test_the_set_of_another_pipeline_or_workbench_is_not_replaced(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    run(path)
    there, requests = killed_publishing.files_in(tmp_path / "published"), len(chat_server.requests)
    (tmp_path / "statements.jsonl").write_text(json.dumps({"text": "Coal:\nIt burns.", "discipline": "Mining"}))
    text = path.read_text(encoding="utf-8")
    twins = text.replace('"pairs.jsonl"', '"statements.jsonl"\nkind = "statements"')
    same_workbench = 'workbench = "runs/questions.sqlite"\n'
    for name, written in (("second", text), ("twins", twins), ("twins", f"{same_workbench}{twins}")):
        (tmp_path / f"{name}.toml").write_text(written, encoding="utf-8")
        refused = run(tmp_path / f"{name}.toml", code=1).exception
        assert isinstance(refused, InputError)
        assert "published has what another pipeline or workbench published, and would be replaced" in refused.message
        assert refused.hint is not None
        assert f'write `output = "published_{name}"` into {name}.toml, or delete' in refused.hint
    assert len(chat_server.requests) == requests
    # Another build that came first is seen before its set is replaced.
    pipeline = load_pipeline(path)
    with Workbench(Path(pipeline.workbench), write=False) as bench:
        built = seen_so_far(pipeline, bench)
        with pytest.raises(InputError, match="has what another pipeline"):
            publish(pipeline, built, funnel_of(pipeline, built, bench), "another canary")
    assert killed_publishing.files_in(tmp_path / "published") == there
    (tmp_path / "published/card.md").unlink()
    assert isinstance(run(path, code=1).exception, InputError), "questions.jsonl may be anybody's"


@pytest.mark.deep
def test_a_build_that_is_killed_while_it_publishes_leaves_the_old_or_the_new_set(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    pipeline = load_pipeline(pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE))
    run(pipeline.file)
    old = killed_publishing.files_in(tmp_path / "published")
    run(pipeline_of(tmp_path, chat_server, PAIRS[:3], ALONE))
    new = killed_publishing.files_in(tmp_path / "published")
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    # A process of its own: this one has the server's threads, and what has threads cannot fork.
    child = [sys.executable, killed_publishing.__file__, str(pipeline.file), str(tmp_path / "old.json")]
    told = subprocess.run(child, check=True, capture_output=True, text=True).stdout
    found = [json.loads(line) for line in told.splitlines()]
    assert all(each in (old, new) for each in found)
    seen = [each == new for each in found]
    assert seen == sorted(seen)
    assert seen.count(False) > 3
    assert seen.count(True) > 3
    left = {each.name for each in tmp_path.iterdir() if "published" in each.name}
    assert all(re.fullmatch(r"published|\.published\.\w+\.part", name) for name in left), left


def test_the_canary_is_of_one_workbench_and_stays(chat_server: ChatServer, tmp_path: Path) -> None:
    def canary(name: str, pairs: list[dict[str, Any]]) -> str:
        Writer(chat_server)
        (tmp_path / name).mkdir(exist_ok=True)
        run(pipeline_of(tmp_path / name, chat_server, pairs, ALONE))
        card = (tmp_path / name / "published/card.md").read_text(encoding="utf-8")
        (found,) = re.findall("- Canary: `(.+)`", card)
        return found

    # Of two with equal cards, each has its own, also where the items are the same.
    first, second = canary("first", PAIRS[:2]), canary("second", PAIRS[:2])
    assert first != second
    assert canary("first", PAIRS[1:]) == first


def test_rows_have_the_licence_of_their_source(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    licences = ["CC BY-SA 4.0", "", "CC BY-NC 4.0\x1b[31m"]
    pairs = [{**pair, "licence": licence} for pair, licence in zip(PAIRS[:3], licences, strict=True)]
    done = run(pipeline_of(tmp_path, chat_server, pairs, f'{ALONE}\n[card]\nlicence = "CC0"'))
    assert "are of sources under CC BY-NC 4.0" in done.output
    assert "\x1b" not in done.output + (tmp_path / "published/card.md").read_text(encoding="utf-8")
    questions = load_questions(tmp_path / "published/questions.jsonl")
    assert [each.metadata.get("licence", "") for each in questions] == licences
    lines = (tmp_path / "published/lpfqa.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("licence", "") for line in lines] == licences
    for one, other in zip(questions, load_lpfqa(tmp_path / "published/lpfqa.jsonl"), strict=True):
        assert (one.id, one.target, one.choices) == (other.id, other.target, other.choices)


def test_corpora_say_whose_they_are_and_which_of_them_is_false(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    pairs = [PAIRS[0], {**PAIRS[1], "replies": []}, {**PAIRS[2], "licence": ""}]
    run(pipeline_of(tmp_path, chat_server, pairs, f"{ALONE}[worlds]\nthreads = true\n"))
    published = tmp_path / "published"
    (canary,) = {each.metadata["canary"] for each in load_questions(published / "questions.jsonl")}
    for name, marked in (("threads", [None] * 3), ("falsified_threads", [True, None, True])):
        path = published / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert [row.get("falsified") for row in rows] == marked
        assert {row["canary"] for row in rows} == {canary}
        assert [row.get("licence") for row in rows] == ["CC BY-SA 4.0", "CC BY-SA 4.0", None]
        corpus = open_corpus(path, cache=tmp_path / "cache")
        search = CorpusSearch(corpus)
        for words in ("lithium", "falsified", "canary", canary.rpartition(" ")[2], "CC BY-SA"):
            found = asyncio.run(search.search(SearchQuery(words, 5))).reply.results
            assert len(found) == (words == "lithium"), "of the text alone"
        for row in rows:
            page = asyncio.run(CorpusPages(corpus).read(row["url"]))
            assert (page.title, page.text.strip()) == (row["title"], row["text"].strip()), "none is shown"
    card = (published / "card.md").read_text(encoding="utf-8")
    assert "| `threads.jsonl` | 3 | their threads, as a corpus;" in card
    assert "| `falsified_threads.jsonl` | 3 | **false**: the same with a wrong reply as the answer" in card


def thread(replies: Sequence[str], title: str = "", more: str = "") -> Content:
    asked = {"question": "Why does it swell?", "answer": "gas from the electrolyte", "points": ["gas"]}
    about: dict[str, Any] = {"url": "", "forum": "", "domain": "Chemistry", "kind": "reasoning", "clarity": 5}
    texts = {
        "title": title,
        "explanation": "",
        "question": f"Why does my cell swell?{more}",
        "answer": "Gas from the decomposing electrolyte.",
    }
    return {**about, **texts, "asked": asked, "replies": [*replies, "It is gas."], "wrong_replies": list(replies)}


QUOTED = "> gas from the electrolyte\n\nNo, the foil grows."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (thread([QUOTED, "Moisture"]), ["No, the foil grows.", "Moisture"]),
        (thread(["Not gas from the “decomposing” electrolyte, never", "Moisture"]), ["Moisture"]),
        (thread(["> gas from the electrolyte", "gas  from the electrolyte"]), []),
        (thread(["> mean(x)\n\nUse this:", "Use:\n>>> mean(x)"]), ["Use:\n>>> mean(x)"]),
        (thread(["Moisture"], title="[SOLVED: gas from the electrolyte]"), []),
        (thread(["Moisture"], more="\n\nEDIT: it was Gas from the electrolyte, thanks"), []),
    ],
)
def test_no_thread_with_a_false_answer_holds_the_right_one(content: Content, said: list[str]) -> None:
    worlds = thread_worlds({"a": content}, ())
    (true,), (false,) = worlds.true, worlds.false
    if not said:
        assert (true, worlds.left) == (false, {"a"})
        assert true["text"].count("Reply: ") == len(content["replies"])
        return
    first, *others = said
    assert (worlds.found, worlds.left) == ({"a"}, frozenset())
    told = [f"Reply: {each}" for each in others]
    assert false["text"] == "\n\n".join((content["question"], f"Accepted answer: {first}", *told))
    assert true["text"] == "\n\n".join((content["question"], f"Accepted answer: {content['answer']}", *told))
    assert question_of("a", content, "", "en").metadata["adversarial"] == first


def test_a_wrong_reply_that_says_the_right_answer_is_no_adversary() -> None:
    short = thread(["No, 5 V is what comes in", "3 V"])
    short = {**short, "answer": "5 V", "asked": {**short["asked"], "answer": "5 V"}}
    assert question_of("a", short, "", "en").metadata["adversarial"] == "3 V"
    assert "adversarial" not in question_of("a", thread(["It is no gas from the electrolyte"]), "", "en").metadata
    solved = thread([QUOTED], title="[SOLVED: gas from the electrolyte]")
    assert question_of("a", solved, "", "en").metadata["adversarial"] == "No, the foil grows."


def test_threads_that_stay_true_for_the_right_answer_in_them_are_told(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    pairs = [PAIRS[0], {**PAIRS[1], "title": "[SOLVED: the sodium salt number 4]"}, {**PAIRS[2], "replies": []}]
    output = run(pipeline_of(tmp_path, chat_server, pairs, f"{ALONE}[worlds]\nthreads = true\n")).output
    assert "1 of 3 threads have a wrong reply as their answer in falsified_threads.jsonl" in output
    assert "1 of 3 threads stay true there: the right answer is in their question or in each wrong reply, or" in output


def test_items_without_a_licence_are_told(chat_server: ChatServer, tmp_path: Path) -> None:
    pipeline = load_pipeline(pipeline_of(tmp_path, chat_server, PAIRS, ALONE))
    contents = {"a": {"licence": "CC BY 4.0"}, "b": {}}
    assert licences_told(pipeline, contents) == [
        "1 of 2 questions have no `licence` of their source; the card says unknown"
    ]
    assert licences_told(pipeline, {"a": contents["a"]}) == []


def test_a_card_s_licence_without_a_source_s_terms_is_told(chat_server: ChatServer, tmp_path: Path) -> None:
    card = '[card]\nlicence = "CC BY-SA 4.0"\n'
    pipeline = load_pipeline(pipeline_of(tmp_path, chat_server, PAIRS, f"{ALONE}{card}"))
    contents = {
        "a": {"licence": "CC BY-SA 4.0"},
        "b": {"licence": "CC BY-NC-SA 4.0"},
        "c": {"licence": "cc-by-nd-4.0"},
        "d": {"licence": "CC BY 4.0"},
    }
    assert licences_told(pipeline, contents) == [
        "1 of 4 questions are of sources under CC BY-NC-SA 4.0 (not for commercial use), and the card says CC BY-SA 4.0",
        "1 of 4 questions are of sources under cc-by-nd-4.0 (no changed versions), and the card says CC BY-SA 4.0",
    ]
    no_card = pipeline.model_copy(update={"card": pipeline.card.model_copy(update={"licence": ""})})
    assert licences_told(no_card, contents) == []


@pytest.mark.parametrize(
    ("url", "blocked"),
    [
        ("https://forum.example/viewtopic.php?t=3", ("forum.example",)),
        ("http://forum.example:8080/", ("forum.example",)),
        ("https://-.example/t/3", ()),
        ("", ()),
        ("thread 3", ()),
        ("file:///threads/3", ()),
        ("http://[bad", ()),
    ],
)
def test_the_thread_of_a_question_is_kept_from_models(
    url: str, blocked: tuple[str, ...], chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    for more in ("", "[worlds]\nthreads = true\n"):
        run(pipeline_of(tmp_path, chat_server, [{**PAIRS[0], "url": url}], f"{ALONE}{more}"))
        (question,) = load_questions(tmp_path / "published" / "questions.jsonl")
        # As a corpus of its own it is to be searched.
        assert question.blocked_hosts == (() if more else blocked)


@pytest.mark.parametrize(
    ("host", "moderator"),
    [("forum.example.com", "example.com"), ("x-y.example", "x-y"), ("batteryforum.example", "BatteryForum")],
)
def test_a_forum_that_is_called_like_a_moderator_is_kept_from_models(
    host: str, moderator: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    pairs = [
        {**pair, "url": f"https://{host}/t/{n}", "names": names}
        for n, (pair, names) in enumerate(zip(PAIRS, [[moderator], []], strict=False))
    ]
    told = run(pipeline_of(tmp_path, chat_server, pairs, ALONE)).output
    questions = load_questions(tmp_path / "published" / "questions.jsonl")
    assert [each.blocked_hosts for each in questions] == [(host,)] * 2
    assert [each.metadata["source_urls"] for each in questions] == [[f"https://{host}/t/{n}"] for n in range(2)]
    assert "kept from models" not in told


def test_questions_whose_source_is_not_kept_from_models_are_told(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    urls = ["", "https://bobcarter.example/t/1", "https://forum.example/t/1"]
    pairs = [{**pair, "url": url, "names": ["Bob Carter"]} for pair, url in zip(PAIRS, urls, strict=False)]
    path = pipeline_of(tmp_path, chat_server, pairs, ALONE)
    assert "2 of 3 questions have no site that is kept from models: their `url` has none, or one" in run(path).output
    assert "carter" not in (tmp_path / "published" / "questions.jsonl").read_text(encoding="utf-8")
    # Threads that are to be searched are kept from nobody.
    path = pipeline_of(tmp_path, chat_server, pairs, f"{ALONE}[worlds]\nthreads = true\n")
    assert "kept from models" not in run(path).output


def test_labels_and_the_canary_are_no_part_of_what_a_model_is_asked() -> None:
    """A new contact address would otherwise pay for a pilot's trials again."""
    options = ["water", "ether", "acetone", "benzene", "hexane"]
    content = {
        "asked": {"question": "Which solvent?", "options": options, "right": "acetone", "explanation": ""},
        "wrong_replies": ["Water."],
        **{"url": "https://forum.example/t/1", "forum": "Solvents", "domain": "Chemistry"},
        **{"kind": "knowledge", "clarity": 5},
    }
    built = question_of("a" * 64, content, "canary 1", "en")
    terms = {"licence": "CC BY-SA 4.0"}
    for change in ({"kind": "reasoning"}, {"clarity": 4}, {"forum": "Labs"}, {"domain": "Physics"}, terms, {}):
        assert question_of("a" * 64, {**content, **change}, "canary 2", "en").identity() == built.identity(), change
    other = {**content, "asked": {**content["asked"], "question": "Which liquid?"}}
    assert question_of("a" * 64, other, "canary 1", "en").identity() != built.identity()
