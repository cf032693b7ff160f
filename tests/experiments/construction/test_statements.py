"""Statements of a textbook: what cannot stand alone goes, each other one gets a false twin, and a false book is made."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.construction.writing import funnel, run
from tests.servers.chat_server import ChatServer, reply

from toolablate.benchmarks.encyclo_k.statements import load_statements
from toolablate.experiments.construction import publishing
from toolablate.experiments.construction.book_worlds import book_worlds
from toolablate.experiments.construction.stages import Dropped, Kept
from toolablate.experiments.construction.statement_stages import (
    CheckTwin,
    StandsAlone,
    _undenied,
    set_alike,
    twin_faults,
)

STATEMENTS = [
    "Simplex method:\nThe simplex method moves along the edges of the feasible region to an optimal vertex.",
    "Duality gap:\nIn linear programming the optimal values of primal and dual are equal, so that the gap is 0.",
    "Branch and bound:\nBranch and bound discards a node whose relaxation is worse than the best known solution.",
    "Pivot:\nAs Figure 3 shows, the pivot enters the basis at $x_1$.",
    "Bounds:\nBy equation (2.4) the bound is tight.",
    "Coal:\n我国煤炭资源丰富。",
]
FALSE = {
    "vertex": "Simplex method:\nThe simplex method moves through the interior of the feasible region to an optimal vertex.",
    "equal": "Duality gap:\nIn linear programming the optimal value of the primal exceeds that of the dual by a gap of 1.",
    "discards": "Branch and bound:\nBranch and bound keeps a node whose relaxation is worse than the best known solution.",
}


def falsified(text: str) -> dict[str, Any]:
    (mark,) = [mark for mark in FALSE if mark in text]
    return {"strategy": "concept", "transformed_content": FALSE[mark], "incorrect_reason": f"it is {mark}"}


def decide(request: dict[str, Any]) -> Any:
    system, user = request["messages"][0]["content"], request["messages"][1]["content"]
    said = re.search(r"<statement \w+>\n(.*)\n</statement", user, re.DOTALL)
    assert said
    if "- independent:" in system:
        return reply(json.dumps({"independent": True, "clear": True, "concise": True, "reason": ""}))
    return reply(json.dumps(falsified(said[1])))


def pipeline_of(folder: Path, server: ChatServer, more: str = "[review]\nreviewers = 0\n") -> Path:
    rows = [
        {"text": text, "discipline": "Engineering", "book": "GLPK", "page": str(n), "licence": "GFDL"}
        for n, text in enumerate(STATEMENTS)
    ]
    (folder / "statements.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    path = folder / "book.toml"
    path.write_text(
        f'kind = "statements"\nitems = "statements.jsonl"\n{more}\n'
        f'[[models]]\nprovider = "openai"\nname = "w"\nendpoint = "{server.url}"\n',
        encoding="utf-8",
    )
    server.answers(decide)
    return path


def test_statements_get_false_twins_and_a_book_of_each(chat_server: ChatServer, tmp_path: Path) -> None:
    pages = [
        {"text": text.partition("\n")[2].replace(" of the ", "\n  of the "), "title": "p", "licence": "GFDL"}
        for text in STATEMENTS[:2]
    ]
    pages.append({"text": "An index, which is the same in both.", "title": "i"})
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, pages)), encoding="utf-8")
    worlds = '[review]\nreviewers = 0\n[worlds]\npages = "pages.jsonl"\n'
    path = pipeline_of(tmp_path, chat_server, worlds)
    found = funnel(path)
    assert found["filter"]["dropped"] == {
        "needs a figure": 1,
        "refers to a place of the book": 1,
        "speaks of where it stands": 1,
    }
    assert found["review"]["kept"] == 3
    published = tmp_path / "published"
    statements = load_statements(published / "statements.jsonl")
    assert [each.correct for each in statements] == [True, False] * 3
    assert {each.text for each in statements if not each.correct} == set(FALSE.values())
    assert {each.licence for each in statements} == {"GFDL"}
    assert all(each.reason and each.strategy and each.book for each in statements if not each.correct)
    rows = {
        name: [json.loads(line) for line in (published / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("statements", "book", "falsified_book")
    }
    true, false = rows["book"], rows["falsified_book"]
    assert [row["text"] for row in true] == [page["text"] for page in pages]
    twins = [FALSE["vertex"].partition("\n")[2], FALSE["equal"].partition("\n")[2]]
    assert [row["text"] for row in false] == [*twins, pages[2]["text"]]
    assert [row.get("falsified") for row in true + false] == [None] * 3 + [True, True, None]
    assert [row.get("licence") for row in true] == [row.get("licence") for row in false] == ["GFDL", "GFDL", None]
    canaries = {row["canary"] for of_file in rows.values() for row in of_file}
    assert len(canaries) == 1
    assert canaries.pop() in (published / "card.md").read_text(encoding="utf-8")
    assert "3 statements: 3 falsified by concept" in (published / "card.md").read_text(encoding="utf-8")
    told = run("status", path).output
    # Reasons are not folded for it.
    assert "Not shown, for want of width: Encyclo-K" in told
    assert "Encyclo-K's paper: filter 25,563 → 21,525 statements" in told
    assert [found[stage]["paper"] for stage in ("filter", "falsify", "review")] == [
        "25,563 → 21,525",
        "21,525 → 21,494",
        "",
    ]
    assert "Sources: GLPK 3 of 6" in told


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("World War I (1914-1918) ended with an armistice.", ""),
        ("Ductility falls in a narrow range (0.2-0.4) of strain. The Gini coefficient (0.35) measures it.", ""),
        ("From (2.4) the bound is tight.", "a place"),
        ("The work is $W = pV$ (2.4)", "a place"),
        ("$E = mc^2$ (2.4), where $c$ is the speed of light.", "a place"),
        ("E = mc^2 (2.4) ,\nin which c is the speed of light.", "a place"),
        ("With $r = 2$ (1.5 at most), where it holds.", ""),
        ("由(2-4)可得功。", "a place"),
        ("许多现象如表面张力、毛细作用都源于分子间力。常见表面活性剂是皂类。", ""),
        ("一个字节代表8个二进制位。地图3D建模使用激光。", ""),
        ("如图3所示，水沸腾。", "a figure"),
        ("由表2-1可知，水沸腾。", "a figure"),
        ("结果见下表。", "a figure"),
        ("结果如图所示。", "a figure"),
        ("A byte table 8 entries wide holds the map.", ""),
        ("Table 8 has it; so has fig. 3.", "a figure"),
        ("As in table 8, it boils.", "a figure"),
        ("Water boils (figure 2).", "a figure"),
        ("L'eau bout, voir la figure 3.", "a figure"),
        ("A map (table 8 entries wide) is one.", ""),
        ("日本国宪法规定天皇是国家的象征。汇率是本国货币的价格。", ""),
        ("基本节律由窦房结产生。样本书写数据用于训练模型。", ""),
        ("A page 4 kB large is mapped by the kernel.", ""),
        ("A cross section 2 m wide carries the flow. For example 2 is prime.", ""),
        ("The formula 2H2 + O2 gives water. Equation 3x = 6 has one root.", ""),
        ("By equation 3.2a it holds.", "a place"),
        ("Section 4 says so; it holds on page 12.", "a place"),
        ("See figures below.", "a figure"),
        ("在本章中，水沸腾。", "where it stands"),
        ("本书说水沸腾。", "where it stands"),
    ],
)
def test_what_cannot_stand_alone_is_told_from_years_measures_and_words(text: str, reason: str) -> None:
    outcome = asyncio.run(StandsAlone().take("a", {"text": text}, None, ask=None))  # type: ignore[arg-type]
    assert reason in (outcome.reason if isinstance(outcome, Dropped) else "")
    assert isinstance(outcome, Dropped) == bool(reason)


def test_blanks_behind_a_number_of_a_formula_cost_no_time() -> None:
    """With 200 signs before them a rule that reads them again and again does not end in sensible time."""
    text = f"{'=' * 200}(1.2){' ' * 60_000}x"
    outcome = asyncio.run(StandsAlone().take("a", {"text": text}, None, ask=None))  # type: ignore[arg-type]
    assert not isinstance(outcome, Dropped)


CORRECT = "Boiling:\nAt 1 atm water boils at 373 K, since its vapour pressure is 1 atm there."


@pytest.mark.parametrize(
    ("false", "told"),
    [
        (CORRECT.upper() + ".", "says the same"),
        (CORRECT.replace("boils", "does not boil").replace("boil ", "boils "), "merely denies"),
        (CORRECT.replace("boils", "does not boil"), "merely denies"),
        (CORRECT.replace("boils", "doesn’t boil"), "merely denies"),
        (CORRECT.replace("pressure is", "pressure isn't"), "merely denies"),
        (CORRECT.replace("At 1 atm", "It is false that at 1 atm"), "merely denies"),
        (CORRECT.replace("At 1 atm", "It's not true that at 1 atm"), "merely denies"),
        (f"{CORRECT} (This statement is false.)", "merely denies"),
        (CORRECT.replace("At", "False: at"), "merely denies"),
        (CORRECT.replace("373", "353") + " (This statement is false.)", "says of itself"),
        (CORRECT.replace("373", "353") + " That is not true.", "says of itself"),
        (CORRECT.replace("is 1 atm", "was 1 atm"), ""),
        (CORRECT.replace("373 K", "373.0 K"), "says the same"),
        (CORRECT.replace("boils", "does not boil").replace("373 K", "373.0 K"), "merely denies"),
        (f"{CORRECT} [falsified]", "merely denies"),
        (CORRECT.replace("373", "353") + " [falsified]", "says of itself"),
        (CORRECT.replace("373", "353") + " (modified statement)", "says of itself"),
        (CORRECT.replace("373", "353") + " Note: the original said 373.", "says of itself"),
        (CORRECT.replace("373", "353") + " The correct statement is 373.", "says of itself"),
        (CORRECT.replace("373", "3\u202e53"), "nobody sees, U+202E: leave"),
        (CORRECT.replace("373", "353") + " Ask jo@mail.example.", "leave out 'jo@mail.example'"),
        (CORRECT.replace("373", "353") + " See https://a.example/b.", "leave out 'https://a.example/b'"),
        ("Boiling:\nNo.", "has 12 characters"),
        (CORRECT.replace("Boiling", "Cooking").replace("373", "353"), "first line"),
        ("Boiling:\n在一个大气压下水在三百五十三开尔文沸腾，因为其蒸气压在那里为一个大气压。", "another language"),
        ("Boiling:\nBei 1 atm siedet das Wasser bei 353 K, weil sein Dampfdruck dort 1 atm ist.", "another language"),
        (CORRECT.replace("373", "353"), ""),
    ],
)
def test_what_is_no_twin_is_asked_for_again(false: str, told: str) -> None:
    faults = "; ".join(twin_faults(CORRECT, false))
    assert told in faults
    assert bool(told) == bool(faults)


@pytest.mark.parametrize(
    ("correct", "false", "told"),
    [
        ("Pumps cannot lift water by suction above 10 m.", "Pumps can lift water by suction above 10 m.", "denies"),
        ("Pumps carry water upwards.", "Pumps don't carry water upwards.", "denies"),
        ("A pump carries water upwards.", "A pump does not carry water upwards.", "denies"),
        ("The engine stopped at noon.", "The engine didn't stop at noon.", "denies"),
        ("水在一个大气压下沸腾于三百七十三开尔文。", "水在一个大气压下并不沸腾于三百七十三开尔文。", "denies"),
        ("汞是室温下的液态金属。", "汞并非室温下的液态金属。", "denies"),
        ("汞是室温下的液态金属。", "汞是室温下的固态金属。这种说法是错误的。", "of itself"),
        ("汞是室温下的液态金属。", "汞是室温下的固态金属。（原文为液态）", "of itself"),
        ("Das Wasser siedet hier bei 353 K.", "Das Wasser siedet hier bei 373 K [verfälscht].", "of itself"),
        ("The Euler method has order 2.", "The improved (modified) Euler method has order 3.", ""),
        ("The Euler method has order 2.", "[Modified] The Euler method has order 3.", "of itself"),
        ("A soft\u00adware runs on 2 cores here.", "A soft\u00adware runs on 3 cores here.", ""),
        ("A copy reads slowly from a disk.", "The original reads slowly from a disk.", ""),
        ("Das Wasser siedet hier bei 353 K.", "Das Wasser siedet hier nicht bei 353 K.", "denies"),
        ("Water is dense.\nIce floats on it.", "Water is heavy.\nIce floats on it.", ""),
        # These say something else, or say it in words that the correct one has too.
        ("The matrix must be square here.", "The matrix may be square here.", ""),
        ("It is false that all such sequences converge.", "It is false that all such sequences diverge.", ""),
        ("A wrong sign makes the sum too large.", "A wrong sign makes the sum too small.", ""),
        ("A paste needs a film on the ring.", "A paste needs no film on the ring.", "denies"),
        ("There is some friction here.", "There is no friction here.", "denies"),
        ("Der Ring braucht einen Film.", "Der Ring braucht keinen Film.", "denies"),
        ("汞是室温下的液态金属。", "汞不是室温下的液态金属。", "denies"),
        ("不能举到十米以上。", "能举到十米以上。", "denies"),
        ("不饱和脂肪酸在室温下通常呈液态。", "饱和脂肪酸在室温下通常呈液态。", ""),
        ("植物油含有不饱和脂肪酸和非极性分子。", "植物油含有饱和脂肪酸和非极性分子。", ""),
        ("No metal floats on this melt.", "Every metal floats on this melt.", ""),
    ],
)
def test_a_denial_is_found_whatever_its_form(correct: str, false: str, told: str) -> None:
    faults = "; ".join(twin_faults(correct, false))
    assert told in faults
    assert bool(told) == bool(faults), faults


def test_a_refused_twin_is_told_what_to_do() -> None:
    denied = CORRECT.replace("boils", "does not boil")
    for false, told in (
        (denied, "change what it says"),
        ("Boiling:\nNo.", "write 41 to 162"),
        (CORRECT, "change what"),
    ):
        assert told in twin_faults(CORRECT, false)[0]


def test_statements_are_published_under_their_language(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server)
    german = ["Der Ring braucht einen Film aus Wasser, damit er nicht trocken läuft.", "Wasser siedet bei 373 K."]
    twins = {"Ring": german[0].replace("Wasser", "Graphit"), "siedet": german[1].replace("373", "353")}
    rows = [{"text": text, "discipline": "Engineering", "book": "Pumpen"} for text in german]
    rows.append({"text": STATEMENTS[0], "discipline": "Engineering", "book": "GLPK"})
    (tmp_path / "statements.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def decide_german(request: dict[str, Any]) -> Any:
        user = request["messages"][1]["content"]
        twin = next((twin for mark, twin in twins.items() if mark in user), None)
        if twin is None or "- independent:" in request["messages"][0]["content"]:
            return decide(request)
        said = {"strategy": "detail", "transformed_content": twin, "incorrect_reason": "es ist anders"}
        return reply(json.dumps(said))

    chat_server.answers(decide_german)
    funnel(path)
    statements = load_statements(tmp_path / "published" / "statements.jsonl")
    assert [each.language for each in statements] == ["de"] * 4 + ["en"] * 2


def test_people_mend_the_false_statement(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server, "[review]\nreviewers = 1\n")
    assert funnel(path)["review"]["waiting"] == {"review": 3}
    item = json.loads(run("decide", path).output.splitlines()[0])
    mended = item["content"]["text"] + " Always."
    assert item["source"]["text"] in STATEMENTS
    seen = {"item": item["item"], "seen": item["seen"], "reviewer": "ann"}
    decision = {**seen, "verdict": "mend", "content": {"text": mended}}
    (tmp_path / "d.jsonl").write_text(json.dumps(decision), encoding="utf-8")
    run("decide", path, tmp_path / "d.jsonl")
    assert funnel(path)["review"]["kept"] == 1
    texts = [each.text for each in load_statements(tmp_path / "published" / "statements.jsonl")]
    assert mended in texts


def test_lines_of_a_twin_are_as_long_as_those_of_its_book(tmp_path: Path) -> None:
    text = (
        "Heat treatment changes what a metal is made\nof inside. Annealing is the heating of a metal to\na temperature at"
        " which its grains form anew,\nfollowed by cooling in air. It is slow, and costs\nmore than the part itself does"
        " as often as not,\nwhich is why it is done for many at once.\n"
    )
    said = "Annealing is the heating of a metal to a temperature at which its grains form anew, followed by cooling in air."
    twin = said.replace("cooling in air.", "quenching in a bath of brine and a long rest in liquid nitrogen.")
    (tmp_path / "book.jsonl").write_text(json.dumps({"text": text}), encoding="utf-8")
    worlds = book_worlds(tmp_path / "book.jsonl", {"a": {"text": said, "false": {"text": twin}}})
    lines = worlds.false[0]["text"].splitlines()
    assert " ".join(text.split()).replace(said, twin) == " ".join(worlds.false[0]["text"].split())
    assert lines[:3] == text.splitlines()[:3]
    assert max(map(len, lines[:-4])) <= max(map(len, text.splitlines()))


def test_a_list_in_the_false_book_keeps_its_lines(tmp_path: Path) -> None:
    """Of a twin that was written as one line, as models do."""
    text = "Seals keep water in. They are of three kinds.\n• lip seals, of rubber\n• face seals\n• packings.\nSo much."
    said = text.partition("in. ")[2].removesuffix("\nSo much.")
    (tmp_path / "book.jsonl").write_text(json.dumps({"text": text}), encoding="utf-8")
    twin = " ".join(said.split()).replace("lip seals, of rubber", "lip seals, of felt")
    worlds = book_worlds(tmp_path / "book.jsonl", {"a": {"text": said, "false": {"text": twin}}})
    assert worlds.false[0]["text"] == text.replace("of rubber", "of felt")


def test_a_statement_over_two_pages_has_its_twin_on_the_first(tmp_path: Path) -> None:
    pages = tmp_path / "book.jsonl"
    pages.write_text(
        '{"text": "One. Tin melts at"}\n{"text": "505 K. Water boils at 373 K, and tin melts."}\n', encoding="utf-8"
    )
    said = {"a": "Tin melts at 505 K.", "b": "Water boils at 373 K", "c": "boils at 373 K", "d": "Tin boils"}
    twins = {"a": "Tin boils at 505 K.", "b": "Water boils at 353 K", "c": "melts", "d": "Tin melts"}
    worlds = book_worlds(pages, {item: {"text": text, "false": {"text": twins[item]}} for item, text in said.items()})
    assert [page["text"] for page in worlds.true] == [
        "One. Tin melts at",
        "505 K. Water boils at 373 K, and tin melts.",
    ]
    assert [page["text"] for page in worlds.false] == [
        "One. Tin boils at 505 K.",
        " Water boils at 353 K, and tin melts.",
    ]
    assert worlds.found == {"a", "b"}


def test_a_books_statements_are_looked_for_once(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a book of 2 MB each took .1 s, and all of them twice."""
    asked = list[int]()

    def counting(pages: str, contents: Any) -> Any:
        asked.append(len(contents))
        return book_worlds(pages, contents)

    monkeypatch.setattr(publishing, "book_worlds", counting)
    (tmp_path / "pages.jsonl").write_text(json.dumps({"text": STATEMENTS[0].partition("\n")[2]}), encoding="utf-8")
    told = run(pipeline_of(tmp_path, chat_server, '[review]\nreviewers = 0\n[worlds]\npages = "pages.jsonl"\n')).output
    assert asked == [3]
    assert "Looking for 3 statements in the book" in told
    assert "1 of 3 statements stand in the book word for word" in " ".join(told.split())


def test_a_text_is_found_as_often_as_it_stands_there_in_whole_words(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    rows = [{"text": "Retin melts. (Tin\u00a0\n melts.) tin melts"}, {"text": "Tin"}, {"text": "melts. Tin meltsx"}]
    pages.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    worlds = book_worlds(pages, {"a": {"text": "Tin melts", "false": {"text": "Tin boils"}}})
    assert [" ".join(page["text"].split()) for page in worlds.false] == [
        "Retin melts. (Tin boils.) tin boils",
        "Tin boils",
        ". Tin meltsx",
    ]


def test_a_statement_is_false_also_where_its_capital_or_final_stop_differs(tmp_path: Path) -> None:
    rows = [
        "The torque rises by itself. As we saw, the torque\nrises by itself.",
        "The torque rises by itself",
        "That the torque rises by itself, if slowly; the torque rises by itself in DC motors.",
        "the torque rises by itself\nin DC motors. The torque rises by itself.5",
    ]
    pages = tmp_path / "pages.jsonl"
    pages.write_text("\n".join(json.dumps({"text": row}) for row in rows), encoding="utf-8")
    content = {"text": "The torque rises by itself.", "false": {"text": "The torque falls by itself."}}
    worlds = book_worlds(pages, {"a": content})
    assert [" ".join(page["text"].split()) for page in worlds.false] == [
        "The torque falls by itself. As we saw, the torque falls by itself.",
        "The torque falls by itself",
        "That the torque falls by itself, if slowly; the torque rises by itself in DC motors.",
        " ".join(rows[3].split()),
    ]


@pytest.mark.parametrize(
    ("said", "twin", "text", "false"),
    [
        ("Gold melts", "DNA melts", "As gold melts.", "As DNA melts."),
        ("gold melts", "tin melts", "Gold melts.", "Tin melts."),
        ("Gold melts.", "Tin melts!", "All gold melts", "All tin melts!"),
        ("金在水中。", "银在水中。", "所以金在水中，银不在", "所以银在水中，银不在"),
    ],
)
def test_a_twin_has_the_capital_and_stop_of_its_place(
    said: str, twin: str, text: str, false: str, tmp_path: Path
) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_text(json.dumps({"text": text}), encoding="utf-8")
    worlds = book_worlds(pages, {"a": {"text": said, "false": {"text": twin}}})
    assert worlds.false[0]["text"] == false


def test_a_page_of_which_nothing_is_left_is_a_part_of_the_one_before(tmp_path: Path) -> None:
    """Its emptiness marked the falsified book."""
    pages = tmp_path / "pages.jsonl"
    rows = [{"text": "One. Tin melts"}, {"text": "at 505"}, {"text": " K.\n"}, {"text": "Two."}]
    pages.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    worlds = book_worlds(pages, {"a": {"text": "Tin melts at 505 K.", "false": {"text": "Tin boils at 505 K."}}})
    shared = [{key: page[key] for key in ("id", "url", "title")} for page in worlds.true]
    assert shared == [{key: page[key] for key in ("id", "url", "title")} for page in worlds.false]
    assert [page["id"] for page in worlds.true] == ["page-1", "page-4"]
    assert [" ".join(page["text"].split()) for page in worlds.true] == ["One. Tin melts at 505 K.", "Two."]
    assert [(" ".join(page["text"].split()), page.get("falsified")) for page in worlds.false] == [
        ("One. Tin boils at 505 K.", True),
        ("Two.", None),
    ]


def test_a_twin_that_is_a_correct_statement_goes_also_where_that_one_was_dropped(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server)
    # Correct, and dropped since it names an equation; in truth it is what the first one's twin says.
    told = FALSE["vertex"].replace("optimal vertex", "optimal vertex by equation (2.4)")
    items = tmp_path / "statements.jsonl"
    row = {"text": told, "discipline": "Engineering"}
    items.write_text(f"{items.read_text(encoding='utf-8')}\n{json.dumps(row)}", encoding="utf-8")

    def as_told(request: dict[str, Any]) -> Any:
        user = request["messages"][1]["content"]
        if "- independent:" in request["messages"][0]["content"] or "optimal vertex" not in user:
            return decide(request)
        twin = {"strategy": "concept", "transformed_content": told, "incorrect_reason": "it is along the edges"}
        return reply(json.dumps(twin))

    chat_server.answers(as_told)
    assert funnel(path)["check"]["dropped"] == {"equals a correct statement": 1}


def test_a_mend_that_is_another_correct_statement_is_not_published(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server, "[review]\nreviewers = 1\n")
    other = "Simplex method:\nThe simplex method ends at an optimal vertex, where no edge improves the objective."
    items = tmp_path / "statements.jsonl"
    row = {"text": other, "discipline": "Engineering"}
    items.write_text(f"{items.read_text(encoding='utf-8')}\n{json.dumps(row)}", encoding="utf-8")
    twin = {"transformed_content": other.replace("no edge", "each edge"), "incorrect_reason": "none does"}

    def as_told(request: dict[str, Any]) -> Any:
        falsify = "- independent:" not in request["messages"][0]["content"]
        if falsify and "ends at" in request["messages"][1]["content"]:
            return reply(json.dumps({"strategy": "concept", **twin}))
        return decide(request)

    chat_server.answers(as_told)
    assert funnel(path)["review"]["waiting"] == {"review": 4}
    rows = [json.loads(line) for line in run("decide", path).output.splitlines()]
    said = [
        {"item": each["item"], "seen": each["seen"], "reviewer": "ann"}
        | ({"verdict": "mend", "content": {"text": other}} if "along the edges" in each["source"]["text"] else {})
        for each in rows
    ]
    decisions = tmp_path / "decisions.jsonl"
    decisions.write_text("\n".join(json.dumps({"verdict": "accept", **each}) for each in said), encoding="utf-8")
    run("decide", path, decisions)
    found = funnel(path)
    assert found["review"]["kept"] == 4
    assert found["distinct"]["dropped"] == {"equals a correct statement": 1}
    (id_of_other,) = (each["item"] for each in rows if "ends at" in each["source"]["text"])
    assert f"that of {id_of_other}" in run("status", path, "--list").output


def test_endings_are_looked_for_in_linear_time() -> None:
    assert _undenied("s" * 200_000 + "x") == "s" * 200_000 + "x"


@pytest.mark.parametrize(
    ("correct", "false", "pair"),
    [
        # Where nothing but words differs, code keeps its blanks and a list its lines.
        ("if x:\n    y()", "if x:\n    z()", None),
        ("Ohm:\r\nIt falls\r\nby a tenth.", "Ohm:\nIt rises\nby a tenth.", ("Ohm:\nIt falls\nby a tenth.", None)),
        ("Coal burns.", "\n Coal  freezes.\n", (None, "Coal freezes.")),
        (
            "At 3\u00a0K it  melts.\nSo it is.",
            "At 5 K it melts.\n\nSo it is.",
            ("At 3 K it melts.\nSo it is.", "At 5 K it melts.\nSo it is."),
        ),
        ("Ohm:\nIt falls\nby a tenth.", "Ohm:\nIt rises by a tenth.", ("Ohm:\nIt falls by a tenth.", None)),
        ("It is a soft\u00adware.", "It is a hardware.", ("It is a software.", None)),
    ],
)
def test_nothing_but_what_they_say_tells_a_pair_apart(
    correct: str, false: str, pair: tuple[str | None, str | None] | None
) -> None:
    one, other = pair or (None, None)
    assert set_alike(correct, false) == (one or correct, other or false)


def test_a_pair_is_published_with_the_same_line_ends_and_a_statement_once(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server)
    rows = [
        {"text": text, "discipline": "Engineering", "book": book}
        for text, book in (
            (STATEMENTS[0].replace("\n", "\r\n"), "GLPK"),
            (STATEMENTS[0].removesuffix("."), "Another"),
            (STATEMENTS[2], "GLPK"),
        )
    ]
    (tmp_path / "statements.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = funnel(path)
    assert found["deduplicate"]["dropped"] == {"duplicate": 1}
    assert (found["specify"]["requests"], found["falsify"]["requests"]) == (3, 2)
    statements = load_statements(tmp_path / "published" / "statements.jsonl")
    texts = [STATEMENTS[0], FALSE["vertex"], STATEMENTS[2], FALSE["discards"]]
    assert [each.text for each in statements] == texts
    assert "repeats" in run("status", path, "--list").output


def test_a_twin_that_is_there_twice_names_the_item_in_whose_favour_it_goes() -> None:
    contents = {
        name: {"text": f"Statement {name} holds.", "false": {"text": "The anode is made of lead."}} for name in "ab"
    }
    stage = CheckTwin(lambda: {})
    context = stage.context(contents)

    async def refuse(request: object) -> Any:
        raise AssertionError(request)

    (first, second) = (asyncio.run(stage.take(n, contents[n], context.get(n), refuse)) for n in "ab")
    assert isinstance(first, Kept)
    assert second == Dropped("is there twice", "also as that of a", "a")
