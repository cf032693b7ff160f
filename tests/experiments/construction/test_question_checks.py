"""Faults of a question, and of a set of questions."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from scipy.stats import binom, chi2

from toolablate.benchmarks.prompt import LETTERS
from toolablate.experiments.construction.known_names import NamesAndTexts, names_of
from toolablate.experiments.construction.question_checks import _lists_options, checks_of, faults_of, says_the_same


@pytest.mark.deep
def test_checks_over_a_set_find_a_bias_and_rarely_what_chance_does() -> None:
    """Their error rate under chance: at most 5 % of 400 sets, within its own 99 % limits; a bias is found."""
    rng = random.Random(11)

    def drawn(longest: float, first: float) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for _ in range(60):
            options = ["x" * length for length in rng.sample(range(4, 40), rng.choice((5, 6, 7)))]
            right = max(options, key=len) if rng.random() < longest else rng.choice(options)
            if rng.random() < first:
                options.remove(right)
                options.insert(0, right)
            rows.append({"options": options, "right": right})
        return rows

    sets = [checks_of(drawn(0, 0)) for _ in range(400)]
    limit = int(binom.ppf(0.99, 400, 0.05))
    assert sum((each.longest_p or 0) < 0.05 for each in sets) <= limit
    found = sum((each.letters_p or 0) < 0.05 for each in sets)
    assert int(binom.ppf(0.01, 400, 0.05)) <= found <= limit
    biased = checks_of(drawn(0.5, 0.4))
    assert biased.longest_p is not None
    assert biased.letters_p is not None
    assert max(biased.longest_p, biased.letters_p) < 0.001
    assert biased.letters[LETTERS[0]] > 20
    assert checks_of(drawn(0, 0)[:19]).longest_p is None


def test_letters_are_all_told_and_a_letter_that_is_never_right_is_uneven() -> None:
    def of_letters(counts: list[int]) -> list[dict[str, object]]:
        options = ["iron", "zinc", "lead", "gold", "tungsten"]
        return [
            {"options": options, "right": option}
            for option, count in zip(options, counts, strict=True)
            for _ in range(count)
        ]

    # No letter is right much too often.
    never = checks_of(of_letters([0, 15, 15, 15, 15]))
    assert never.letters == {"A": 0, "B": 15, "C": 15, "D": 15, "E": 15}
    assert never.letters_p == pytest.approx(chi2.sf(15, 4), rel=0.3)
    assert checks_of(of_letters([12] * 5)).letters_p == 1.0
    assert checks_of([]).letters == {}
    # The fifth letter is that of few questions: it is measured by these.
    short = [{"options": ["iron", "zinc"], "right": each} for each in ("iron", "zinc") * 20]
    assert (checks_of([*short, *of_letters([1, 1, 1, 1, 1])]).letters_p or 0) > 0.9


def test_the_longest_option_is_told_of_questions_that_have_one() -> None:
    tied = [{"options": ["iron", "zinc", "lead"], "right": "lead"}] * 13
    told = checks_of([*tied, *([{"options": ["iron", "zinc", "copper"], "right": "copper"}] * 8)])
    assert (told.questions, told.longest, told.longest_of) == (21, 8, 8)
    assert told.longest_expected == pytest.approx(8 / 3)


@pytest.mark.parametrize(
    ("question", "lists"),
    [
        ("Which keeps lithium? A) water B) tin C) iron", True),
        ("Which keeps lithium?\na. water\nb. tin", True),
        ("A) Water boils. B) Tin melts. C) Iron rusts. Which holds?", True),
        ("选项A.water，选项B.tin", True),
        ("Is it A) waters or B) tins?", False),
        ("Find (a) the speed, (b) the mass of the tin and (c) the time.", False),
        ("In which order do the steps (A)→(B)→(C) of the cycle go?", False),
        ("Do the sets (A), (B), (C) overlap?", False),
        ("Which of the points A、B、C、D is it?", False),
    ],
)
def test_options_are_listed_where_they_stand_behind_letters(question: str, lists: bool) -> None:
    assert _lists_options(question, ["tin", "water", "iron", "lead", "zinc"]) == lists


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("vinylene carbonate", "Vinylene-carbonate.", True),
        ("vinylene carbonate", "“vinylene carbonate”", True),
        ("0.10 M", "0.1 M", True),
        ("1.0 M", "1 M", True),
        ("$x^2$", "$x^{2}$", True),
        ("10 M", "1 M", False),
        ("1.05 M", "1.5 M", False),
        ("100", "1.00", False),
        ("x - 1", "x 1", False),
        ("2-butene", "2 butene", False),
        ("(a + b) c", "a + b c", False),
    ],
)
def test_options_that_say_the_same_are_told_however_they_are_written(one: str, other: str, same: bool) -> None:
    assert says_the_same(one, other) == same


@pytest.mark.parametrize("text", ["A) B) " * 4_000, "A. x B. x " * 4_000, "\n" * 20_000, "A\n" * 10_000])
def test_options_are_looked_for_in_linear_time(text: str) -> None:
    """With patterns that went back, a reply of 20,000 characters took longer than a test may."""
    assert not _lists_options(text, OPTIONS)


def test_an_option_has_no_sign_that_nobody_sees() -> None:
    assert "options" in option_faults([f"{OPTIONS[0]}\u202e", *OPTIONS[1:]])
    assert option_faults([f"{OPTIONS[0]}\u202e", *OPTIONS[1:]], question=f"\u202e{QUESTION}") == []


QUESTION = "Which additive keeps lithium stable?"

OPTIONS = ["nitrate of soda", "a sulphate", "oxide", "chloride, dry", "borate"]


def option_faults(options: Sequence[str], right: str = "", question: str = QUESTION) -> list[str]:
    """As they are asked, in an order that was drawn."""
    asked = {"question": question, "options": [*options[2:], *options[:2]], "right": right or options[0]}
    return [fault.partition(":")[0] for fault in faults_of({"question": question}, {**asked, "explanation": ""})]


@pytest.mark.parametrize(
    ("form", "labels"),
    [
        ("{}. {}", "12345"),
        ("({}) {}", "12345"),
        ("{}) {}", ("i", "ii", "iii", "iv", "v")),
        ("Option {}: {}", "ABCDE"),
        ("{} - {}", "ABCDE"),
        ("**{}.** {}", "ABCDE"),
        ("{} {}", "ABCDE"),
        ("{}) {}", "\u0410\u0411\u0412\u0413\u0414"),
        ("{}、{}", "甲乙丙丁戊"),
        ("选项{}：{}", "ABCDE"),
    ],
)
def test_letters_and_numbers_of_options_are_a_fault(form: str, labels: Sequence[str]) -> None:
    options = [form.format(label, text) for label, text in zip(labels, OPTIONS, strict=True)]
    assert option_faults(options) == ["options"]


@pytest.mark.parametrize(
    "options",
    [
        ["1 mg", "2 mg", "3 mg", "4 mg", "5 mg"],
        [f"{hours} h at {90 - hours} K" for hours in range(1, 6)],
        ["1:2", "2:3", "3:4", "4:5", "5:6"],
        ["1.5 V", "2.7 V", "3.1 V", "4.2 V", "5.0 V"],
        ["1-butanol", "2-pentanol", "3-hexanol", "4-decanol", "5-nonanol"],
        [f"Vitamin {letter}" for letter in "ABCDE"],
        ["vitamins A and B", "vitamins B and C", "vitamin C", "vitamins D and E", "zinc"],
        ["C (carbon)", "N (nitrogen)", "O", "F", "He"],
        ["1 - 2 h", "2 - 3 h", "3 - 4 h", "4 - 5 h", "5 - 6 h"],
        ["1 : 2", "2 : 3", "3 : 4", "4 : 5", "5 : 1"],
        *([*OPTIONS, more] for more in ("All metals above 300 K", "Both right ventricles", "None at 300 K", "B cells")),
        *(
            [*OPTIONS, more]
            for more in ("None", "Keine", "Both", "Both to the right", "Both are true", "All above 300 K")
        ),
        *(
            [*OPTIONS, more]
            for more in ("All primes below n", "All long options", "Keine der Größen", "For all x above")
        ),
        *([*OPTIONS, more] for more in ("平均错误率", "平均对数分布", "全对称伸缩振动", "NaCl和KCl都是离子晶体")),
    ],
)
def test_numbers_and_letters_of_what_is_asked_are_none(options: Sequence[str]) -> None:
    assert not option_faults(options)


@pytest.mark.parametrize(
    "option",
    [
        "A and B",
        "Both A and B",
        "A、B",
        "All of the above",
        "all of the above except B and D.",
        "None of these",
        "Both of the above",
        "All other options are wrong",
        "All are correct",
        "Neither answer",
        "Keine der genannten",
        "toutes les réponses ci-dessus",
        "以上都是",
        "全部正确",
        "以上说法均不正确",
        "都不对",
        "Keine der Aussagen trifft zu",
        "Aucune de ces réponses n'est correcte",
        "ninguna de las anteriores",
        "bor\u200bate",
    ],
)
def test_options_that_name_others_or_look_like_one_are_a_fault(option: str) -> None:
    assert set(option_faults([*OPTIONS, option])) == {"options"}


def test_letters_that_the_question_names_are_its_own() -> None:
    assert not option_faults([*OPTIONS, "A and B"], question="Which of the samples A and B keeps lithium stable?")


SALTS = ["borax", "soda", "lime", "talc", "alum"]


@pytest.mark.parametrize(
    ("question", "options", "faulty"),
    [
        ("Which salt, such as borax, keeps lithium stable?", SALTS, True),
        ("Which of borax, soda, lime, talc and alum keeps lithium stable?", SALTS, False),
        ("Which of the boraxes of 1.124 kg and 124.5 kg keeps lithium stable?", SALTS, False),
        ("Which mass keeps lithium stable at 1.124 V and 124.5 K?", ["124", "200", "300", "400", "500"], False),
        ("Which mass keeps lithium stable at 124 K?", ["124", "200", "300", "400", "500"], True),
        ("哪种溶剂像丙酮一样溶解这种聚合物？", ["丙酮", "苯", "己烷", "乙醚", "水"], True),
        ("Which keeps lithium stable? (a) lime (b) talc (c) alum", SALTS, True),
        ("Which keeps lithium stable?\na) lime\nb) talc", SALTS, True),
        ("Which keeps lithium stable? (a) water (b) tin (c) iron", OPTIONS, False),
        ("Which keeps lithium stable, borax or soda?", SALTS, False),
        ("Which keeps lithium stable: borax, soda or lime?", SALTS, False),
        ("Which salt or acid keeps lithium stable in a solution of borax?", SALTS, True),
        ("Which keeps (a) lithium and (b) sodium stable?", OPTIONS, False),
    ],
)
def test_a_question_holds_neither_its_answer_nor_its_options(question: str, options: list[str], faulty: bool) -> None:
    assert option_faults(options, question=question) == (["question"] if faulty else [])


@pytest.mark.parametrize(("answer", "faulty"), [("PREN", True), ("4.08 m", True), ("2", False), ("REN", False)])
def test_a_question_with_a_short_answer_does_not_hold_it(answer: str, faulty: bool) -> None:
    question = "Which number ranks steels, as PREN = Cr + 3.3 Mo does, for 2 pumps that lift by 4.08 m?"
    asked = {"question": question, "answer": answer, "points": ["names it"], "explanation": ""}
    assert faults_of({"question": question}, asked) == (["question: holds the answer"] if faulty else [])


@pytest.mark.parametrize(
    ("question", "answer", "faulty"),
    [
        ("Which is denser, ice or water?", "water", False),
        ("Is it True or False that tin melts?", "False", False),
        ("Ist Kupfer oder Silber der bessere Leiter?", "Silber", False),
        ("Which of list and tuple is hashable?", "tuple", False),
        ("丙酮和乙醇哪个沸点更低？", "丙酮", False),
        ("Which is the density of water beside ice?", "water", True),
        ("Which list and tuple are hashable?", "tuple", True),
        ("Does one of them hold, or a salt that keeps lithium stable?", "a salt that keeps lithium stable", True),
    ],
)
def test_an_answer_that_the_question_offers_beside_another_is_not_given_away(
    question: str, answer: str, faulty: bool
) -> None:
    asked = {"question": question, "answer": answer, "points": ["names it"], "explanation": ""}
    assert faults_of({"question": question}, asked) == (["question: holds the answer"] if faulty else [])


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({}, ""),
        ({"options": ["water \n and ice", *OPTIONS[1:]], "right": OPTIONS[2]}, ""),
        ({"options": ["water\nC. ice", *OPTIONS[1:]], "right": OPTIONS[2]}, "options"),
        ({"options": [*(f"```\nx = {each}\n```" for each in range(4)), "none is"], "right": "none is"}, "options"),
        ({"question": "Which of these keeps lithium stable?\nB. subtilis\nchoose"}, ""),
        ({"question": "Which keeps lithium stable?\nI. Water boils.\nII. Tin rusts."}, ""),
        ({"question": "E. coli grows in it.\nWhich keeps lithium stable?"}, ""),
    ],
)
def test_options_that_lpfqas_form_would_not_give_back_are_a_fault(change: dict[str, Any], key: str) -> None:
    asked = {"question": QUESTION, "options": [f" {each} " for each in OPTIONS], "right": OPTIONS[0]}
    asked = {**asked, "explanation": "", **change}
    faults = faults_of({"question": asked["question"]}, asked)
    assert [fault.partition(":")[0] for fault in faults] == ([key] if key else [])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"options": [*OPTIONS[:4], "a film\n\nof it"]}, ["options: this one has a blank line", "'a film\\n\\nof it'"]),
        ({"options": [*OPTIONS[:4], "is it a film?"]}, ["options: this one would be read as the question", "'is it a"]),
        ({"options": [*OPTIONS[:4], "```\na film\n```"]}, ["options: write this one without fences", "a film"]),
        (
            {"options": ["water\nC. ice", *OPTIONS[1:]], "right": OPTIONS[2]},
            ["options: this one has several lines", "ice"],
        ),
        ({"question": "Which?\nA. x\nB. y"}, ["question: has lines that would be read as options"]),
    ],
)
def test_an_option_that_would_not_be_read_back_is_named_with_why(change: dict[str, Any], told: list[str]) -> None:
    asked = {"question": QUESTION, "options": OPTIONS, "right": OPTIONS[0], "explanation": "", **change}
    (fault,) = faults_of({"question": asked["question"]}, asked)
    assert fault.startswith(told[0])
    assert told[-1] in fault


def test_all_names_of_a_text_are_told_at_once() -> None:
    names = names_of(NamesAndTexts(["Marlow Quist", "Anne Gray"], "", (), "")).kept()
    asked = {"question": QUESTION, "options": OPTIONS, "right": OPTIONS[0], "explanation": "As Anne Gray and M. Quist."}
    (fault,) = faults_of({"question": QUESTION, "names": names}, asked)
    assert fault.startswith("explanation: leave out 'Anne Gray', 'M. Quist': ")
    many = "".join(f"jo{n}@mail.example " for n in range(30))
    (fault,) = faults_of({"question": QUESTION}, asked | {"explanation": many})
    assert "'jo9@mail.example' and 20 more: " in fault


@pytest.mark.parametrize(
    ("answer", "question", "faulty"),
    [
        (" Two volts. ", "How many?", False),
        ("Two volts\n<Evaluation Points>\n1. anything", "How many?", True),
        ("参考 <评估要点> two", "How many?", True),
        ("B", "Which of them is it?\nA. water\nB. ice\nC. tin", True),
    ],
)
def test_an_answer_that_lpfqas_form_would_not_give_back_is_a_fault(answer: str, question: str, faulty: bool) -> None:
    asked = {"question": question, "answer": answer, "points": ["says so ", "names\nboth"], "explanation": ""}
    faults = faults_of({"question": question}, asked)
    assert [fault.partition(":")[0] for fault in faults] == (["answer"] if faulty else [])
