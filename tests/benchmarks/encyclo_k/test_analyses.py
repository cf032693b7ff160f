"""What the analyses say of replies whose making is known, by hand and by simulation."""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.cells import cell_len
from scipy.stats import chi2_contingency, chisquare
from tests.benchmarks.encyclo_k.synthetic import subfield
from tests.experiments.scripted import run
from tests.traces.pages import shown

from toolablate.benchmarks import load_questions
from toolablate.benchmarks.encyclo_k import compose, single_statements
from toolablate.benchmarks.encyclo_k.analyses import Reply, tables
from toolablate.benchmarks.encyclo_k.analyses.positions import accuracy_test, choice_test
from toolablate.benchmarks.encyclo_k.analyses.replies import statement_count
from toolablate.benchmarks.lettering import LETTERS
from toolablate.experiments.cli.encyclo_k import command
from toolablate.experiments.encyclo_k import read_tables
from toolablate.traces.analysis.accuracy import accuracy
from toolablate.traces.analysis.encyclo_k import ArmAccuracy
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, Question
from toolablate.traces.store import Observation
from toolablate.traces.terminal.encyclo_k import encyclo_k_view


def question(number: int, right: str = "A", options: int = 4, **metadata: Any) -> Question:
    return Question(
        id=f"q{number}",
        prompt="Which hold?",
        choices=tuple(LETTERS[:options].lower()),
        target=ChoiceTarget(letters=(right,)),
        source="encyclo-k",
        metadata={"discipline": "Science", "field": "Physics", "subfield": "Optics", **metadata},
    )


def reply(of: Question, chosen: str, *, model: str = "m", condition: str = "none", **changes: Any) -> Reply:
    assert of.target.kind == "choice"
    right = (chosen,) == of.target.letters
    verdict: Any = "unparsed" if not chosen else "correct" if right else "wrong"
    tokens = changes.pop("tokens", None)
    seen = Observation(
        of.id, model, condition, value=float(right), verdict=verdict, cluster=of.cluster, domain=of.domain
    )
    return Reply(replace(seen, **changes), of, chosen, tokens)


def levels(arm: ArmAccuracy) -> dict[str, tuple[int, float | None]]:
    return {each.level: (each.groups, each.accuracy.percent) for each in arm.levels}


def groups(arm: ArmAccuracy, by: str) -> dict[str, tuple[int, float | None]]:
    return {each.group: (each.accuracy.questions, each.accuracy.percent) for each in arm.groups if each.by == by}


def test_each_group_weighs_the_same_at_its_level() -> None:
    places = [
        ("Science", "Physics", "Optics", "A"),
        ("Science", "Physics", "Optics", "B"),
        ("Science", "Physics", "Heat", "B"),
        ("Science", "Botany", "Optics", "A"),
        ("Law", "Law", "Torts", "A"),
    ]
    asked = [
        question(n, discipline=discipline, field=field, subfield=name)
        for n, (discipline, field, name, _) in enumerate(places)
    ]
    (arm,) = tables([reply(each, place[-1]) for each, place in zip(asked, places, strict=True)]).arms
    assert levels(arm) == {
        "sample": (1, pytest.approx(60)),
        "subfield": (4, pytest.approx((50 + 0 + 100 + 100) / 4)),
        "field": (3, pytest.approx((100 / 3 + 100 + 100) / 3)),
        "discipline": (2, pytest.approx(75)),
    }
    assert groups(arm, "subfield")["Science > Botany > Optics"] == (1, 100)
    assert groups(arm, "discipline") == {"Law": (1, 100), "Science": (4, 50)}
    assert all(each.accuracy.small for each in arm.levels)


def test_repeats_are_averaged_first_and_what_has_no_score_is_left_out() -> None:
    one, other, third = question(1), question(2), question(3)
    (arm,) = tables(
        [
            reply(one, "A"),
            reply(one, "B", repeat=1),
            reply(other, ""),
            reply(other, "B", repeat=1),
            reply(other, "A", repeat=2, outcome="failed"),
            reply(third, "A", value=None, verdict="unscored"),
            reply(question(4).model_copy(update={"source": "elsewhere"}), "A"),
        ]
    ).arms
    assert levels(arm)["sample"] == (1, 25)
    assert (arm.trials, arm.missed) == (4, 1)


def test_accuracy_is_given_by_options_and_statements_in_order_of_number() -> None:
    asked = [question(n, options=4 + n % 7, statements=[str(each) for each in range(8 + n % 3)]) for n in range(42)]
    (arm,) = tables([reply(each, "A" if len(each.choices) < 6 else "B") for each in asked]).arms
    assert groups(arm, "options") == {str(count): (6, 100 if count < 6 else 0) for count in range(4, 11)}
    assert list(groups(arm, "options")) == ["4", "5", "6", "7", "8", "9", "10"]
    assert [found for found, _ in groups(arm, "statements").values()] == [14, 14, 14]


def test_statements_of_published_questions_are_counted_by_their_numerals() -> None:
    prompt = "Which hold?\ni. One.\nIt goes on.\nii. Two: i. is no new one.\niii. Three\n i) a list\nIV) Four"
    asked = question(1).model_copy(update={"prompt": prompt})
    assert statement_count(asked) == 4
    assert statement_count(question(1)) is None
    assert groups(tables([reply(question(1), "A")]).arms[0], "statements") == {}


def test_an_interval_rests_on_clusters() -> None:
    alone = [question(n) for n in range(80)]
    shared = [each.model_copy(update={"cluster": f"c{n // 8}"}) for n, each in enumerate(alone)]

    def sample(asked: Sequence[Question]) -> Any:
        return (
            tables([reply(each, "A" if n % 16 < 8 else "B") for n, each in enumerate(asked)]).arms[0].levels[0].accuracy
        )

    free, tied = sample(alone), sample(shared)
    assert (free.clusters, tied.clusters, free.small, tied.small) == (80, 10, False, True)
    assert tied.ci95[1] - tied.ci95[0] > 2 * (free.ci95[1] - free.ci95[0])


@cache
def plain(right: str, options: int) -> Question:
    return question(0, right, options)


def test_the_interval_of_an_average_over_groups_holds_the_truth_as_often_as_it_says() -> None:
    sizes, chances = (12, 30, 30, 60, 90, 150, 300), (0.9, 0.3, 0.6, 0.5, 0.7, 0.4, 0.55)
    groups_of = [group for group, size in enumerate(sizes) for _ in range(size)]
    weights, units = [1 / sizes[group] for group in groups_of], [("question", str(n)) for n in range(len(groups_of))]
    truth, draws, held = 100 * sum(chances) / len(chances), random.Random(5), 0
    for seed in range(300):
        scores = [float(draws.random() < chances[group]) for group in groups_of]
        low, high = accuracy(scores, units, weights=weights, seed=seed).ci95 or (0, 0)
        held += low <= truth <= high
    assert 0.92 <= held / 300 <= 0.985


def drawn(count: int, answer: Callable[[random.Random, str, int], str], seed: int, **arm: str) -> list[Reply]:
    draws = random.Random(seed)
    found = []
    for n in range(count):
        options = draws.randint(4, 8)
        right = LETTERS[draws.randrange(options)]
        found.append(reply(plain(right, options), answer(draws, right, options), question=f"q{n}", **arm))
    return found


def fair(draws: random.Random, right: str, options: int) -> str:
    """Right less often where there are more options, and wrong without a preference."""
    if draws.random() < 3 / options:
        return right
    return draws.choice([letter for letter in LETTERS[:options] if letter != right])


def shy_of_a(draws: random.Random, right: str, options: int) -> str:
    """As a model in the paper's table 5: half as often right where A is, and seldom wrong there."""
    given = fair(draws, right, options)
    return draws.choice(LETTERS[1:options]) if given == "A" and draws.random() < 0.5 else given


def test_one_stratum_is_pearsons_test() -> None:
    draws = random.Random(1)
    asked = [reply(question(n, draws.choice("ABCD")), draws.choice("AABCD")) for n in range(300)]
    table = [
        [sum(each.right == right and each.question.target.letters == (letter,) for each in asked) for letter in "ABCD"]  # type: ignore[union-attr]
        for right in (True, False)
    ]
    found = accuracy_test(asked)
    pearson = chi2_contingency(table)
    assert found.degrees == pearson.dof == 3
    assert found.statistic == pytest.approx(pearson.statistic * 299 / 300)
    wrong = [reply(question(n, "A"), draws.choice("BBCD")) for n in range(200)]
    counted = [sum(each.chosen == letter for each in wrong) for letter in "BCD"]
    chosen = choice_test(wrong)
    assert (chosen.degrees, chosen.statistic) == (2, pytest.approx(chisquare(counted).statistic))
    assert chosen.p_value == pytest.approx(chisquare(counted).pvalue)


def test_a_model_without_preference_is_seldom_accused_and_one_with_it_is_found() -> None:
    found = [drawn(300, fair, seed) for seed in range(400)]
    for test in (accuracy_test, lambda replies: choice_test([each for each in replies if not each.right])):
        p_values = [test(replies).p_value for replies in found]
        assert all(p is not None for p in p_values)
        accused = sum(p < 0.05 for p in p_values if p is not None)
        assert 8 <= accused <= 34, "5 % of 400, though questions with late places are harder"
        shy = [test(drawn(800, shy_of_a, seed)).p_value for seed in range(40)]
        assert sum(p is not None and p < 0.05 for p in shy) >= 34


def test_places_are_counted_and_p_values_corrected_over_arms() -> None:
    replies = [*drawn(400, fair, 1, model="even"), *drawn(400, shy_of_a, 2, model="shy")]
    even, shy = tables(replies).positions
    assert (even.model, shy.model) == ("even", "shy")
    assert sum(each.chosen for each in even.positions) == 400
    assert sum(each.right.questions for each in even.positions) == 400
    wrong = sum(not each.right for each in replies[:400])
    assert sum(each.wrongly for each in even.positions) == wrong
    assert sum(each.wrongly_expected for each in even.positions) == pytest.approx(wrong)
    for bias in (even, shy):
        for test in (bias.by_right, bias.by_choice):
            assert test.p_value is not None
            assert test.p_holm is not None
            assert test.p_holm >= test.p_value
    assert shy.by_right.p_holm == pytest.approx(2 * (shy.by_right.p_value or 0))


def test_too_little_is_not_tested() -> None:
    (bias,) = tables(drawn(20, fair, 1)).positions
    assert bias.by_right.p_value is None
    assert tables([reply(question(1), "A")]).positions[0].by_choice.degrees == 0


def of_seeds(right: dict[str, Sequence[int]], count: int = 10) -> list[Reply]:
    """Of each model, how many of `count` questions it gets right with seed 0, 1 ..."""
    return [
        reply(question(100 * seed + n, seed=seed), "A" if n < hits else "B", model=model)
        for model, of_seed in right.items()
        for seed, hits in enumerate(of_seed)
        for n in range(count)
    ]


def test_sets_of_several_seeds_give_a_mean_a_range_and_reversals() -> None:
    found = tables(of_seeds({"low": [4, 5, 6], "high": [8, 8, 5], "same": [4, 5, 6]}))
    assert {each.model: (each.mean, each.low, each.high) for each in found.stability} == {
        "high": (pytest.approx(70), 50, 80),
        "low": (pytest.approx(50), 40, 60),
        "same": (pytest.approx(50), 40, 60),
    }
    assert {(each.higher, each.lower): each.reversed for each in found.rankings} == {
        ("high", "low"): (2,),
        ("high", "same"): (2,),
        ("low", "same"): (),
    }
    assert tables(of_seeds({"once": [4]})).stability == ()


def test_length_of_replies_by_what_became_of_them() -> None:
    asked = [question(n) for n in range(6)]
    (found,) = tables(
        [
            reply(asked[0], "A", tokens=10),
            reply(asked[1], "A", tokens=40),
            reply(asked[2], "A", tokens=10),
            reply(asked[3], "B", tokens=100),
            reply(asked[4], "", tokens=4000),
            reply(asked[5], "A"),
        ]
    ).lengths
    assert (found.right.replies, found.right.mean, found.right.median) == (3, 20, 10)
    assert (found.wrong.mean, found.wrong.ci95, found.missed.mean, found.unknown) == (100, None, 4000, 1)


def test_single_statements_stand_beside_the_questions_that_hold_them() -> None:
    one, two, part = (question(n, statements=held) for n, held in enumerate((["a", "b"], ["b", "c"], ["c", "x"])))
    judged = [question(10 + n, options=2, statement=name) for n, name in enumerate("abc")]
    composed = [reply(one, "A"), reply(two, "B"), reply(part, "A")]
    single = [reply(judged[0], "A"), reply(judged[1], "A"), reply(judged[2], "B")]
    (found,) = tables([*composed, *single]).single
    assert (found.statements.questions, found.statements.percent) == (3, pytest.approx(200 / 3))
    assert (found.questions.questions, found.questions.percent) == (2, pytest.approx(75))
    assert (found.composed.questions, found.composed.percent) == (2, pytest.approx(50))
    (arm,) = tables([*composed, *single]).arms
    assert levels(arm)["sample"] == (1, pytest.approx(200 / 3)), "single statements are no part of the accuracy"
    assert tables(composed).single == ()
    assert tables(single).arms == ()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_the_view_fits_and_says_what_it_shows(width: int) -> None:
    replies = [*of_seeds({"low": [4, 5, 6], "[red]high\x1b[2J": [8, 8, 5]}), *drawn(300, fair, 1, model="drawn")]
    page = shown(encyclo_k_view(tables(replies)), width)
    assert max(map(cell_len, page.splitlines())) <= width
    assert "\x1b" not in page
    flat = "".join(page.split())
    for part in ("Accuracybydiscipline", "[red]high", "Holm", "Science", "in1of1pairofmodels", "1of3seeds:2."):
        assert part in flat, (part, page)


def write_plan(folder: Path, questions: Iterable[Question], answer: Callable[[Question], str]) -> None:
    lines = [
        {"question": each.id, "condition": "none", "replies": [{"content": f"Answer: {answer(each)}"}]}
        for each in questions
    ]
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "plan.toml").write_text(
        "conditions = ['none']\n[questions]\nfile = 'questions.jsonl'\n"
        "[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n",
        encoding="utf-8",
    )


def test_from_statements_to_tables_by_the_command_line(tmp_path: Path) -> None:
    source = list(subfield("Optics 1", "Science", "en", 60, 60))
    statements = tmp_path / "statements.jsonl"
    statements.write_text("".join(each.to_json() + "\n" for each in source), encoding="utf-8")
    output, single = tmp_path / "questions.jsonl", tmp_path / "single.jsonl"
    arguments = [str(statements), "-o", str(output), "--seed", "3", "--questions", "12", "--single", str(single)]
    composed = CliRunner().invoke(command, ["compose", *arguments], catch_exceptions=False)
    assert composed.exit_code == 0, composed.output
    assert "12 questions of 120 statements, seed 3" in composed.output.replace("\n", " ")
    questions = load_questions(output)
    assert questions == compose(source, 3, 12)
    judged = load_questions(single)
    assert judged == single_statements(questions, source, 3)
    output.write_text(output.read_text("utf-8") + single.read_text("utf-8"), encoding="utf-8")

    def first(each: Question) -> str:
        return "A"

    write_plan(tmp_path, [*questions, *judged], first)
    run(tmp_path / "plan.toml")
    printed = CliRunner().invoke(command, ["tables", str(tmp_path / "store.sqlite"), "--json"], catch_exceptions=False)
    found = json.loads(printed.output)
    hits = sum(each.target.letters == ("A",) for each in questions)  # type: ignore[union-attr]
    (arm,) = found["arms"]
    assert (arm["trials"], arm["levels"][0]["accuracy"]["percent"]) == (12, pytest.approx(100 * hits / 12))
    assert found["positions"][0]["positions"][0]["chosen"] == 12
    assert found["single"][0]["statements"]["questions"] == len(judged)
    assert found["single"][0]["composed"]["questions"] == 12
    page = CliRunner().invoke(command, ["tables", str(tmp_path / "store.sqlite")], catch_exceptions=False).output
    assert "Single statements beside composed questions" in page


def test_sets_of_one_seed_and_other_forms_are_told_apart(tmp_path: Path) -> None:
    source = list(subfield("Optics 1", "Science", "en", 60, 60))
    for options in (4, 10):
        questions = compose(source, 3, 6, options=(options, options))
        lines = "".join(each.to_json() + "\n" for each in questions)
        (tmp_path / "questions.jsonl").write_text(lines, encoding="utf-8")
        write_plan(tmp_path, questions, lambda each: "A")
        run(tmp_path / "plan.toml")
    (arm,) = read_tables(tmp_path / "store.sqlite").arms
    assert {name: count for name, (count, _) in groups(arm, "options").items()} == {"4": 6, "10": 6}
    (arm,) = read_tables(tmp_path / "store.sqlite", run="latest").arms
    assert {name: count for name, (count, _) in groups(arm, "options").items()} == {"10": 6}


def test_a_store_of_other_questions_has_no_tables(tmp_path: Path) -> None:
    other = question(1).model_copy(update={"source": ""})
    (tmp_path / "questions.jsonl").write_text(other.to_json() + "\n", encoding="utf-8")
    write_plan(tmp_path, [other], lambda each: "A")
    run(tmp_path / "plan.toml")
    with pytest.raises(InputError, match="has no scored trial of Encyclo-K"):
        CliRunner().invoke(command, ["tables", str(tmp_path / "store.sqlite")], catch_exceptions=False)


def test_published_questions_are_brought_in_and_no_source_is_overwritten(tmp_path: Path) -> None:
    row = {"question": "Which?", "options": ["i, ii", "ii, iii"], "answer_letter": "B", "discipline": "Law"}
    published = tmp_path / "published.jsonl"
    published.write_text(json.dumps(row), encoding="utf-8")
    output = tmp_path / "questions.jsonl"
    brought = CliRunner().invoke(command, ["import", str(published), "-o", str(output)], catch_exceptions=False)
    assert brought.exit_code == 0, brought.output
    (found,) = load_questions(output)
    assert (found.domain, found.source) == ("Law", "encyclo-k")
    with pytest.raises(InputError, match="is the file that is read"):
        CliRunner().invoke(command, ["import", str(published), "-o", str(published)], catch_exceptions=False)
    assert json.loads(published.read_text("utf-8")) == row
