"""Questions with the parameters of their graphs, and the pages that searches find."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from bench.structural.graph import Question
from bench.structural.wording import FILLER, Half, claimed

Tools = Literal["python", "search", "all"]

# What each kind of question plants, by the tools that there are: a plan of calls and parameters of the graph.
_CODE = {
    "neutral": ("probe", "probe"),
    "many": ("probe",) * 6,
    "volume": ("probe", "table", "table"),
    "parts": ("part",) * 10,
}
_PAGES = {
    "neutral": ("search", "open"),
    "many": ("search", "open", "search", "more", "search", "open"),
    "volume": ("search", "open", "more", "more"),
    "parts": ("search", *("part_page",) * 9),
}
_WRONG_PAGE = ("search", "open", "search")
_LATE_PAGE = ("search", "open", "search", "search", "search")
_SHORT = ("short", "probe")
_FORMULA = ("formula", "probe")


def kinds_of(tools: Tools) -> dict[str, dict[str, Any]]:
    """In the order in which questions get them. `plan` may name an entry of the tools' own plans."""
    searching, coding = tools != "python", tools != "search"
    kinds: dict[str, dict[str, Any]] = {
        "noise": {"plan": "neutral", "base": 0.6},
        "sunk_cost": {"plan": "many", "causes": ("sunk_cost",)},
        "mood": {"plan": "neutral", "base": 0.9, "moody": 0.35},
        "budget": {"plan": "parts", "causes": ("budget",), "gain": 0.9},
        "volume": {"plan": "volume", "causes": ("volume",), "page_chars": 42_000},
        "tool_fault": {"plan": "neutral", "causes": ("tool_fault",)},
        "format": {"plan": "neutral", "causes": ("format",)},
        "own_error": {"plan": "neutral", "base": 0.15},
        "availability": {"plan": "neutral", "causes": ("availability",)},
        "prompt": {"plan": "neutral", "causes": ("prompt",)},
        "hard": {"plan": "neutral", "base": 0.35, "hard": True},
        "easy": {"plan": "neutral", "base": 0.92, "call_rate": 0.4},
    }
    if coding:
        kinds["lock_in"] = {"plan": _SHORT, "causes": ("lock_in",)}
        kinds["commitment"] = {"plan": _FORMULA, "causes": ("commitment",), "gain": 0.9}
        kinds["gain"] = {"plan": ("exact", "probe"), "base": 0.5, "gain": 0.95}
        kinds["harm"] = {"plan": _SHORT, "base": 0.6, "low": 0.05, "causes": ("lock_in",)}
    if searching:
        kinds["wrong_page"] = {"plan": _WRONG_PAGE, "causes": ("wrong_page",), "page_role": "page"}
        kinds["late_page"] = {"plan": _LATE_PAGE, "causes": ("late_page",), "page_role": "page"}
        kinds["gain_page"] = {"plan": _PAGES["neutral"], "base": 0.5, "gain": 0.95, "page_role": "right"}
        kinds["harm_page"] = {**kinds["wrong_page"], "base": 0.6, "low": 0.05}
    first = {"python": (_SHORT, "lock_in"), "search": (_WRONG_PAGE, "wrong_page"), "all": (_WRONG_PAGE, "wrong_page")}
    plan, cause = first[tools]
    other = "lock_in" if tools == "all" else "sunk_cost"
    filler = ("short", "probe") if tools == "all" else ("probe",) * 4 if tools == "python" else ("search",) * 3
    pair = {"plan": (*plan, *filler), "causes": (cause, other), "page_role": "page" if searching else ""}
    kinds["both_needed"] = {**pair, "need": 2, "trust": 0.9}
    kinds["either_enough"] = {**pair, "need": 1}
    return {kind: kinds[kind] for kind in _ORDER if kind in kinds}


_ORDER = (
    "wrong_page",
    "lock_in",
    "noise",
    "sunk_cost",
    "mood",
    "budget",
    "late_page",
    "commitment",
    "volume",
    "tool_fault",
    "format",
    "own_error",
    "availability",
    "prompt",
    "both_needed",
    "hard",
    "easy",
    "either_enough",
    "gain",
    "harm",
    "gain_page",
    "harm_page",
)

_FIRST = (
    *("Ald", "Bren", "Cor", "Dus", "Erl", "Fen", "Gar", "Hol", "Ist", "Jor", "Kel", "Lum"),
    *("Mor", "Nes", "Orl", "Pel", "Quen", "Ros", "Sal", "Tor", "Ulm", "Ven", "Wex", "Yar"),
)
_LAST = (
    *("by", "combe", "dale", "esk", "ford", "garth", "ham", "ingle", "kirk", "low"),
    *("mere", "ness", "ock", "pool", "ridge", "stow", "thorpe", "vale", "wick", "yard"),
)
_THINGS = ("salt barges", "wool bales", "herring casks", "slate loads", "bee skeps", "peat stacks", "oar blanks")


def make_questions(number: int, seed: int, tools: Tools, forcing: float) -> list[Question]:
    """The kinds take turns."""
    rng = random.Random(f"structural/{seed}/{tools}")
    names = [f"{first}{last}" for first in _FIRST for last in _LAST]
    rng.shuffle(names)
    kinds = list(kinds_of(tools).items())
    start = 0 if number >= len(kinds) else rng.randrange(len(kinds))
    return [
        _question(f"s{place:03d}", *kinds[(start + place) % len(kinds)], names[place], tools, forcing, rng)
        for place in range(number)
    ]


def _question(
    identity: str, kind: str, given: dict[str, Any], name: str, tools: Tools, forcing: float, rng: random.Random
) -> Question:
    plan = given["plan"]
    if isinstance(plan, str):
        plan = (_PAGES if tools == "search" or (tools == "all" and rng.random() < 0.5) else _CODE)[plan]
    thing, style = rng.choice(_THINGS), rng.choice(("terse", "verbose"))
    seasons, values = _values(rng)
    order = ["right", "short", "formula", "page"]
    rng.shuffle(order)
    page_chars = given.get("page_chars") or rng.choice((700, 2_500, 9_000, 18_000, 36_000))
    window = 0
    if given.get("page_role") and page_chars > 15_000 and rng.random() < 0.5:
        at = plan.index("open") + 1
        plan, window = (*plan[:at], "more", *plan[at:]), 1
    a, b, c, s, d, n = seasons
    prompt = (
        f"The register of {name} lists {thing} over {n} seasons, numbered from 0. In season k it enters"
        f" {a} + {b}·k + {c}·(k² mod 7) of them; from season {s} on, {d} fewer are entered in each season."
        f" How many {thing} does the register of {name} list in all?"
    )
    return Question(
        **{
            **given,
            "id": identity,
            "kind": kind,
            "style": style,
            "name": name,
            "prompt": prompt,
            "seasons": seasons,
            "values": values,
            "letters": {role: "ABCD"[place] for place, role in enumerate(order)},
            "plan": tuple(plan),
            "forcing": forcing,
            "page_chars": page_chars,
            "page_window": window,
        }
    )


def _values(rng: random.Random) -> tuple[tuple[int, int, int, int, int, int], dict[str, int]]:
    """The rule's numbers, and the totals of four readings of it, which differ."""
    while True:
        a, b, c = rng.randint(150, 400), rng.randint(2, 9), rng.randint(3, 15)
        n = rng.randint(60, 95)
        s, d = rng.randint(n // 2, n - 15), rng.randint(12, 60)
        entered = [a + b * k + c * (k * k % 7) for k in range(n)]
        formula = sum(entered)
        right = formula - d * (n - s)
        values = {"right": right, "short": sum(entered[:s]), "formula": formula, "page": right + d * rng.randint(2, 9)}
        if len(set(values.values())) == 4 and min(values.values()) > 10_000:
            return (a, b, c, s, d, n), values


# The corpus: a page of each register, its sheets, and pages about other things.


def address(q: Question, sheet: int = 0) -> str:
    place = f"https://registers.example/{q.name.lower()}"
    return f"{place}/sheet-{sheet}" if sheet else place


def pages(questions: list[Question], half: Half, seed: int) -> Iterator[dict[str, str]]:
    rng = random.Random(f"structural-pages/{seed}/{half}")
    for q in questions:
        yield _page(q, half, rng)
        for sheet in range(1, q.plan.count("part_page") + 1):
            role = "right" if sheet == q.plan.count("part_page") else "short"
            claim = _claim(q, role, half, rng)
            text = f"{_text(300, rng)}\n\n{claim}\n\n{_text(300, rng)}"
            yield {"id": f"{q.id}-{sheet}", "title": f"Sheet {sheet}", "url": address(q, sheet), "text": text}
    for number in range(30):
        chars = rng.choice((600, 2_000, 8_000, 20_000))
        title = f"Notes on old registers, {number + 1}"
        yield {"id": f"n{number}", "title": title, "url": f"https://notes.example/{number}", "text": _text(chars, rng)}


def _page(q: Question, half: Half, rng: random.Random) -> dict[str, str]:
    opening = f"The register of {q.name}. {q.name} kept a register for {q.seasons[-1]} seasons."
    if not q.page_role:
        body = _text(q.page_chars, rng)
    else:
        claim = _claim(q, q.page_role, half, rng)
        before = 12_500 if q.page_window else min(q.page_chars // 2, 5_000)
        body = f"{_text(before, rng)}\n\n{claim}\n\n{_text(max(q.page_chars - before, 100), rng)}"
    title = f"The register of {q.name}"
    return {"id": q.id, "title": title, "url": address(q), "text": f"{opening}\n\n{body}"}


def _claim(q: Question, role: str, half: Half, rng: random.Random) -> str:
    """Without the words of any query, so that no extract among search results shows the value."""
    text = claimed(role, q.style, half, rng.random(), name="the list", value=q.values[role])
    return text[0].upper() + text[1:]


def _text(chars: int, rng: random.Random) -> str:
    """Paragraphs about nothing in particular."""
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) < chars:
        paragraphs.append(" ".join(rng.sample(FILLER, k=rng.randint(2, 5))))
    return "\n\n".join(paragraphs)[: chars + 200]


def write(folder: Path, questions: list[Question], half: Half, seed: int) -> None:
    """questions.jsonl and corpus.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "id": q.id,
            "prompt": q.prompt,
            "choices": [str(q.values[role]) for role in sorted(q.letters, key=q.letters.__getitem__)],
            "answer": q.letters["right"],
        }
        for q in questions
    ]
    for name, lines in (("questions.jsonl", rows), ("corpus.jsonl", list(pages(questions, half, seed)))):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
