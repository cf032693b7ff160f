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
from toolablate.experiments.construction.sources.forum_reading import read_posts, said_in
from toolablate.experiments.construction.sources.forum_threads import left_out_of
from toolablate.experiments.construction.workbench import Workbench
from toolablate.experiments.record_file import RowFile
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
    """`asked` are the paths in order; `stopped` is a part of paths that answer `status`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.stopped = ""
        self.status = 503
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
            self.send_response(forums.status if stopped else 200 if found is not None else 404)
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


@pytest.mark.parametrize(("until", "asked"), [("2026-05-01", {"1777680000"}), ("9999-12-31", set())])
def test_until_is_the_end_of_that_day_be_it_the_calendar_s_last(
    until: str, asked: set[str], forums: Forums, tmp_path: Path
) -> None:
    path = written(tmp_path, forums)
    path.write_text(path.read_text().replace('site = "chemistry"', f'site = "chemistry"\nuntil = {until}'))
    fetch(path)
    queries = [parse_qs(urlsplit(each).query) for each in forums.asked if each.startswith("/2.3/questions?")]
    assert queries
    assert {day for query in queries for day in query.get("todate", ())} == asked


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


@pytest.mark.parametrize(
    ("post", "named"),
    [
        ('<aside class="quote" data-username="karl_b"><blockquote>It swells.</blockquote></aside>', ["karl_b"]),
        ('See <a href="https://stack.example/users/17/jane-roe">Jane Roe</a>.', ["Jane Roe"]),
        (
            'By <a class="mention" href="/u/bob">@bob</a> and <a href="/u/zed/summary">zed the great</a>.',
            ["bob", "zed the great"],
        ),
        ('See <a href="https://stack.example/users/17/jane-roe">my profile</a>, <a href="/t/users/7">users</a>.', []),
    ],
)
def test_whom_a_forum_s_markup_names_is_a_name(post: str, named: list[str]) -> None:
    assert read_posts([post])[1] == named


class Escaped(Forums):
    """Stack Exchange gives names as HTML."""

    def answer(self, path: str, query: dict[str, list[str]]) -> Any:
        found = super().answer(path, query)
        if path == "/2.3/questions":
            for question in found["items"]:
                question["owner"]["display_name"] = "M&#246;rre Quist"
        elif path.endswith("/answers"):
            for answer in found["items"]:
                answer["owner"] = {"display_name": "J&amp;#252;rgen W&#246;lfle"}
                answer["body"] = "<p>As Jürgen Wölfle measured, it holds; thanks Mörre!</p>"
        return found


def test_names_that_an_interface_gives_as_html_are_taken_out(tmp_path: Path) -> None:
    with serving(Escaped()) as forums:
        fetch(written(tmp_path, forums))
    items = load_question_items(tmp_path / "pairs.jsonl").values()
    answers = {content["answer"] for content in items if content["forum"] == "Chemistry"}
    assert answers == {"As [name] measured, it holds; thanks [name]!"}


@pytest.mark.parametrize("told_by", ["the list", "the topic", "nobody"])
def test_an_accepted_answer_far_down_is_read_on_to_or_told(told_by: str, forums: Forums, tmp_path: Path) -> None:
    original = forums.answer
    accepted = {1: 130, 2: 5, 4: 1_030, 5: 130}

    def long(path: str, query: dict[str, list[str]]) -> Any:
        found = original(path, query)
        if path == "/latest.json":
            for each in found["topic_list"]["topics"]:
                each["has_accepted_answer"] = True if told_by == "the list" else None
        if not path.startswith("/t/"):
            return found
        number = int(path.split("/")[2].removesuffix(".json"))
        post = original("/t/1.json", {})["post_stream"]["posts"][0]
        posts = [
            post
            | {
                "id": 2_000 * number + n,
                "post_number": n,
                "cooked": f"Post {n}",
                "accepted_answer": n == accepted[number],
            }
            for n in range(1, 1_040)
        ]
        if path.endswith("posts.json"):
            wanted = set(map(int, query["post_ids[]"]))
            return {"post_stream": {"posts": [each for each in posts if each["id"] in wanted]}}
        stream = {"posts": posts[:20], "stream": [each["id"] for each in posts]}
        solved = {"accepted_answer": {"post_number": accepted[number]}} if told_by == "the topic" else {}
        return {"title": "Long", "post_stream": stream, **solved}

    forums.answer = long  # type: ignore[method-assign]
    told = fetch(written(tmp_path, forums)).output
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    answers = [row["answer"] for row in rows if row["forum"] == "Batteries"]
    # Where nobody says that there is one, no topic is read on for it.
    assert answers == (["Post 5"] if told_by == "nobody" else ["Post 130", "Post 5", "Post 130"])
    assert ("t/4 has an accepted answer that is not among its posts" in " ".join(told.split())) == (told_by != "nobody")
    of_the_second = [asked for asked in forums.asked if asked.startswith("/t/2/posts")]
    assert len(of_the_second) == 4


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


def test_a_topic_that_always_fails_costs_itself_alone_and_is_tried_again(forums: Forums, tmp_path: Path) -> None:
    forums.stopped, forums.status = "/t/2.json", 500
    path = written(tmp_path, forums)
    assert f"Batteries: left out: {forums.url}/t/2.json: HTTP 500" in fetch(path).stderr
    assert len((tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()) == 4
    forums.stopped = ""
    fetch(path)
    assert len((tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()) == 5
    assert left_out_of(tmp_path / "pairs.jsonl") == []


def test_a_forum_whose_topics_all_fail_is_asked_for_few(forums: Forums, tmp_path: Path) -> None:
    original = forums.answer
    row = {"created_at": "2026-01-01T10:00:00.000Z", "posts_count": POSTS}
    topics = {"topic_list": {"topics": [{"id": number, **row} for number in range(1, 180)]}}
    forums.answer = lambda path, query: topics if path == "/latest.json" else original(path, query)  # type: ignore[method-assign]
    forums.stopped, forums.status = "/t/", 500
    assert "answers 10 topics in a row with no page; the last: " in fetch(written(tmp_path, forums), code=1).stderr
    assert len([each for each in forums.asked if each.startswith("/t/")]) == 10


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
    done = fetch(written(tmp_path, forums))
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows] == ["2", "5", "7", "9"]
    assert "left out: " in done.output
    assert "/t/1.json: HTTP 404" in done.output
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
    assert beside.read_bytes().count(b"\n") == 1


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
    (line,) = (each for each in fetch(path, code=1).stderr.splitlines() if told in each)
    for_good = told == "may not be opened"
    # Words that never come true are no way on.
    assert ("the same command goes on" in line) != for_good
    assert ("opened where web.allow or web.ports names them" in line) == for_good


def test_a_mistyped_key_of_a_forum_is_named_with_what_was_meant(forums: Forums, tmp_path: Path) -> None:
    path = written(tmp_path, forums)
    text = path.read_text(encoding="utf-8")
    for kind, allowed in (("discourse", "domain, kind, "), ("stackexchange", "domain, key, kind, ")):
        path.write_text(text.replace(f'kind = "{kind}"', f'kind = "{kind}"\nsinse = 2026-01-01'), encoding="utf-8")
        told = str(fetch(path, code=1).exception)
        assert f"sinse: unknown key; did you mean 'since'? (allowed: {allowed}" in told
        assert kind not in told


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


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("6.02 × 10<sup>23</sup> and 10<sup>&minus;8</sup>, x<sub>max</sub>", "6.02 × 10^23 and 10^(−8), x_(max)"),
        ("H<sub>2</sub>O, SO<sub>4</sub><sup>2-</sup>, <sup>14</sup>C", "H_2O, SO_4^(2-), ^14C"),
        (
            "e<sup>x</sup>, 2<sup>n</sup>m, 2<sup>(n + 1)</sup>, 2<sup>2<sup>n</sup></sup>",
            "e^x, 2^(n)m, 2^(n + 1), 2^(2^n)",
        ),
        ("<table><tr><td>10<sup>8</sup><td>1</table>", "10^8\t1"),
        ("10⁸ the 1<sup>st</sup> time<sup>[1]</sup>", "10⁸ the 1st time^[1]"),
        ("<p><sup>Drawn by the author</sup></p>", "Drawn by the author"),
        ("2 <sup>3</sup> 4, <i>x</i> <sup>2</sup> + 1, 10 <sup>-8</sup>.", "2^3 4, x^2 + 1, 10^(-8)."),
        ("at 3 <sup>14</sup>C, as shown <sup>3</sup> there", "at 3 ^14C, as shown 3 there"),
        ("25<sup>o</sup>C and 90<sup>o</sup>, n<sup>o</sup>", "25°C and 90°, n^o"),
    ],
)
def test_what_is_raised_or_lowered_keeps_its_meaning(written: str, said: str) -> None:
    assert said_in(written) == said


def test_what_is_struck_out_or_hidden_is_not_said() -> None:
    for struck in (
        "<s>34</s>",
        "<del>34</del>",
        "<strike>34</strike>",
        "<b style='text-decoration: line-through'>34</b>",
    ):
        assert said_in(f"<p>About {struck} 31 C.") == "About 31 C."
    assert said_in("<p>Dry it.<b style='color:red; DISPLAY : none'>Burn it.</b> <i hidden>Ha.</i>Then wait.") == (
        "Dry it. Then wait."
    )
    spoilers = (
        "It is <span class='spoiler'>tin</span><span class='a spoiled'>lead</span>.<div class='spoiler'>Zinc</div>"
    )
    assert said_in(f"{spoilers}<blockquote class='spoiler'>Iron</blockquote>") == "It is ."
    assert said_in("<span class='spoilers'>Tin</span><details><summary>The log</summary>Lead</details>") == (
        "Tin\nThe log\nLead"
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("see <a href='https://a.example/b'>here</a>.", "see here (https://a.example/b)."),
        ("<a href=//a.example/b>this </a>and <a href=//a.example/b>that</a>", "this (https://a.example/b) and that"),
        ("<a href=https://a.example/long/way>https://a.example/lo…</a>", "https://a.example/long/way"),
        ("<a href=https://a.example/long/way.pdf>a.example/l ... y.pdf</a>", "https://a.example/long/way.pdf"),
        # Who reads the text alone has the address.
        ("<a href=https://www.A.example/>a.example</a>", "a.example"),
        ("<a href=https://go.example/?to=a.example>https://a.example/b</a>", "https://a.example/b"),
        ("<a href=/t/7>there</a>, <a href='mailto:a@b.example'>me</a>", "there, me"),
        ("<a href=https://f.example/people/ann>@ann</a> <a href=https://f.example/u/ann>ann</a>", "@ann ann"),
        ("<a href=https://a.example/big.png><img src=small.png> 690 x 400</a>", "[picture] 690 x 400"),
    ],
)
def test_addresses_of_links_are_kept_where_the_text_has_them_not(written: str, said: str) -> None:
    assert said_in(written) == said


def test_a_thread_of_pictures_alone_is_no_item(forums: Forums, tmp_path: Path) -> None:
    answer = forums.answer

    def of_pictures(path: str, query: dict[str, list[str]]) -> Any:
        found = answer(path, query)
        if path.startswith("/t/1"):
            for post in found["post_stream"]["posts"]:
                post["cooked"] = "<blockquote><p><img src=plot.png></blockquote><p><img src=plot.png>"
        return found

    forums.answer = of_pictures  # type: ignore[method-assign]
    done = fetch(written(tmp_path, forums))
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["url"].rpartition("/")[2] for row in rows] == ["2", "5", "7", "9"]
    assert "/t/1 has a question or an answer of pictures alone" in done.output


def test_two_at_once_do_not_add_to_one_output(forums: Forums, tmp_path: Path) -> None:
    with RowFile(tmp_path / "pairs.jsonl", head=b"{"):
        found = fetch(written(tmp_path, forums), code=1).exception
    assert isinstance(found, InputError)
    assert (found.code, forums.asked) == ("file_in_use", [])


def test_a_row_that_a_kill_left_unfinished_is_fetched_again(forums: Forums, tmp_path: Path) -> None:
    path, pairs = written(tmp_path, forums), tmp_path / "pairs.jsonl"
    fetch(path)
    whole = pairs.read_bytes()
    pairs.write_bytes(whole[:-40])
    fetch(path)
    assert sorted(pairs.read_bytes().splitlines()) == sorted(whole.splitlines())
