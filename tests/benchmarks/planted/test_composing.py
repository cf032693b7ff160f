"""Questions that are right, code that finds what it is meant to find, and scenarios that a model can act out."""

import contextlib
import io
import random
from collections import Counter, defaultdict
from string import ascii_uppercase
from typing import get_args

import pytest

from toolablate.agents.simulated.planted.mind import believed
from toolablate.agents.simulated.planted.scenario import Scenario
from toolablate.benchmarks.planted.cases import Half, make_case, templates
from toolablate.benchmarks.planted.composing import TURNS, Planted, Story, compose
from toolablate.benchmarks.planted.results import broken, general, harmless, stand_in


def printed(code: str) -> str:
    """What really comes out of a cell."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "cell", "exec"), {})
    return out.getvalue()


@pytest.fixture(scope="module", params=get_args(Half))
def half(request: pytest.FixtureRequest) -> Half:
    return request.param  # type: ignore[no-any-return]


def test_a_thousand_questions_differ_and_a_seed_gives_the_same_ones(half: Half) -> None:
    planted = compose(half, 1_000)
    assert len({each.question.prompt for each in planted}) == len(planted)
    assert len({document.id for each in planted for document in each.documents}) == sum(
        len(each.documents) for each in planted
    )
    assert compose(half, 40) == planted[:40]
    assert compose(half, 40, seed=1) != planted[:40]


def test_every_template_has_every_cause(half: Half) -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for each in compose(half, 3_000):
        causes = each.stories.values() if each.nature == "tools" else [each.nature]
        found[each.question.domain].update(causes)
    assert len(found) == len(templates(half))
    assert len({frozenset(causes) for causes in found.values()}) == 1
    assert all({*Story.__args__, "sampling_noise", "own_error", "format"} == causes for causes in found.values())


def test_cells_really_find_what_their_phrase_says(half: Half) -> None:
    for number in range(60):
        rng = random.Random(number)
        case = make_case(half, rng.choice(templates(half)), number, rng, elaborate_lure=number % 2 == 0)
        figures = dict(zip(ascii_uppercase, case.figures, strict=False))
        assert min(figures, key=lambda letter: figures[letter][1]) == case.right
        for shown, letter in ((stand_in(case, rng), case.tempting), (general(case, rng), case.right)):
            out = printed(shown.text)
            assert shown.phrase in out
            assert case.name(letter) in shown.phrase
            assert shown.phrase not in shown.text
        out = printed(harmless(case, rng).text)
        assert not any(name in out for name in case.names)
        with pytest.raises((NameError, ZeroDivisionError, KeyError, TypeError)):
            printed(broken(case, rng).text)


def test_scenarios_hold_to_the_contract_and_to_the_budget(half: Half) -> None:
    for each in compose(half, 1_000):
        scenario = Scenario.model_validate(each.scenario)
        assert scenario.question == each.question.id
        assert sorted(scenario.prior) == list(ascii_uppercase[: len(each.question.choices)])
        for toolset, script in scenario.scripts.items():
            assert len(script.turns) >= TURNS or each.stories[toolset] != "budget"
            assert len(script.turns) < 2 * TURNS


def test_most_models_would_be_right_without_tools() -> None:
    def right(planted: Planted) -> float:
        return believed(Scenario.model_validate(planted.scenario), ())[planted.question.target.letters[0]]

    shares = Counter(round(right(each), 1) for each in compose("dev", 2_000) if each.nature in ("tools", "format"))
    assert shares[0.8] + shares[0.9] > 0.8 * shares.total()


def test_phrases_stand_in_the_pages_of_their_case_alone(half: Half) -> None:
    planted = compose(half, 400)
    texts = {document.id: document.text.casefold() for each in planted for document in each.documents}
    for each in planted:
        for reaction in each.scenario["scripts"]["search"]["reactions"]:
            if reaction["when"] != "holds":
                continue
            holding = [identity for identity, text in texts.items() if reaction["phrase"].casefold() in text]
            assert holding
            assert all(identity.startswith(each.question.id) for identity in holding)
