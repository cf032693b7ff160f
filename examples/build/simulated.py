"""SIMULATED models behind one endpoint: a writer and a checker that go by the material that they are shown, a student
that knows some facts and believes what it finds, and a judge that compares numbers. What they say follows from the
request, and from how often it came."""

import json
import re
import threading
from collections import Counter
from hashlib import sha256
from typing import Any

from facts import FACTS, STILL_TRUE, Fact, claims_in, subject_of

Json = dict[str, Any]


def chance(*key: object) -> float:
    """From 0 to 1, always the same for one key."""
    return int.from_bytes(sha256(repr(key).encode()).digest()[:7]) / 2**56


def part(text: str, name: str) -> str:
    """What stands between the marks of that name."""
    found = re.search(rf"<({name}) (\w+)>\n(.*?)\n</\1 \2>", text, re.DOTALL)
    return found[3] if found else ""


# Who makes the benchmark.


def assessed(text: str) -> Json:
    asked, answer = part(text, "question"), part(text, "answer")
    replies = re.findall(r"<reply (\d+) (\w+)>\n(.*?)\n</reply \1 \2>", text, re.DOTALL)
    right = dict(claims_in(answer))
    wrong = [
        int(n) for n, _, said in replies if any(right.get(fact, value) != value for fact, value in claims_in(said))
    ]
    return {
        "defined_question": "?" in asked,
        "valid_answer": bool(re.search(r"\d", answer)),
        "disputed": any("cannot be right" in said for _, _, said in replies),
        "wrong_replies": wrong,
        "reason": "",
    }


def filtered(text: str) -> Json:
    asked = part(text, "question")
    fact = subject_of(asked)
    easy = "omework" in asked
    return {
        "accurate": True,
        "complete": True,
        "professional": "quiz" not in asked,
        "timeless": not re.search(r"latest|this year", asked),
        **dict.fromkeys(("special_knowledge", "several_steps", "synthesis", "uncommon_approach"), not easy),
        "domain": fact.table.field if fact else "Web",
        "kind": "computation" if fact and fact.table.kelvin else "knowledge",
        "clarity": 5,
        "reason": "It is homework." if easy else "",
    }


def _asked_in(text: str) -> tuple[Fact, str]:
    fact = subject_of(part(text, "question"))
    assert fact is not None
    return fact, next(value for each, value in claims_in(part(text, "answer")) if each == fact)


def with_options(text: str) -> Json:
    fact, right = _asked_in(text)
    wrong = [value for each, value in claims_in(part(text, "wrong reply")) if each == fact]
    others = [value for value in fact.table.values.values() if value not in (right, *wrong)]
    others.sort(key=lambda value: chance("option", fact.subject, value))
    options = [fact.answer(value) for value in [right, *wrong, *others][:6]]
    return {
        "question": fact.asked(0),
        "options": options,
        "correct_answer": options[0],
        "explanation": f"By the table, {fact.claim(right)}.",
    }


def with_points(text: str) -> Json:
    fact, right = _asked_in(text)
    answer = fact.answer(right)
    said = f"By the table, {fact.said(right)}."
    return {"question": fact.asked(0), "answer": answer, "points": [f"says {answer}"], "explanation": said}


def specified(text: str) -> Json:
    concise = "(" not in part(text, "statement")
    return {"independent": True, "clear": True, "concise": concise, "reason": ""}


def falsified(text: str) -> Json:
    correct = part(text, "statement")
    if correct in STILL_TRUE:
        before, after = ("0 °C", "273.15 K") if "Ice" in correct else ("code 301", "code 308")
        return {
            "strategy": "detail",
            "transformed_content": correct.replace(before, after),
            "incorrect_reason": f"It is {before}.",
        }
    fact, value = next(claims_in(correct))
    return {
        "strategy": "detail",
        "transformed_content": correct.replace(fact.claim(value), fact.claim(fact.wrong)),
        "incorrect_reason": f"{fact.claim(value)}.",
    }


def compared(text: str) -> Json:
    return {"same": subject_of(part(text, "question 1")) == subject_of(part(text, "question 2")), "reason": ""}


FORMS = {
    "- defined_question:": assessed,
    "- accurate:": filtered,
    "- correct_answer:": with_options,
    "- points:": with_points,
    "- independent:": specified,
    "- incorrect_reason:": falsified,
    "- same:": compared,
}


def written(messages: list[Json]) -> str:
    """At the first time one reply in twelve has a word too many, so that it is asked for again."""
    system, user = messages[0]["content"], messages[1]["content"]
    made = json.dumps(next(make for mark, make in FORMS.items() if mark in system)(user), ensure_ascii=False)
    return f"Gladly: {made}" if len(messages) == 2 and chance("slip", system, user) < 1 / 12 else made


def judged(messages: list[Json]) -> str:
    text = messages[-1]["content"]
    said = [re.findall(r"\d+ K\b", part(text, name))[-1:] for name in ("reference answer", "answer to be graded")]
    return f'They are compared as numbers.\n{{"answer_score": {int(said[0] == said[1])}}}'


# Who takes the exam.

ABILITY, TRUST = 0.72, 0.8
"""How much of the facts the student knows on average, and how often it takes what it found for true."""


class Student:
    """What it remembers is drawn anew for each request, so that repeats differ; equal requests are counted."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def reply(self, messages: list[Json], tools: bool) -> Json:
        prompt = next(each["content"] for each in messages if each["role"] == "user")
        facts = _facts_of(prompt)
        results = [each["content"] for each in messages if each["role"] == "tool"]
        if tools and not results:
            return {"content": "", "tool_calls": [_look_up(number, fact) for number, fact in enumerate(facts)]}
        key = json.dumps(messages)
        with self._lock:
            self._asked[key] += 1
            draw = ("student", key, self._asked[key])
        found = {fact: value for text in reversed(results) for fact, value in reversed(list(claims_in(text)))}
        believed = {fact: _believed(fact, found.get(fact), draw) for fact in facts}
        return {"content": _exam(prompt, believed, draw) if "ii. " in prompt else _single(prompt, facts[0], believed)}


def _facts_of(prompt: str) -> list[Fact]:
    if "ii. " in prompt:
        return [fact for fact, _ in claims_in(prompt)]
    return [fact for fact in FACTS if fact.table.asked and fact.asked(0) in prompt][:1]


def _look_up(number: int, fact: Fact) -> Json:
    query = {"query": fact.claim("").strip()}
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "look_up", "arguments": json.dumps(query)},
    }


def _believed(fact: Fact, found: str | None, draw: tuple[object, ...]) -> str:
    if found is not None and chance("trust", fact.subject, draw) < TRUST:
        return found
    knows = chance("ability", fact.subject) * 0.6 + ABILITY - 0.3
    if chance("memory", fact.subject, draw) < knows:
        return fact.value
    values = [value for value in fact.table.values.values() if value != fact.value]
    return values[int(chance("guess", fact.subject, draw) * len(values))]


def _single(prompt: str, fact: Fact, believed: dict[Fact, str]) -> str:
    value = believed[fact]
    answer = fact.answer(value)
    letters = {text.strip(): letter for letter, text in re.findall(r"^([A-Z])\. (.*)$", prompt, re.MULTILINE)}
    if not letters:
        return f"I take it that {fact.said(value)}.\n\n{answer}"
    # What it believes may be no option; then it takes one.
    letter = letters.get(answer) or sorted(letters.values())[int(chance("letter", prompt, value) * len(letters))]
    return f"I take it that {fact.said(value)}.\n\nAnswer: {letter}"


_WANTS_WRONG = re.compile("do not hold|contain a mistake|go against|misstate|say something wrong|cannot be relied")


def _exam(prompt: str, believed: dict[Fact, str], draw: tuple[object, ...]) -> str:
    listed, _, _ = prompt.partition("\nA. ")
    wants_wrong = bool(_WANTS_WRONG.search(listed.partition("\n")[0]))
    told = re.split(r"^([ivx]+)\. ", listed, flags=re.MULTILINE)[1:]
    chosen = set()
    for numeral, text in zip(told[::2], told[1::2], strict=True):
        fact, value = next(claims_in(text))
        if (believed[fact] != value) == wants_wrong:
            chosen.add(numeral)
    options = {letter: set(text.split(", ")) for letter, text in re.findall(r"^([A-Z])\. ([ivx, ]+)$", prompt, re.M)}

    def fits(letter: str) -> tuple[float, float]:
        return len(options[letter] & chosen) / len(options[letter] | chosen), chance("tie", letter, draw)

    best = max(options, key=fits)
    return f"I take these: {', '.join(sorted(chosen)) or 'none'}.\n\nAnswer: {best}"
