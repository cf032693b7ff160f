"""Nothing that a run shows before tools are called tells which cause was planted."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import pytest

from toolablate.benchmarks.planted.cases import Half, templates
from toolablate.benchmarks.planted.composing import TURNS, Planted, compose

pytestmark = pytest.mark.deep

WORD = re.compile(r"[\u4e00-\u9fff]|[a-z]+|\d+")
QUESTIONS = 1_500
Read = Callable[[Planted], str]


def question_text(planted: Planted) -> str:
    return planted.question.prompt + " ".join(planted.question.choices)


def first_reply(toolset: str) -> Read:
    """The words before the first calls, and these."""

    def read(planted: Planted) -> str:
        turns = planted.scenario["scripts"][toolset]["turns"]
        return json.dumps([turns[0]["says"], turns[0]["calls"]], ensure_ascii=False) if turns else ""

    return read


def cause(planted: Planted, toolset: str) -> str:
    return planted.stories[toolset] if planted.nature == "tools" else planted.nature


def words(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.lower()))


def naive_bayes(texts: Sequence[str], labels: Sequence[str]) -> Callable[[str], str]:
    """Multinomial, with one added to every count."""
    by_label: dict[str, Counter[str]] = defaultdict(Counter)
    for text, label in zip(texts, labels, strict=True):
        by_label[label] += words(text)
    known = {word for counts in by_label.values() for word in counts}
    shares = Counter(labels)
    totals = {label: counts.total() + len(known) for label, counts in by_label.items()}

    def score(label: str, seen: Counter[str]) -> float:
        told = (n * math.log((by_label[label][w] + 1) / totals[label]) for w, n in seen.items() if w in known)
        return math.log(shares[label]) + math.fsum(told)

    return lambda text: max(by_label, key=lambda label: score(label, words(text)))


@pytest.mark.parametrize("toolset", ["code", "search"])
@pytest.mark.parametrize("shown", ["question", "first reply"])
def test_words_of_one_half_tell_no_cause_of_the_other(toolset: str, shown: str) -> None:
    read = question_text if shown == "question" else first_reply(toolset)
    learnt, asked = compose("dev", QUESTIONS), compose("test", QUESTIONS)
    if shown == "first reply":
        # A model that calls nothing says so by calling nothing; only what it says where it calls is in question.
        learnt, asked = ([each for each in half if read(each)] for half in (learnt, asked))
    truth = [cause(each, toolset) for each in asked]
    classify = naive_bayes([read(each) for each in learnt], [cause(each, toolset) for each in learnt])
    right = sum(classify(read(each)) == label for each, label in zip(asked, truth, strict=True)) / len(asked)
    majority = Counter(truth).most_common(1)[0][1] / len(asked)
    assert right <= majority + 0.05


@pytest.mark.parametrize("toolset", ["code", "search"])
@pytest.mark.parametrize("shown", ["question", "first reply"])
def test_words_of_a_half_tell_no_cause_of_other_questions_of_it(toolset: str, shown: str) -> None:
    read = question_text if shown == "question" else first_reply(toolset)
    planted = [each for each in compose("test", QUESTIONS) if shown == "question" or read(each)]
    learnt, asked = planted[: QUESTIONS // 2], planted[QUESTIONS // 2 :]
    truth = [cause(each, toolset) for each in asked]
    classify = naive_bayes([read(each) for each in learnt], [cause(each, toolset) for each in learnt])
    right = sum(classify(read(each)) == label for each, label in zip(asked, truth, strict=True)) / len(asked)
    majority = Counter(truth).most_common(1)[0][1] / len(asked)
    assert right <= majority + 0.05


def test_the_number_of_a_page_tells_nothing_of_what_it_does() -> None:
    """Among a question's pages that which moves the model has the least number as often as any other."""
    expected, seen, of = 0.0, 0, 0
    for each in compose("test", QUESTIONS):
        ordered = sorted(document.id for document in each.documents)
        phrases = {reaction.get("phrase") for reaction in each.scenario["scripts"]["search"]["reactions"]}
        moving = {document.id for document in each.documents if document.phrase and document.phrase in phrases}
        if len(moving) == 1 and len(ordered) > 1:
            expected, seen, of = expected + 1 / len(ordered), seen + (ordered[0] in moving), of + 1
    assert of > 100
    assert abs(seen - expected) < 5 * math.sqrt(expected)


@pytest.mark.parametrize("toolset", ["code", "search"])
def test_the_number_of_calls_within_the_budget_tells_no_cause(toolset: str) -> None:
    """Beyond it, it tells how long a script is, which nobody sees."""
    by_length: dict[int, Counter[str]] = defaultdict(Counter)
    for each in compose("test", QUESTIONS):
        turns = len(each.scenario["scripts"][toolset]["turns"])
        if 0 < turns < TURNS:
            by_length[turns][cause(each, toolset)] += 1
    every = sum(by_length.values(), Counter[str]())
    right = sum(counts.most_common(1)[0][1] for counts in by_length.values()) / every.total()
    assert right <= every.most_common(1)[0][1] / every.total() + 0.02


def test_the_position_and_length_of_the_right_option_tell_nothing() -> None:
    planted = compose("test", 3_000)
    by_count: dict[int, Counter[str]] = defaultdict(Counter)
    for each in planted:
        by_count[len(each.question.choices)][each.question.target.letters[0]] += 1
    for count, letters in by_count.items():
        expected = letters.total() / count
        assert all(abs(number - expected) < 5 * math.sqrt(expected) for number in letters.values())


def test_the_halves_share_no_template_and_no_prompt() -> None:
    def skeletons(half: Half) -> set[str]:
        return {prompt for each in templates(half) for prompt in each.prompts}

    def names(half: Half) -> set[str]:
        return {name for each in templates(half) for name in (each.name, *each.simple, *each.elaborate)}

    assert not skeletons("dev") & skeletons("test")
    assert not names("dev") & names("test")
    assert all(len(templates(half)) >= 12 for half in ("dev", "test"))


def test_the_halves_share_no_line_of_code_but_imports() -> None:
    def lines(half: Half) -> set[str]:
        scripts = (each.scenario["scripts"]["code"]["turns"] for each in compose(half, 300))
        code = (call["text"] for turns in scripts for turn in turns for call in turn["calls"])
        return {line.strip() for text in code for line in text.splitlines() if "import" not in line}

    assert not lines("dev") & lines("test")
