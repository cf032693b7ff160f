"""Which trials of a real store a design has replayed."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import WritePlan
from tests.experiments.attribution.scenes import ALL, Heard, chosen_of, replays_of, swayed
from tests.experiments.plan_files import KERNELS, answered
from tests.experiments.replay.scenes import PRICED, code, endpoint_plan, run
from tests.servers.chat_server import ChatServer, Step, reply

from toolablate.analysis.attribution.decomposition import is_sampled
from toolablate.experiments.attribution.replay_rounds import LIKELY_SHARE, attribute
from toolablate.traces.errors import InputError
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Store

CONDITIONS = """[
    "none", "python",
    { name = "sham", base = "python", interventions = ["sham"] },
    { name = "offered", base = "python", tool_choice = "none" },
]"""


@pytest.fixture
def price() -> str:
    return PRICED


@pytest.fixture
def scored(chat_server: ChatServer, tmp_path: Path, price: str) -> Path:
    """Six questions under a no-tool baseline, one with tools and two of its arms; every other one goes wrong with tools,
    for two of them after a result, and the last is answered in no form."""
    chat_server.answers(decide)
    asked = [{"id": f"q{n}", "prompt": f"Say {n}", "target": {"kind": "number", "value": n}} for n in range(6)]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"conditions = {CONDITIONS}\n{KERNELS}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{chat_server.url}'\n{price}\n",
        encoding="utf-8",
    )
    return run(plan)


def decide(request: dict[str, Any]) -> Step:
    messages = request["messages"]
    n = int(re.findall(r"Say (\d)", " ".join(each["content"] or "" for each in messages))[0])
    may_call = bool(request.get("tools")) and request.get("tool_choice") != "none"
    shown = [each["content"] for each in messages if each["role"] == "tool"]
    if may_call and n < 2 and not shown:
        return code("print('seen')")
    if not may_call or "(no output)" in shown:
        return reply(f"Answer: {n}")
    return reply("Who knows." if n == 5 else f"Answer: {n + n % 2}")


def names(store: Path, design: ReplayDesign) -> set[str]:
    return {each.seen.question for each in chosen_of(store, design)}


def test_trials_of_conditions_whose_tools_speak_for_themselves_are_chosen_by_their_scores(scored: Path) -> None:
    wrong, right = ReplayDesign(failures=1, successes=0), ReplayDesign(failures=0, successes=1)
    assert names(scored, wrong) == {"q1", "q3", "q5"}
    assert names(scored, right) == {"q0", "q2", "q4"}
    assert {each.seen.condition for each in chosen_of(scored, ReplayDesign(successes=1))} == {"python"}
    assert [each.is_wrong for each in chosen_of(scored, wrong)] == [True] * 3


def test_a_larger_share_chooses_the_same_and_more(scored: Path) -> None:
    shares = [names(scored, ReplayDesign(seed=3, failures=share, successes=share)) for share in (0.0, 0.3, 0.7, 1.0)]
    assert shares[0] == set()
    assert shares[0] <= shares[1] <= shares[2] <= shares[3]
    assert len(shares[3]) == 6
    some = ReplayDesign(seed=3, failures=0.5, successes=0.5)
    with Store(scored) as store:
        for seen in store.summaries():
            if seen.condition == "python":
                assert (seen.question in names(scored, some)) == is_sampled(some, seen.trial, seen.value or 0.0)


@pytest.mark.deep
def test_a_larger_design_adds_replays_of_the_new_trials_alone(scored: Path) -> None:
    # The lot goes by trials' ids, and these by the server's port.
    small = next(
        design
        for design in (ReplayDesign(seed=seed, failures=0.5, successes=0, samples=1, rollouts=1) for seed in range(99))
        if 0 < len(names(scored, design)) < 3
    )
    attribute(scored, small)
    before, trials = replays_of(scored), {each.case.trial for each in chosen_of(scored, small)}
    large = small.model_copy(update={"failures": 1.0})
    done = attribute(scored, large)
    assert before < replays_of(scored)
    with Store(scored) as store:
        added = {parent for parent, found in store.counterfactuals().items() if {e.trial for e in found} - before}
        assert store.replay_designs() == (small, large)
    assert not added & trials
    assert done.chosen == 3 > len(trials) > 0


@pytest.mark.deep
def test_answers_of_arms_are_mended_whatever_the_lot(scored: Path) -> None:
    # Its seed leaves the one trial out that is set against an arm without an answer.
    some = next(
        design
        for design in (ReplayDesign(seed=seed, failures=0.5, successes=0, samples=1, rollouts=1) for seed in range(99))
        if "q5" not in names(scored, design)
    )
    attribute(scored, some)
    with Store(scored) as store:
        unread = {seen.trial for seen in store.summaries() if seen.verdict == "unparsed" and seen.condition == "sham"}
        re_asked = store.counterfactuals()
    assert [len(re_asked[trial]) for trial in unread] == [1]


def test_names_keep_to_some_and_unknown_ones_are_refused(scored: Path) -> None:
    assert len(chosen_of(scored, ReplayDesign(successes=1), conditions=["python"], models=["m"])) == 6
    with pytest.raises(InputError, match="--model: no scored trials with tools are called 'gpt'") as caught:
        attribute(scored, ReplayDesign(), models=["gpt"])
    assert caught.value.hint == "there are m"
    with pytest.raises(InputError, match="--condition") as caught:
        attribute(scored, ReplayDesign(), conditions=["sham"])
    assert caught.value.hint == "there are python"


def test_a_store_without_tools_has_nothing_to_choose(write_plan: WritePlan) -> None:
    no_tools = run(write_plan({("q1", "none"): answered(), ("q2", "none"): answered()}, conditions='["none"]'))
    with pytest.raises(InputError, match="no scored trial of a condition with tools"):
        attribute(no_tools, ReplayDesign())


@pytest.mark.deep
def test_what_it_will_cost_is_told_first(scored: Path) -> None:
    design = ReplayDesign(failures=1, successes=0, samples=2, rollouts=1)
    with Heard() as heard:
        done = attribute(scored, design, progress=heard)
    # The trial with a result: an early answer and its last reply, 2 of each, and 2 rollouts; its code supports no
    # answer. Of those without results each a step of 2 and a rollout, and 2 re-asks of the one without an answer. Of
    # each question the trial without tools and the one with an offer alone, each twice.
    first = 14 + 3 * 2 * 2
    assert heard.told[0].startswith(f"3 trials to be replayed: {first} replays for about $")
    # Then at most 3 runs of each level (extended or again, its own results, placebos), 8 last replies and 8 answers
    # before each of 4 steps; of those without results 8 runs of 2 levels, and 8 answers twice. One in twelve answers
    # cannot be read: 2 of 17 + 4 runs, and 2 of 16 + 1 twice. And the sham's answer for sure.
    most = (3 * 3 + 8 + 4 * 8) + 2 * (2 * 8 + 2 * 8) + (2 + 2 + 2) + 1
    assert f" more by what these show, at most {most} replays for about $" in heard.told[0]
    assert f", and then about {1 + math.ceil(LIKELY_SHARE * (most - 1))} replays for about $" in heard.told[0]
    assert done.replays == len(replays_of(scored))
    assert first + 1 <= done.replays <= first + most


@pytest.mark.deep
def test_a_larger_design_is_never_told_to_take_less_than_it_does(scored: Path) -> None:
    attribute(scored, ReplayDesign(failures=1, successes=0, samples=2, rollouts=1))
    for design in (
        ReplayDesign(failures=1, successes=0, samples=2, rollouts=3),
        ReplayDesign(failures=1, successes=1, samples=4, rollouts=3),
    ):
        with Heard() as heard:
            before = len(replays_of(scored))
            attribute(scored, design, progress=heard)
        first, *_, most = (int(found) for found in re.findall(r"(\d+) replays? for about", heard.told[0]))
        assert first <= len(replays_of(scored)) - before <= first + most
    with Heard() as heard:
        attribute(scored, design, progress=heard)
    assert heard.told[0] == "6 trials to be replayed: 0 replays for about $0, and nothing after that"


@pytest.mark.deep
@pytest.mark.parametrize("price", [""])
def test_what_no_price_is_known_of_is_told_as_not_known(scored: Path) -> None:
    with Heard() as heard:
        done = attribute(scored, ReplayDesign(failures=1, successes=0, samples=1, rollouts=1), progress=heard)
    assert "$" not in " ".join(heard.told)
    assert heard.told[0].count("at a cost that is not known") == 3
    assert done.estimated_usd is None


def test_a_script_is_not_asked_what_else_it_would_have_said(good_plan: Path) -> None:
    store = run(good_plan)
    with pytest.raises(InputError, match="model 'recorded' is scripted"):
        attribute(store, ReplayDesign())
    assert replays_of(store) == set()


# Scores that replays would not have are refused before anything is spent.


TATQA = "tatqa"


def test_replays_that_would_have_no_score_that_counts_are_not_made(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(swayed(["print(7)"], lambda shown: "7" in shown))
    plan = endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']")
    question = {"id": "q1", "prompt": "What is 2 + 2?", "target": {"kind": "spans", "spans": ["4"]}}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    store, first = run(plan), tmp_path / "first.toml"
    first.write_text(plan.read_text(), encoding="utf-8")
    plan.write_text(plan.read_text().replace("file =", "scorer = 'tatqa'\nfile ="), encoding="utf-8")
    run(plan)
    asked = len(chat_server.requests)
    by_the_first = ALL.model_copy(update={"scorer": "spans"})
    with pytest.raises(InputError, match=r"would be scored by tatqa.*the scores of spans are") as caught:
        attribute(store, by_the_first)
    assert caught.value.code == "other_scorer"
    with pytest.raises(InputError, match="would be scored by spans, where"):
        attribute(store, ALL.model_copy(update={"scorer": TATQA}), plan=first)
    assert len(chat_server.requests) == asked
    with Store(store) as opened:
        assert opened.counterfactuals(scorers=["spans"]) == {}
