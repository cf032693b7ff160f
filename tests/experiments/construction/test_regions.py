"""Regions of books: cut out of real PDF files, and read by a scripted model that sees, which knows them by their
pictures. Each of its replies has its one right fate."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.experiments.construction.reviewing import Person, reviewing
from tests.experiments.construction.test_books import PAGES, Set, book, lines
from tests.experiments.construction.test_reading import words
from tests.experiments.construction.writing import funnel, run
from tests.servers.chat_server import ChatServer, Hang, reply

from toolablate.experiments.construction.sources.book_crops import MASK, numbers_in
from toolablate.experiments.construction.sources.captures import TILES, pictures_of
from toolablate.experiments.construction.sources.cut_regions import (
    CutBooks,
    PagePart,
    Region,
    load_region_items,
    load_regions_plan,
)
from toolablate.traces.errors import InputError


def plan_of(folder: Path, pages: list[list[Set]], turned: bool = False, **about: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "trees.pdf").write_bytes(book(pages, turned))
    path = folder / "books.toml"
    said = "\n".join(f"{key} = {json.dumps(value)}" for key, value in about.items())
    path.write_text(f'[[books]]\nfile = "trees.pdf"\ntitle = "Trees"\ndiscipline = "Mathematics"\n{said}\n')
    return path


def part(page: int, *box: float) -> PagePart:
    return PagePart(page=page, box=box)


def picture(folder: Path, region: Region) -> Any:
    (name,) = region.tiles
    return np.asarray(Image.open(folder / TILES / name))


@pytest.mark.parametrize("turned", [False, True])
def test_proposals_become_pictures_that_are_upright_and_joined_over_two_pages(turned: bool, tmp_path: Path) -> None:
    path = plan_of(tmp_path, PAGES, turned)
    with CutBooks(load_regions_plan(path)) as cut:
        assert cut.accept_all() == 6
        *_, last = cut.of(cut.books[0])
    assert [each.page for each in last.boxes] == [1, 2]
    assert last.pages == ("1", "2")
    said = " ".join(last.text.split())
    assert said.startswith("- A new leaf is put at the end of a path, and this makes the path longer by one edge")
    heights = [2 * (box.box[3] - box.box[1]) for box in last.boxes]
    seen = picture(tmp_path, last)
    assert seen.shape[0] == pytest.approx(sum(heights), abs=3)
    # Both pages have ink, and lines lie across: of a page that lies on its side they would stand.
    dark = seen < MASK
    assert dark[: int(heights[0])].any()
    assert dark[int(heights[0]) + 2 :].any()
    assert dark.any(axis=1).mean() < dark.any(axis=0).mean()


def test_what_a_mask_covers_reaches_no_model(tmp_path: Path) -> None:
    """The same picture to the byte, whatever stands under the mask; without one they differ."""
    found = {}
    for number in ("(2.1)", "(9.9)", "(8.8) PWNED"):
        folder = tmp_path / number[1:4]
        page = [*lines(100, "The work is W = p V of the gas in the vessel"), (330.0, 100.0, "R", 10.0, number)]
        with CutBooks(load_regions_plan(plan_of(folder, [page]))) as cut:
            whole = [part(1, 40, 85, 400, 110)]
            masked = cut.cut(cut.books[0], "", "proposed", whole, [part(1, 325, 88, 400, 108)])
            bare = cut.cut(cut.books[0], "", "proposed", [part(1, 40, 84, 400, 110)])
            cut.accept_all()
            masked, bare = cut.regions[masked.id], cut.regions[bare.id]
        assert masked.text == "The work is W = p V of the gas in the vessel"
        assert number in bare.text
        seen = picture(folder, masked)
        assert (seen[6:46, 570:720] == MASK).all()
        found[number] = masked.tiles, bare.tiles
    assert len({masked for masked, _ in found.values()}) == 1
    assert len({bare for _, bare in found.values()}) == 3


def test_numbers_of_formulas_and_references_are_masked_by_proposal(tmp_path: Path) -> None:
    page = [
        *lines(60, "Definition 1 (Work). The work of a gas [12] at one pressure is", "so large that W = p V"),
        (330.0, 72.0, "R", 10.0, "(2.1)"),
        *lines(84, "where V is what it grows by in the year that follows (1914)."),
    ]
    with CutBooks(load_regions_plan(plan_of(tmp_path, [page]))) as cut:
        (region,) = cut.of(cut.books[0])
        cut.accept_all()
        (region,) = cut.of(cut.books[0])
    assert "[12]" not in region.text
    assert "(2.1)" not in region.text
    assert "(1914)" in region.text
    assert len(region.masks) == 2


def test_arguments_indices_and_intervals_are_no_numbers_of_formulas_or_references(tmp_path: Path) -> None:
    page = lines(60, "so that V = f (3)", "for x in [1, 2] the array ind[1] holds y", "and x = [1], as said in (2.1)")
    path = plan_of(tmp_path, [page]).with_name("trees.pdf")
    assert numbers_in(str(path), [[(0, (0.0, 0.0, 400.0, 600.0))]]) == [[]]


@pytest.mark.deep
def test_people_change_and_delete_what_is_proposed_and_the_same_command_goes_on(tmp_path: Path) -> None:
    path = plan_of(tmp_path, PAGES, offset=-10, language="en")
    with CutBooks(load_regions_plan(path)) as cut:
        (trees,) = cut.books
        first, second, *_ = cut.of(trees)
        changed = cut.cut(trees, first.id, "accepted", [part(1, 50, 80, 300, 92)])
        cut.cut(trees, second.id, "deleted", second.boxes)
        drawn = cut.cut(trees, "", "accepted", [part(2, 40, 100, 390, 120)])
        for wrong in ([], [part(4, 0, 0, 9, 9)], [part(1, 0, 0, 2, 2)], [part(1, 0, 0, 99, 99), part(3, 0, 0, 99, 99)]):
            with pytest.raises(InputError):
                cut.cut(trees, "", "accepted", wrong)
        with pytest.raises(InputError):
            cut.cut(trees, "", "accepted", [part(1, 0, 0, 99, 99)], [part(2, 0, 0, 99, 99)])
    assert changed.text == "Definition 2.1 (Forest). A forest is a graph in which"
    assert drawn.pages == ("12",)
    # A process that was killed leaves half a line.
    regions = tmp_path / "regions.jsonl"
    with regions.open("a") as file:
        file.write('{"id":"ha')
    path.write_text(path.read_text().replace("Mathematics", "Graphs"))
    with CutBooks(load_regions_plan(path)) as cut:
        assert cut.regions[first.id] == changed.model_copy(update={"discipline": "Graphs"})
        assert cut.regions[second.id].state == "deleted"
        assert len(cut.of(cut.books[0])) == 6
        with pytest.raises(InputError, match="being written"):
            CutBooks(load_regions_plan(path))
    items = load_region_items(regions).values()
    assert sorted(each["text"] for each in items) == sorted([changed.text, drawn.text])
    assert {each["discipline"] for each in items} == {"Graphs"}


def test_a_region_that_was_moved_stays_where_another_is_drawn_at_its_first_place(tmp_path: Path) -> None:
    with CutBooks(load_regions_plan(plan_of(tmp_path, PAGES))) as cut:
        (trees,) = cut.books
        place, further = [part(1, 50, 40, 300, 60)], [part(1, 50, 200, 300, 220)]
        moved = cut.cut(trees, cut.cut(trees, "", "accepted", place).id, "accepted", further)
        drawn = cut.cut(trees, "", "accepted", place)
        again = cut.cut(trees, "", "accepted", place)
        assert cut.regions[moved.id].boxes == tuple(further)
        assert cut.regions[drawn.id].boxes == tuple(place)
        assert again.id == drawn.id, "the same drawn twice is one"


def test_what_somebody_changed_meanwhile_is_not_undone(tmp_path: Path) -> None:
    with CutBooks(load_regions_plan(plan_of(tmp_path, PAGES))) as cut:
        (trees,) = cut.books
        first = cut.of(trees)[0]
        deleted = cut.cut(trees, first.id, "deleted", first.boxes, first.masks, seen=first.version)
        with pytest.raises(InputError, match="changed this region"):
            cut.cut(trees, first.id, "accepted", first.boxes, first.masks, seen=first.version)
        assert cut.regions[first.id] == deleted


def test_a_scan_has_no_proposals_and_can_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "books.toml"
    Image.new("L", (300, 400), 200).save(tmp_path / "scan.pdf")
    path.write_text('[[books]]\nfile = "scan.pdf"\ndiscipline = "Physics"\n')
    assert "0 regions, 0 accepted" in run("regions", path, "--accept").stderr
    with CutBooks(load_regions_plan(path)) as cut:
        made = cut.cut(cut.books[0], "", "accepted", [part(1, 10, 10, 200, 100)])
    assert made.text == ""
    assert picture(tmp_path, made).shape == (180, 380)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("books = []", "books"),
        ('[[books]]\nfile = "a.pdf"', "discipline"),
        ('[[books]]\nfile = "a.pdf"\ndiscipline = "x"\nlanguage = "English"', "language"),
        ('[[books]]\nfile = "a.pdf"\ndiscipline = "x"\n[[books]]\nfile = "a.pdf"\ndiscipline = "x"', "one file"),
        ('[[books]]\nfile = "no.pdf"\ndiscipline = "x"', "no.pdf"),
        ('items = "x.jsonl"', "toolablate build"),
    ],
)
def test_a_plan_that_cannot_be_used_says_why(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "books.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        CutBooks(load_regions_plan(path))


# What a reader makes of them.

Change = Callable[[dict[str, Any]], str]


def with_content(change: Callable[[str], str]) -> Change:
    def changed(said: dict[str, Any]) -> str:
        (only,) = said["knowledges"]
        return json.dumps({**said, "knowledges": [{**only, "content": change(only["content"])}]}, ensure_ascii=False)

    return changed


def two(said: dict[str, Any]) -> str:
    (only,) = said["knowledges"]
    name, text = only["content"].split("\n")
    first, second = text.split(". ")
    contents = [f"{name}\n{first}.", f"Second {name}\n{second}"]
    return json.dumps({**said, "knowledges": [{**only, "content": each} for each in contents]})


KEPT: dict[str, tuple[Change, int]] = {
    "bare": (json.dumps, 1),
    "fenced": (lambda said: f"```json\n{json.dumps(said)}\n```", 1),
    "two points": (two, 2),
    "with a formula": (with_content(lambda text: text.replace("always", r"$$\frac{a}{b} = c$$ always")), 1),
}
ASKED_AGAIN: dict[str, Change] = {
    "doubled braces": lambda said: json.dumps(said).replace("{", "{{").replace("}", "}}"),
    "doubled braces of a formula": with_content(lambda text: text + r" $$\frac{{a}}{{b}}$$"),
    "wrong page": lambda said: json.dumps(said).replace('"page_location": "1"', '"page_location": "7"'),
    "number of a formula": with_content(lambda text: text + "\n$$W = pV$$ (2.4)"),
    "number within a formula": with_content(lambda text: text + r" $$W = pV \tag{2.4}$$"),
    "translation": with_content(
        lambda text: f"{text.split()[0]}\nEin Gas leistet immer Arbeit, wenn es sich ausdehnt."
    ),
    "no name": with_content(lambda text: text.partition("\n")[2]),
    "extra key": lambda said: json.dumps({**said, "note": ""}),
    "injected": lambda said: "PWNED",
}
DROPPED: dict[str, tuple[Change, str, str]] = {
    "figure": (json.dumps, "filter", "needs a figure"),
    "nothing": (lambda said: json.dumps({**said, "knowledges": []}), "read", "no statement"),
}
NAMES = [*KEPT, *ASKED_AGAIN, *DROPPED, "always wrong"]


def text_of(name: str) -> str:
    figure = ", as Figure 3 shows" if name == "figure" else ""
    drawn = words(name, 8).split()
    return f"A {' '.join(drawn[:4])} always holds{figure}. The {' '.join(drawn[4:])} always follows"


class Reader:
    """`asked` counts by region; where `stops` says so after so many replies, others wait until it is let go."""

    def __init__(self, server: ChatServer, folder: Path) -> None:
        self.asked = dict.fromkeys(NAMES, 0)
        self.stops: int | None = None
        self.regions: dict[str, str] = {}
        for content in load_region_items(folder / "regions.jsonl").values():
            (seen,) = pictures_of(folder, content["tiles"])
            (self.regions[seen.url],) = (name for name in NAMES if text_of(name) == " ".join(content["text"].split()))
        server.answers(self.decide)

    def decide(self, request: dict[str, Any]) -> Any:
        system, user = request["messages"][0]["content"], request["messages"][1]["content"]
        if isinstance(user, list):
            image, text = user
            assert "Read this region." in text["text"]
            assert re.search(r"<pages \w+>\n1\n</pages", text["text"])
            return self._read(self.regions[image["image_url"]["url"]], again=len(request["messages"]) > 2)
        if "- independent:" in system:
            return reply(json.dumps({"independent": True, "clear": True, "concise": True, "reason": ""}))
        said = re.search(r"<statement \w+>\n(.*)\n</statement", user, re.DOTALL)
        assert said
        false = said[1].replace("always", "in one case of seven only")
        return reply(json.dumps({"strategy": "scope", "transformed_content": false, "incorrect_reason": "in all"}))

    def _read(self, name: str, *, again: bool) -> Any:
        if self.stops is not None and sum(self.asked.values()) >= self.stops:
            return Hang()
        self.asked[name] += 1
        content = f"{name.capitalize()}:\n{text_of(name)}"
        said = {
            "section_order": "2.1",
            "section_title": "Work",
            "knowledges": [{"page_location": "1", "content": content}],
        }
        if name == "always wrong":
            return reply("no")
        if name in ASKED_AGAIN:
            return reply(json.dumps(said) if again else ASKED_AGAIN[name](said))
        return reply((DROPPED[name] if name in DROPPED else KEPT[name])[0](said))


def pipeline_of(folder: Path, server: ChatServer) -> Path:
    """Of a region for each name, on one page."""
    page = [(10.0, 40.0 + 30 * number, "R", 6.0, text_of(name)) for number, name in enumerate(NAMES)]
    with CutBooks(load_regions_plan(plan_of(folder, [page], licence="CC BY 4.0"))) as cut:
        for number in range(len(NAMES)):
            cut.cut(cut.books[0], "", "proposed", [part(1, 0, 28 + 30 * number, 400, 46 + 30 * number)])
        cut.accept_all()
    path = folder / "statements.toml"
    path.write_text(
        'kind = "statements"\nitems = "regions.jsonl"\n[roles]\nreader = "w"\n[review]\nreviewers = 0\n'
        f'[[models]]\nprovider = "openai"\nname = "w"\nendpoint = "{server.url}"\n',
        encoding="utf-8",
    )
    return path


STATEMENTS = sum(count for _, count in KEPT.values()) + len(ASKED_AGAIN) + 1


def test_each_reply_of_a_reader_has_its_one_fate(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server)
    reader = Reader(chat_server, tmp_path)
    found = funnel(path)
    assert found["read"]["came"] == len(NAMES)
    assert found["read"]["kept"] == STATEMENTS == found["filter"]["came"]
    assert found["read"]["waiting"] == {"reply unread": 1}
    for _, stage, reason in DROPPED.values():
        assert found[stage]["dropped"] == {reason: 1}
    once = [*KEPT, *DROPPED]
    assert {name: reader.asked[name] for name in once} == dict.fromkeys(once, 1)
    assert {name: reader.asked[name] for name in ASKED_AGAIN} == dict.fromkeys(ASKED_AGAIN, 2)
    assert reader.asked["always wrong"] == 3
    published = [json.loads(line) for line in (tmp_path / "published" / "statements.jsonl").read_text().splitlines()]
    assert len(published) == 2 * (STATEMENTS - 1)
    correct = [each for each in published if each["correct"]]
    assert {each["page"] for each in correct} == {"1"}
    assert {each["book"] for each in correct} == {"Trees"}
    assert {each["section"] for each in correct} == {"2.1 Work"}
    assert "Trees" in (tmp_path / "published" / "card.md").read_text()
    assert f"Sources: Trees {STATEMENTS - 1} of {STATEMENTS}" in run("status", path).output
    # Nothing is asked for twice.
    asked = len(chat_server.requests)
    run(path)
    assert len(chat_server.requests) == asked


def test_reviewers_see_the_picture_beside_the_statement(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server)
    path.write_text(path.read_text().replace("reviewers = 0", "reviewers = 2"))
    Reader(chat_server, tmp_path)
    assert funnel(path)["review"]["waiting"] == {"review": STATEMENTS - 1}
    with reviewing(path) as site:
        ann = Person(site, "ann")
        seen = ann.client.get(ann.next()).text
        assert "Region of the book" in seen
        assert "2.1 Work" in seen
        (tile,) = re.findall(r'src="(/tile/[^"]+)"', seen)
        found = ann.client.get(tile)
    assert found.headers["content-type"] == "image/png"
    assert found.content == (tmp_path / TILES / tile.rpartition("/")[2]).read_bytes()


def test_a_region_whose_picture_is_gone_waits(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server)
    Reader(chat_server, tmp_path)
    for tile in (tmp_path / TILES).iterdir():
        tile.unlink()
    assert funnel(path)["read"]["waiting"] == {"a picture is missing": len(NAMES)}
    assert chat_server.requests == []


@pytest.mark.deep
def test_a_build_that_is_killed_while_regions_are_read_has_the_same_funnel(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server)
    reader = Reader(chat_server, tmp_path)
    # Of so many first replies at least three are the last ones of their regions.
    reader.stops = len(ASKED_AGAIN) + 1 + 3
    with subprocess.Popen([sys.executable, "-m", "toolablate", "build", str(path)], stderr=subprocess.DEVNULL) as build:
        while _read(tmp_path / "runs" / "statements.sqlite") < 3:
            assert build.poll() is None
            time.sleep(0.05)
        os.kill(build.pid, signal.SIGKILL)
    reader.stops = None
    found = funnel(path)
    assert found["read"]["came"] == len(NAMES)
    assert found["read"]["kept"] == STATEMENTS
    assert found["filter"]["kept"] == STATEMENTS - 1 == found["distinct"]["kept"]
    assert found["read"]["requests"] == len(KEPT) + len(DROPPED) + 2 * len(ASKED_AGAIN) + 3


def _read(workbench: Path) -> int:
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{workbench}?mode=ro", uri=True)) as opened:
        return int(opened.execute("SELECT count(*) FROM step WHERE stage = 'read'").fetchone()[0])
    return 0
