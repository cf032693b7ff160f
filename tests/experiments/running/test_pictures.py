"""Runs whose questions have images: what is asked, what is kept, what is refused, and where they are seen."""

import base64
import json
import os
import re
import struct
import urllib.request
import zlib
from pathlib import Path
from typing import Any

import pytest
from tests.browser.hostile import png
from tests.browser.serving import indexed, serving, viewing
from tests.conftest import Cli
from tests.experiments.plan_files import KERNELS, outcomes
from tests.servers.chat_server import ChatServer, Status, reply

from toolablate.traces.records import Picture, Question
from toolablate.traces.store import Store

CONDITIONS = "conditions = ['none', { name = 'brief', prompt = 'Be brief.' }]"


def noisy(side: int = 40) -> bytes:
    """A PNG that cannot be compressed, so that what keeps it twice is twice as large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\x00" + os.urandom(3 * side) for _ in range(side)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def write_plan(
    folder: Path, url: str, rows: list[dict[str, Any]], *, conditions: str = CONDITIONS, model: str = ""
) -> Path:
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"{conditions}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{url}'\n{model}\n",
        encoding="utf-8",
    )
    return plan


def row(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "prompt": f"{name}: how many dots?", "answer": 7, **more}


def test_a_picture_is_asked_of_kept_once_and_seen(
    tmp_path: Path, cli: Cli, store: Path, chat_server: ChatServer
) -> None:
    picture = Picture.of(noisy(300))
    (tmp_path / "dots.png").write_bytes(picture.content)
    chat_server.plays(*[reply("Answer: 7")] * 6)
    rows = [row("a", image="dots.png"), row("b", image=picture.url), row("c")]
    plan = write_plan(tmp_path, chat_server.url, rows)
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stdout + ran.stderr

    contents = [each["messages"][-1]["content"] for each in chat_server.requests]
    seen = [each for each in contents if not isinstance(each, str)]
    assert len(seen) == 4
    assert {each[0]["image_url"]["url"] for each in seen} == {picture.url}
    with Store(store) as opened:
        asked = {question.id: question for question in opened.questions()}
        assert [asked[name].images for name in "abc"] == [(picture,), (picture,), ()]
        (trial, other) = (each.trial for each in opened.summaries() if each.question == "a")
        assert opened.conversation(trial)[0].request.messages[-1].images == (picture,)
    assert sum(file.stat().st_size for file in store.parent.iterdir()) < 1.6 * len(picture.content)
    assert "Nothing is damaged" in cli("verify", store).stdout
    shown = cli("show", store, trial)
    assert " ".join(shown.stdout.split()).count(picture.said) == 2
    _is_on_the_pages(store, trial, other, picture)


def _is_on_the_pages(store: Path, trial: str, other: str, picture: Picture) -> None:
    with serving(viewing(store, indexed(store, store.parent / "index.sqlite"))) as site:

        def page(path: str) -> str:
            request = urllib.request.Request(f"{site.base}{path}", headers={"Cookie": site.cookie})
            return str(urllib.request.urlopen(request).read().decode())

        at = page(f"/trial/{trial}")
        (question,) = set(re.findall(r'href="(/question/[^"?]+)', at))
        for text in (at, page(f"/trial/{other}"), page(question)):
            assert text.count(f'<img src="{picture.url}" width="{picture.width}"') == 1
        assert "Image 1 of the user&#39;s message" in at


def test_the_id_of_a_question_follows_its_picture() -> None:
    one, other = (Picture.of(base64.b64decode(png(side, 2))) for side in (3, 4))
    question = Question.model_validate({"id": "q", "prompt": "p", "target": {"kind": "number", "value": 1}})
    ids = {question.model_copy(update={"images": images}).identity() for images in ((), (one,), (other,), (one, other))}
    assert len(ids) == 4


def test_a_model_that_sees_nothing_is_refused_before_a_request_or_fails(
    tmp_path: Path, cli: Cli, store: Path, chat_server: ChatServer
) -> None:
    rows = [row("a"), row("b", image=Picture.of(noisy()).url)]
    blind = {"conditions": "conditions = ['none']", "model": "capabilities = { images = false }"}
    refused = cli("run", write_plan(tmp_path, chat_server.url, rows, **blind))
    assert (refused.returncode, chat_server.requests, store.exists()) == (2, [], False)
    assert "model 'm': question 'b' has images, but capabilities.images is false" in refused.stderr
    plots = "conditions = [{ name = 'python', show_plots = true }]"
    refused = cli("run", write_plan(tmp_path, chat_server.url, rows[:1], conditions=plots, model=blind["model"]))
    assert (refused.returncode, chat_server.requests) == (2, [])
    assert "condition 'python' sets show_plots, but capabilities.images is false" in refused.stderr
    none = "conditions = [{ name = 'none', show_plots = true }]"
    refused = cli("run", write_plan(tmp_path, chat_server.url, rows, conditions=none))
    assert "'none' has show_plots and no tools that could give an image" in refused.stderr

    def blindly(request: dict[str, Any]) -> Any:
        pictured = isinstance(request["messages"][-1]["content"], list)
        return Status(400, {"message": "m is not a multimodal model"}) if pictured else reply("Answer: 7")

    chat_server.answers(blindly)
    ran = cli("run", write_plan(tmp_path, chat_server.url, rows, conditions="conditions = ['none']"))
    assert ran.returncode == 1
    assert len(chat_server.requests) == 2
    assert outcomes(store) == {("a", "none"): ("answered", "correct"), ("b", "none"): ("failed", None)}
    with Store(store) as opened:
        failures = [event for trace in opened.traces() for event in trace.events if event.kind == "failure"]
    assert [(each.code, "capabilities.images = false" in each.message) for each in failures] == [("no_images", True)]


CELL = "import matplotlib.pyplot as plt; plt.plot([1, 3, 2]); plt.show()"


@pytest.mark.deep
def test_seeing_a_plot_is_a_condition_of_its_own(
    tmp_path: Path, cli: Cli, store: Path, chat_server: ChatServer
) -> None:
    def draws(request: dict[str, Any]) -> Any:
        drawn = any(message["role"] == "tool" for message in request["messages"])
        return reply("Answer: 7") if drawn else reply(None, ("python", {"code": CELL}))

    chat_server.answers(draws)
    arms = "conditions = ['python', { name = 'sees', base = 'python', show_plots = true }]"
    ran = cli("run", write_plan(tmp_path, chat_server.url, [row("a")], conditions=f"{arms}\n{KERNELS}"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with Store(store) as opened:
        traces = {opened.condition(trace.trial.condition).name: trace for trace in opened.traces()}
        seen = {name: [each.images for each in trace.events[2].request.messages] for name, trace in traces.items()}
    assert not any(seen["python"])
    (picture,) = seen["sees"][-1]
    drawn = base64.b64decode(traces["sees"].events[1].artifacts[0].data)
    assert picture == Picture.of(drawn)
    assert b"Software" in drawn
    assert b"Software" not in picture.content
    last = [each["messages"][-1] for each in chat_server.requests if len(each["messages"]) > 3]
    shown = [each["content"][1]["image_url"]["url"] for each in last if each["role"] == "user"]
    assert shown == [picture.url]
    replayed = cli("replay", store, traces["sees"].trial.id, "--from", "2", "--answer-now")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    again = chat_server.requests[-1]["messages"]
    assert [each["role"] for each in again[-3:]] == ["tool", "user", "user"]
    assert again[-2]["content"][1]["image_url"]["url"] == picture.url
