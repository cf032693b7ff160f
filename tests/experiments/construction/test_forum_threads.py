"""Threads of forums that publish JSON, from a local server that answers as Discourse and as Stack Exchange do."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result

from toolablate.cli import group
from toolablate.experiments.construction.question_items import load_question_items
from toolablate.experiments.construction.sources.forum_threads import alone, left_out_of, said_in
from toolablate.experiments.construction.workbench import Workbench
from toolablate.traces.errors import InputError

POSTS = 24


def topic(number: int) -> dict[str, Any]:
    """With more posts than a topic's page has; the fourth has no accepted answer."""
    posts = [
        {
            "id": 1000 * number + n,
            "username": f"user{n}",
            "name": f"Anne Nonymous{n}",
            "cooked": f"<p>Post {n} of topic {number}: <code>a &lt; b</code>, says @user{n}</p>",
            "post_number": n,
            "accepted_answer": n == 22 and number != 4,
            **({"action_code": "autoclosed.enabled", "post_type": 3, "username": "system"} if n == 24 else {}),
        }
        for n in range(1, POSTS + 1)
    ]
    stream = {"posts": posts[:20], "stream": [post["id"] for post in posts]}
    return {"id": number, "title": f"Topic  {number}", "slug": "t", "post_stream": stream, "all": posts}


class Forums:
    """`asked` are the paths in order; `stopped` is a path that answers 503."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.stopped = ""
        self.url = ""

    def answer(self, path: str, query: dict[str, list[str]]) -> Any:
        match path.strip("/").split("/"):
            case ["latest.json"]:
                page = int(query["page"][0])
                numbers = {0: (1, 2, 3), 1: (4, 5)}.get(page, ())
                topics = [
                    {
                        "id": number,
                        "created_at": f"2026-0{number}-01T10:00:00.000Z",
                        "posts_count": 1 if number == 3 else POSTS,
                        "views": 10 * number,
                    }
                    for number in numbers
                ]
                return {"topic_list": {"topics": topics} | ({"more_topics_url": "/latest?page=1"} if page == 0 else {})}
            case ["t", name] if name.endswith(".json"):
                return topic(int(name.removesuffix(".json")))
            case ["t", name, "posts.json"]:
                wanted = set(map(int, query["post_ids[]"]))
                return {"post_stream": {"posts": [post for post in topic(int(name))["all"] if post["id"] in wanted]}}
            case ["2.3", "questions"]:
                page = int(query["page"][0])
                questions = [
                    {
                        "question_id": number,
                        "title": "Is 1 &lt; 2?",
                        "body": f"<p>Why is {number} so?</p><pre>x  y</pre>",
                        "link": f"https://chemistry.example/q/{number}",
                        "creation_date": 1767225600,
                        "answer_count": 2,
                        "score": number,
                        "accepted_answer_id": None if number == 8 else 10 * number,
                        "owner": {"display_name": "Bob Builder"},
                        "content_license": "CC BY-SA 4.0",
                    }
                    for number in (7, 8, 9)[page - 1 :: 2]
                    if number >= int(query["min"][0])
                ]
                return {"items": questions, "has_more": page == 1, "backoff": 0.01, "quota_remaining": 299}
            case ["2.3", "questions", numbers, "answers"]:
                found = [
                    {"answer_id": 10 * number + n, "question_id": number, "body": f"<p>Answer {n}</p>", "owner": {}}
                    for number in map(int, numbers.split(";"))
                    for n in (0, 1)
                ]
                return {"items": found, "has_more": False}
        return None


@contextmanager
def serving(forums: Forums) -> Iterator[Forums]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            forums.asked.append(self.path)
            found = forums.answer(parts.path, parse_qs(parts.query))
            stopped = bool(forums.stopped) and forums.stopped in self.path
            body = (
                found
                if isinstance(found, bytes)
                else json.dumps(found).encode()
                if found is not None and not stopped
                else b"nothing here"
            )
            self.send_response(503 if stopped else 200 if found is not None else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    forums.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield forums
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def forums() -> Iterator[Forums]:
    with serving(Forums()) as served:
        yield served


def written(folder: Path, forums: Forums, more: str = "") -> Path:
    path = folder / "forums.toml"
    host = forums.url.removeprefix("http://")
    path.write_text(
        f'[[forums]]\nkind = "discourse"\nname = "Batteries"\nurl = "{forums.url}"\nlicence = "CC0"\n{more}\n'
        f'[[forums]]\nkind = "stackexchange"\nname = "Chemistry"\nsite = "chemistry"\nurl = "{forums.url}/2.3"\n'
        f'[web]\nallow = ["{host}"]\ndelay_seconds = 0\n',
        encoding="utf-8",
    )
    return path


def fetch(path: Path, code: int = 0) -> Result:
    found = CliRunner().invoke(group, ["build", "threads", str(path)])
    assert found.exit_code == code, (found.output, found.exception)
    return found


def test_an_application_s_key_and_the_least_votes_go_to_the_interface(forums: Forums, tmp_path: Path) -> None:
    path = written(tmp_path, forums)
    path.write_text(path.read_text().replace('site = "chemistry"', 'site = "chemistry"\nvotes = 8\nkey = "open"'))
    fetch(path)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [row["url"] for row in rows if row["forum"] == "Chemistry"] == ["https://chemistry.example/q/9"]
    assert all("key=open" in each for each in forums.asked if each.startswith("/2.3"))


def test_accepted_answers_become_items_without_names(forums: Forums, tmp_path: Path) -> None:
    path = written(tmp_path, forums)
    fetch(path)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows] == ["1", "2", "5", "7", "9"]
    first, question = rows[0], rows[3]
    assert first["question"] == "Post 1 of topic 1: a < b, says @user1"
    assert first["answer"].startswith("Post 22 of")
    assert len(first["replies"]) == POSTS - 3
    assert (first["title"], first["licence"], first["forum"]) == ("Topic 1", "CC0", "Batteries")
    assert (question["title"], question["question"]) == ("Is 1 < 2?", "Why is 7 so?\nx  y")
    assert (question["answer"], question["replies"], question["licence"]) == ("Answer 0", ["Answer 1"], "CC BY-SA 4.0")
    items = load_question_items(tmp_path / "pairs.jsonl")
    texts = [{key: value for key, value in content.items() if key != "names"} for content in items.values()]
    assert "user1" not in json.dumps(texts)
    # What is there is not fetched again.
    forums.asked.clear()
    fetch(path)
    assert not any(asked.startswith(("/t/1.", "/t/2.", "/t/5.")) or "answers" in asked for asked in forums.asked)


def test_threads_are_chosen_by_day_views_and_number(forums: Forums, tmp_path: Path) -> None:
    path = written(tmp_path, forums, "since = 2026-02-01\nuntil = 2026-05-01\nviews = 20\nlimit = 1")
    fetch(path)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows if row["forum"] == "Batteries"] == ["2"]
    # At most so many in all, whatever a file of others ends with.
    before = (tmp_path / "pairs.jsonl").read_text(encoding="utf-8")
    (tmp_path / "pairs.jsonl").write_text(before.rstrip("\n"), encoding="utf-8")
    fetch(path)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(row["forum"] == "Batteries" for row in rows) == 1


def test_a_forum_that_stops_costs_no_other_and_the_same_command_goes_on(forums: Forums, tmp_path: Path) -> None:
    forums.stopped = "/t/2.json"
    path = written(tmp_path, forums)
    found = fetch(path, code=1)
    assert "HTTP 503" in found.stderr
    assert len((tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    forums.stopped = ""
    fetch(path)
    assert len((tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()) == 5


def test_threads_that_stand_on_every_page_are_fetched_once_and_lists_without_end_have_one(
    forums: Forums, tmp_path: Path
) -> None:
    original = forums.answer

    def without_end(path: str, query: dict[str, list[str]]) -> Any:
        if path == "/latest.json":
            return original(path, {"page": ["0"]})
        found = original(path, {**query, "page": ["1"]})
        return found | {"has_more": True} if path.startswith("/2.3") else found

    forums.answer = without_end  # type: ignore[method-assign]
    fetch(written(tmp_path, forums))
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows] == ["1", "2", "7", "9"]
    assert forums.asked.count("/t/1.json") == 1
    assert len([each for each in forums.asked if each.startswith("/latest")]) == 2
    assert len([each for each in forums.asked if "/answers" in each]) == 2


@pytest.mark.parametrize(
    ("hostile", "told"),
    [
        (b'{"topic_list": {"topics": [{"id": ' + b"1" * 5_000 + b"}]}}", "is no JSON"),
        (b"[" * 200_000, "is no JSON"),
        (b'{"topic_list": {"topics": [{"id": 1, "posts_count": 9, "created_at": "0001-01-01T00:00:00+14:00"}]}}', ""),
        (b'{"topic_list": {"topics": [{"id": 1, "posts_count": 9, "created_at": "9999-12-31T23:59:59-14:00"}]}}', ""),
    ],
    ids=["digits", "depth", "first-year", "last-year"],
)
def test_json_that_means_harm_costs_its_forum_alone(hostile: bytes, told: str, forums: Forums, tmp_path: Path) -> None:
    original = forums.answer
    forums.answer = lambda path, query: hostile if path == "/latest.json" else original(path, query)  # type: ignore[method-assign]
    found = fetch(written(tmp_path, forums, "since = 2020-01-01"), code=1 if told else 0)
    assert told in found.stderr
    assert "Chemistry: 2 new threads" in found.stderr


def test_half_of_a_character_in_a_title_or_name_costs_nothing(forums: Forums, tmp_path: Path) -> None:
    original = forums.answer

    def answer(path: str, query: dict[str, list[str]]) -> Any:
        found = original(path, query)
        return found | {"title": "Half \ud83d"} if path == "/t/1.json" else found

    forums.answer = answer  # type: ignore[method-assign]
    fetch(written(tmp_path, forums))
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[0]["title"] == "Half \ufffd"


def test_a_topic_that_may_not_be_read_costs_itself_alone(forums: Forums, tmp_path: Path) -> None:
    original = forums.answer
    forums.answer = lambda path, query: None if path == "/t/1.json" else original(path, query)  # type: ignore[method-assign]
    fetch(written(tmp_path, forums))
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows] == ["2", "5", "7", "9"]
    assert not any("system" in row["names"] for row in rows)


def test_a_thread_of_another_form_is_left_out_named_with_its_reason_and_costs_no_other(
    forums: Forums, tmp_path: Path
) -> None:
    original, sound = forums.answer, False

    def answer(path: str, query: dict[str, list[str]]) -> Any:
        found = original(path, query)
        if sound or found is None:
            return found
        if path == "/latest.json":
            found["topic_list"]["topics"].insert(0, {"id": 6, "views": "many"})
        if path == "/t/1.json":
            del found["post_stream"]["posts"][3]["cooked"]
        if path == "/t/2/posts.json":
            return b"<html>an error"
        if path == "/2.3/questions":
            found["items"].insert(0, {"link": "https://chemistry.example/q/1", "title": None})
        if path.endswith("/answers"):
            found["items"] = [each | ({"body": 5} if each["question_id"] == 9 else {}) for each in found["items"]]
        return found

    forums.answer = answer  # type: ignore[method-assign]
    path = written(tmp_path, forums)
    found = fetch(path)
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows] == ["5", "7"]
    told = [line for line in found.stderr.splitlines() if "left out" in line]
    assert [re.findall(r"/(?:t|q)/(\d+)", line)[0] for line in told] == ["6", "1", "2", "1", "9"]
    assert "post_stream.posts.3.cooked: Field required" in told[1]
    assert "has an answer that is of another form: body:" in told[4]

    pipeline = tmp_path / "questions.toml"
    pipeline.write_text('items = "pairs.jsonl"\n[[models]]\nprovider = "openai"\nname = "w"\n', encoding="utf-8")
    with Workbench(tmp_path / "runs/questions.sqlite"):
        pass
    shown = CliRunner().invoke(group, ["build", "status", str(pipeline)])
    assert "Left out by `build threads`: 5 threads: " in shown.output
    assert "others (2)" in shown.output
    # It is tried again, and is named no more once it can be read.
    sound = True
    fetch(path)
    assert {each.url.rpartition("/")[2] for each in left_out_of(tmp_path / "pairs.jsonl")} == {"6", "1"}


def test_a_torn_line_of_what_was_left_out_stops_nothing(forums: Forums, tmp_path: Path) -> None:
    original = forums.answer
    forums.answer = lambda path, query: b"<html>" if path == "/t/1.json" else original(path, query)  # type: ignore[method-assign]
    beside = tmp_path / "pairs-left-out.jsonl"
    beside.write_bytes(b'{"url": "https://forum.example/t/7", "forum": "Batt\xc3')
    fetch(written(tmp_path, forums))
    assert [each.url.rpartition("/")[2] for each in left_out_of(tmp_path / "pairs.jsonl")] == ["1"]
    assert beside.read_bytes().count(b"\n") == 2


def test_a_forum_that_answers_each_topic_with_a_page_is_asked_for_few(forums: Forums, tmp_path: Path) -> None:
    original, topics = forums.answer, 180

    def answer(path: str, query: dict[str, list[str]]) -> Any:
        if path == "/latest.json":
            row = {"created_at": "2026-01-01T10:00:00.000Z", "posts_count": POSTS}
            return {"topic_list": {"topics": [{"id": number, **row} for number in range(1, topics + 1)]}}
        return b"<html>Log in" if path.startswith("/t/") else original(path, query)

    forums.answer = answer  # type: ignore[method-assign]
    found = fetch(written(tmp_path, forums), code=1)
    assert "answers 10 topics in a row with no JSON" in found.stderr
    assert len([each for each in forums.asked if each.startswith("/t/")]) == 10
    assert "Chemistry: 2 new threads" in found.stderr
    assert left_out_of(tmp_path / "pairs.jsonl") == []
    topics = 3
    fetch(written(tmp_path, forums))
    assert [each.url.rpartition("/")[2] for each in left_out_of(tmp_path / "pairs.jsonl")] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("url", "told"),
    [("/nothing", "HTTP 404"), ("", "may not be opened"), ("/2.3/questions/1/answers?", "of another form")],
)
def test_what_is_no_such_forum_is_said(url: str, told: str, forums: Forums, tmp_path: Path) -> None:
    path = tmp_path / "forums.toml"
    allow = (
        ""
        if told == "may not be opened"
        else f'[web]\nallow = ["{forums.url.removeprefix("http://")}"]\ndelay_seconds = 0\n'
    )
    path.write_text(f'[[forums]]\nkind = "discourse"\nname = "x"\nurl = "{forums.url}{url}"\n{allow}', encoding="utf-8")
    if told == "of another form":
        forums.answer = lambda path, query: {"topic_list": []}  # type: ignore[method-assign]
    assert told in fetch(path, code=1).stderr


def test_posts_in_html_become_text() -> None:
    assert said_in("<p>a  a</p><ul><li>b<li>c</ul><script>d()</script>") == "a a\n* b\n* c"
    assert said_in("<pre>if x:\n    y  z\n</pre>") == "if x:\n    y  z"
    assert said_in("") == ""


def test_pictures_leave_a_mark_and_quotes_are_marked() -> None:
    assert said_in("<p>740 C <img src=a.png> and <code>x</code>") == "740 C [picture] and x"
    assert said_in("<blockquote>quoted<p>twice</blockquote><p>ok</p>") == "> quoted\n> twice\nok"
    quote = "<aside class='quote no-group'><div class=title>ann:</div><blockquote><p>At 700?</blockquote></aside>"
    assert said_in(f"{quote}<p>Yes.<pre>a  b</pre>") == "> ann:\n> At 700?\nYes.\na  b"
    # Emoticons and avatars are no content; a post that is all quote is not marked.
    smiles = "<img class=emoji src=/images/emoji/x.png title=':x:'><img src=/i/smilies/4.gif><img src=u.png width=20>"
    assert said_in(f"<p>Fine.{smiles}</p>") == "Fine."
    assert said_in("<blockquote class=postcontent>All of it.</blockquote>") == "All of it."


def test_a_thread_of_pictures_alone_is_no_item(forums: Forums, tmp_path: Path) -> None:
    answer = forums.answer

    def of_pictures(path: str, query: dict[str, list[str]]) -> Any:
        found = answer(path, query)
        if path.startswith("/t/1"):
            for post in found["post_stream"]["posts"]:
                post["cooked"] = "<blockquote><p><img src=plot.png></blockquote><p><img src=plot.png>"
        return found

    forums.answer = of_pictures  # type: ignore[method-assign]
    fetch(written(tmp_path, forums))
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows] == ["2", "5", "7", "9"]


def test_two_at_once_do_not_add_to_one_output(tmp_path: Path) -> None:
    output = tmp_path / "pairs.jsonl"
    with alone(output), pytest.raises(InputError, match="another process adds"), alone(output):
        pass
    with alone(output):
        pass
