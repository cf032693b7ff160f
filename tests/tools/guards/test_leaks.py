"""The leak guard: how often it finds copies of the built-in questions, altered ones too, and takes nothing else for one."""

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolablate import benchmarks
from toolablate.tools import LeakGuard

FOLDER = Path(benchmarks.__file__).parent / "builtin"
QUESTIONS = [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
DOCUMENTS = [json.loads(line) for line in (FOLDER / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
FILLER = "\n\n".join(document["text"] for document in DOCUMENTS)

QUESTION = (
    "Which river did the 1932 surveyors of the northern expedition cross twice before they reached the salt lake?"
)
CHINESE = "下列关于调和级数的说法中哪一项是正确的？已知调和级数的部分和为一到n的倒数之和。"
URL = "https://example.org/"


def answers(question: dict[str, Any]) -> list[str]:
    target = question["target"]
    if target["kind"] == "number":
        return [str(target["value"])]
    return [question["choices"]["ABCDEFGHIJ".index(letter)] for letter in target["letters"]]


def guard_of(question: dict[str, Any]) -> LeakGuard:
    return LeakGuard(question["prompt"], answers(question))


def leaks(question: str, answer: str, text: str) -> bool:
    return bool(LeakGuard(question, [answer]).inspect(URL, text).markers)


def altered(text: str, share: float, chance: random.Random) -> str:
    """Some words replaced, left out or added, numbers kept; characters where there are no blanks."""
    parts = re.findall(r"[\u4e00-\u9fff]|\S+", text)
    for place in chance.sample(range(len(parts)), round(share * len(parts))):
        if not re.search(r"\d", parts[place]):
            parts[place] = chance.choice(["", "something", f"{parts[place]} indeed"])
    return " ".join(parts)


def page_with(question: str, answer: str) -> str:
    return f"{FILLER[:3_000]}\n**Q:** {question}\nExplanation: see above.\n_Answer_: {answer}\n{FILLER[3_000:6_000]}"


@pytest.mark.deep
@pytest.mark.parametrize(("share", "recall"), [(0.0, 1.0), (0.05, 0.97), (0.1, 0.93), (0.15, 0.8)])
def test_copies_are_found_the_more_the_less_they_are_altered(share: float, recall: float) -> None:
    chance = random.Random(7)
    found = [
        bool(guard_of(question).inspect(URL, page_with(altered(question["prompt"], share, chance), answer)).markers)
        for question in QUESTIONS
        for answer in answers(question)[:1]
        for _ in range(5)
    ]
    assert sum(found) / len(found) >= recall


@pytest.mark.deep
def test_what_is_about_the_same_topic_is_no_leak() -> None:
    """Of 3,320 documents and 1,560 other questions with their answers, one: the paragraph of a law that a question
    quotes, and that answers it."""
    taken = [
        (question["id"], name)
        for question in QUESTIONS
        for name, text in _others(question)
        if guard_of(question).inspect(URL, text).markers
    ]
    assert taken == [("law-zh-limitation", "limitation-zh-188")]


def _others(question: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for document in DOCUMENTS:
        yield document["id"], f"{document['title']}\n{document['text']}"
    for other in QUESTIONS:
        if other is not question:
            choices = " ".join(other.get("choices") or ())
            yield other["id"], f"{other['prompt']}\n{choices}\nAnswer: {answers(question)[0]}"


@pytest.mark.parametrize(
    "text",
    [
        f"{QUESTION} The Olenyok.",
        f"{QUESTION.upper()}\n\nOLENYOK",
        f"The Olenyok! (Asked: {QUESTION})",
        json.dumps({"question": QUESTION, "answer": "Olenyok", "id": 17}),
        QUESTION.replace(" ", " **_") + "_** <br> Olenyok",
        "Which river did the 1932 surveyors of the\u00a0northern ex\ufb01 expedition cross twice, before they reached"
        " the great salt lake? Olenyok",
        "x " * 50_000 + QUESTION + " word" * 100 + " Olenyok " + "x " * 50_000,
        QUESTION + " Nobody knows. " * 200 + QUESTION + " It was the Olenyok.",
    ],
)
def test_a_question_with_its_answer_is_found(text: str) -> None:
    (marker,) = LeakGuard(QUESTION, ["Olenyok"]).inspect(URL, text).markers
    assert (marker.kind, marker.where) == ("answer_leak", URL)
    assert "surveyors" in marker.excerpt.lower()
    assert len(marker.excerpt) <= 200


@pytest.mark.parametrize(
    "text",
    [
        "",
        QUESTION,
        f"{QUESTION} Nobody knows.",
        f"{QUESTION}{' word' * 300} Olenyok",
        f"{QUESTION.replace('1932', '1957')} Olenyok",
        "The surveyors crossed the Olenyok twice before they reached the salt lake.",
        "In 1932 the surveyors of the northern expedition crossed the Olenyok before winter came.",
        "Which river did the surveyors cross? "
        + "The expedition went north in 1932. " * 20
        + "To the salt lake. Olenyok",
    ],
)
def test_what_only_looks_like_it_is_no_leak(text: str) -> None:
    assert not leaks(QUESTION, "Olenyok", text)


@pytest.mark.parametrize(
    ("answer", "text", "leak"),
    [
        ("它是发散的", f"题目：{CHINESE}解析：它是发散的。", True),
        ("它是发散的", f"题目：{CHINESE.replace('正确的', '对的')}解析：它是发散的。", True),
        ("它是发散的", json.dumps({"题": CHINESE, "答": "它是发散的"}), True),
        ("它是发散的", f"题目：{CHINESE}解析：略。", False),
        ("它是发散的", "调和级数的部分和为一到n的倒数之和。调和级数是发散的，即它是发散的。", False),
        ("B", f"{CHINESE}\n故选B。", True),
        ("B", f"{CHINESE}\n正确答案是：B", True),
        ("B", f"{CHINESE}\n正确答案是：C", False),
        ("B", f"{CHINESE}\nA. 收敛 B. 发散", False),
    ],
)
def test_chinese(answer: str, text: str, leak: bool) -> None:
    assert leaks(CHINESE, answer, text) == leak


@pytest.mark.parametrize(
    ("said", "leak"),
    [
        ("Answer: B", True),
        ("The correct answer is (B).", True),
        ('"answer": "B"', True),
        ("correct option: B", True),
        ("Answer: A", False),
        ("A boat. B was not", False),
        ("Answer: Because", False),
        ("Answer: b", False),
        ("Answer: B Explanation: it flows north.", True),
        ("the answer is B because it flows north", True),
        ("Answer: B vitamins", False),
        ("Incorrect: B", False),
        ("Resolution: B", False),
        ("Answer: B. The Olenyok", True),
        ("Choose the correct answer: B. Lena C. Olenyok", False),
    ],
)
def test_a_letter_must_be_said_to_be_the_answer(said: str, leak: bool) -> None:
    assert leaks(QUESTION, "B", f"{QUESTION}\n{said}") == leak


@pytest.mark.parametrize(
    ("said", "leak"),
    [
        ("Answer: A", True),
        ("Answer: (A)", True),
        ("The answer is A.", True),
        ("Correct answer:\nA\nNext question", True),
        ("the correct answer is a matter of debate", False),
        ("THE CORRECT ANSWER IS A MATTER OF DEBATE", False),
        ("Please, solution: A hint would be nice", False),
        ("Choose the correct answer. A boat was there.", False),
        ("Choose the correct answer:\nA. The Lena\nB. The Olenyok", False),
        ("Choose the correct answer: (A) the Lena (B) the Olenyok", False),
        ("答案是A股", False),
        ("答案：A", True),
        ("【答案】A【解析】略", True),
    ],
)
def test_an_article_is_no_answer(said: str, leak: bool) -> None:
    assert leaks(QUESTION, "A", f"{QUESTION}\n{said}") == leak


SPELLINGS: dict[str, Callable[[str], str]] = {
    "soft hyphens": lambda text: re.sub(r"(\w{3})(?=\w)", "\\1\u00ad", text),
    "zero-width blanks": lambda text: re.sub(r"(\w{3})(?=\w)", "\\1\u200b", text),
    "joiners and marks of direction": lambda text: re.sub(r"(\w)(?=\w)", "\\1\u2060\u200e", text),
    "ligatures": lambda text: text.replace("ffi", "\ufb03").replace("fi", "\ufb01").replace("fl", "\ufb02"),
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "mathematical": lambda text: "".join(chr(ord(c) - 97 + 0x1D41A) if "a" <= c <= "z" else c for c in text),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which five official offices first classified the fluid filaments of reflective fibre?", "the patent offices"),
        ("Combien de députés élus à l'assemblée représentaient la société bisontine après l'été?", "soixante-treize"),
        ("조선 시대에 한글을 창제한 왕이 재위 기간 동안 설립한 학문 연구 기관의 이름은 무엇인가", "집현전"),
    ],
)
def test_no_spelling_hides_a_question(question: str, answer: str, spelling: str) -> None:
    text = SPELLINGS[spelling](f"Q: {question} A: {answer}.")
    assert leaks(question, answer, f"{FILLER[:5_000]} {text} {FILLER[:5_000]}")
    assert leaks(SPELLINGS[spelling](question), SPELLINGS[spelling](answer), f"Q: {question} A: {answer}.")
    assert not leaks(question, answer, SPELLINGS[spelling](f"Q: {question} A: nobody knows."))


@pytest.mark.deep
@pytest.mark.parametrize("copies", [101, 3_000])
def test_copies_without_the_answer_do_not_hide_the_one_with_it(copies: int) -> None:
    empty = f"{QUESTION} Nobody knows. " + "filler " * 250
    other = QUESTION.replace("1932", "1957") + " "
    assert leaks(QUESTION, "Olenyok", empty * copies + f"{QUESTION} The Olenyok.")
    assert leaks(QUESTION, "Olenyok", other * copies + f"{QUESTION} The Olenyok.")
    assert not leaks(QUESTION, "Olenyok", empty * copies)


def test_escaped_characters_beyond_the_first_plane_are_read() -> None:
    said = json.dumps({"question": QUESTION, "icon": "\U0001f600", "answer": "Olenyok"}) + "\\ud83d"
    assert leaks(QUESTION, "Olenyok", said)


@pytest.mark.parametrize(
    ("question", "answer", "text", "leak"),
    [
        ("Who wrote Hamlet?", "Shakespeare", "Who wrote Hamlet? Shakespeare.", False),
        ("What is the capital of France?", "Paris", "The capital of France is Paris.", False),
        ("What is the capital of France?", "Paris", "What is the capital of Spain? Not Paris.", False),
        ("What is the capital of France?", "Paris", "FAQ: what is the capital of France? Paris.", True),
        ("What is the sum of the first 100 odd numbers?", "10000", "What is the sum of the first 50 odd numbers? 10000", False),
        ("What is the sum of the first 100 odd numbers?", "10000", "What is the sum of the first 100 odd numbers? 10,000.0", True),
        ("Is it true or false that every finite group of odd order is solvable?", "true", "Is it true or false that every finite group of odd order is solvable? Discuss.", False),
        ("Is it true or false that every finite group of odd order is solvable?", "true", "Is it true or false that every finite group of odd order is solvable? It is true.", True),
        ("", "x", "x", False),
        ("??? !!!", "x", "??? !!! x", False),
        (QUESTION, "", f"{QUESTION} Olenyok", False),
        (QUESTION, "…", f"{QUESTION} …", False),
    ],
)  # fmt: skip
def test_short_questions_and_numbers(question: str, answer: str, text: str, leak: bool) -> None:
    assert leaks(question, answer, text) == leak


def test_a_long_answer_may_be_anywhere_and_slightly_changed() -> None:
    answer = "They crossed the Olenyok at the old trading post, once on the ice and once in boats during the thaw"
    changed = answer.replace("during", "in").replace("old ", "")
    assert leaks(QUESTION, answer, QUESTION + " word" * 1_000 + " " + changed)
    assert not leaks(QUESTION, answer, QUESTION + " word" * 1_000 + " They crossed the Olenyok in boats.")
    assert leaks(QUESTION, "the Olenyok at the old trading post", QUESTION + " word" * 1_000 + " " + answer)


def test_blocking_is_as_the_plan_says() -> None:
    text = f"{QUESTION} The Olenyok."
    assert not LeakGuard(QUESTION, ["Olenyok"]).inspect(URL, text).blocked
    blocked = LeakGuard(QUESTION, ["Olenyok"], block=True)
    assert blocked.inspect(URL, text).blocked
    assert not blocked.inspect(URL, FILLER).blocked


CHANCE = random.Random(3)
UNRELATED = {
    "English": (FILLER * 20)[:100_000],
    "noise": "".join(CHANCE.choice("abcdefghij klmnop qrstu vwxyz.\n") for _ in range(100_000)),
    "Chinese": "".join(chr(CHANCE.randint(0x4E00, 0x9FFF)) for _ in range(100_000)),
}


@pytest.mark.parametrize("kind", UNRELATED)
def test_a_page_without_the_question_has_no_marker(kind: str) -> None:
    assert LeakGuard(QUESTION, ["Olenyok"]).inspect(URL, UNRELATED[kind]).markers == ()


@pytest.mark.deep
@pytest.mark.parametrize(
    "text",
    [
        QUESTION * 5_000,
        (QUESTION.replace("1932", "1933") + " ") * 5_000,
        " ".join(QUESTION.split()[:10]) * 8_000,
        " ".join(word for word in QUESTION.split() if len(word) > 5) * 8_000,
        "\\u0041" * 80_000,
        "surveyors " * 50_000,
        "a" + "\u0301\u0316" * 100_000,
        "\ufdfa\u00ad" * 100_000,
        f"{QUESTION} answer: Answer is " * 5_000,
    ],
)
def test_no_page_keeps_it_busy_for_long(text: str) -> None:
    LeakGuard(QUESTION, ["Olenyok", "a much longer answer of several words in a row that is nowhere"]).inspect(
        URL, text
    )


REFERENCE = """1. They crossed the Olenyok, first on the ice in late April and then by raft.
2. The second crossing took three days, since the eastern bank had been washed away in the thaw.
3. Lena is wrong: it was never reached."""


@pytest.mark.parametrize(
    "said",
    [
        REFERENCE,
        REFERENCE.replace("\n", " "),
        REFERENCE.replace("1. ", "- ").replace("2. ", "- ").replace("3. ", "- ").replace(", ", ",\n"),
        REFERENCE.splitlines()[1],
        "as they say: they crossed the Olenyok first on the ice in early April and then by raft",
        "LENA IS WRONG, it was never reached",
    ],
)
def test_of_a_long_reference_a_part_in_any_line_breaks_is_enough(said: str) -> None:
    page = f"{QUESTION} {'word ' * 400} {said} {'word ' * 400}"
    assert leaks(QUESTION, REFERENCE, page)
    assert leaks(QUESTION, REFERENCE, json.dumps([{"prompt": QUESTION, "response_reference": f"Answer:\n{said}"}]))
    assert not leaks(QUESTION, REFERENCE, page.replace("1932", "1957"))


def test_a_reference_that_says_the_question_again_is_no_leak_by_itself() -> None:
    again = QUESTION.replace("Which river did", "The Olenyok is the river that").replace("cross", "crossed")
    assert not leaks(QUESTION, again, f"{QUESTION} Nobody knows.")
    assert leaks(QUESTION, again, f"{QUESTION} So: {again}")
    assert not leaks(QUESTION, f"{again}\nIt lies in the north.", f"{QUESTION} Nobody knows. It lies in the south.")


def test_commands_of_latex_are_no_ends_of_lines() -> None:
    question = (
        r"Which of the fields has \nabla \cdot B \neq 0 where nu and \nu_e are the two rates of the decay in question?"
    )
    assert leaks(question, "Olenyok", json.dumps({"q": question, "a": "Olenyok"}))
    assert leaks(question, "Olenyok", f"{question} Olenyok")
