"""Whole attributions by replay: real kernels, a real store, a model over HTTP that believes what it is shown."""

import asyncio
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.attribution.stories import QUESTION, SPECS, asked, ended, gave, ran, said, searched, trace
from tests.experiments.attribution.scenes import (
    ALL,
    Heard,
    case_in,
    chosen_of,
    outcomes_in,
    purposes_in,
    replays_of,
    swayed,
)
from tests.experiments.replay.scenes import by_turn, endpoint_plan, run, trial_of
from tests.servers.chat_server import ChatServer, Json, Status, Step, reply

from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.experiments.attribution.cases import case_of, ending_of
from toolablate.experiments.attribution.planned_replays import MOST, first_round
from toolablate.experiments.attribution.replay_evidence import belief_of, flip_of
from toolablate.experiments.attribution.replay_rounds import Rounds, attribute, nothing_found
from toolablate.experiments.attribution.store_report import read_report
from toolablate.experiments.replay.batch import replay
from toolablate.experiments.replay.requests import ReplayRequest
from toolablate.traces.errors import InputError
from toolablate.traces.records import AnswerNow, Condition, Event, ReplayDesign, ReplayPurpose, ToolUse
from toolablate.traces.store import Store, verify

MISLED = swayed(["print(5)", "print(7)"], lambda shown: "7" in shown)
"""Right until it sees the second result."""


DOUBLING = """
from toolablate.tools import tool

@tool
def double(number: int) -> int:
    \"\"\"Doubles a number.\"\"\"
    return 2 * number
"""


def values(store: Path, purpose: ReplayPurpose) -> list[float | None]:
    return [each.value for each in outcomes_in(store)[purpose]]


@pytest.mark.deep
@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_a_misled_trial_is_replayed_by_the_whole_program_and_every_replay_is_known_again(
    chat_server: ChatServer, tmp_path: Path, backend: str
) -> None:
    chat_server.answers(MISLED)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']", sandbox=f"sandbox = '{backend}'"))
    done = attribute(store, ALL)
    assert (done.chosen, done.missing, done.refused, done.stopped) == (1, 0, (), False)
    assert purposes_in(store) == {
        "early_answer": 5 * 3,
        "ignore_tools": 3,
        "rollout": 2 * 2,
        "pivotal": 2 * 2,
        "shapley": 4 * 2,
    }
    of_arm = 2 * 2
    assert done.replays == len(replays_of(store)) == 34 + of_arm
    found = belief_of(case_in(store), outcomes_in(store))
    assert found is not None
    assert [belief.right.mean for belief in found.beliefs] == [1, 1, 1, 1, 0]
    flip = flip_of(case_in(store), outcomes_in(store))
    assert flip is not None
    assert (flip.after, flip.step, case_in(store).turned_by(flip)) == (3, 4, 3)
    assert values(store, ReplayPurpose(kind="ignore_tools")) == [1] * 3
    assert values(store, ReplayPurpose(kind="rollout")) == [0, 0]
    assert values(store, ReplayPurpose(kind="rollout", placebos=("code",))) == [1, 1]
    assert values(store, ReplayPurpose(kind="pivotal", event=3)) == [0, 0]
    assert values(store, ReplayPurpose(kind="pivotal", event=3, kept=False)) == [1, 1]
    shapley: dict[tuple[int, ...], int] = {(): 1, (0,): 1, (1,): 0, (0, 1): 0}
    assert {real: values(store, ReplayPurpose(kind="shapley", real=real)) for real in shapley} == {
        real: [value] * 2 for real, value in shapley.items()
    }
    assert verify(store).ok


LONG = "print('every other line is like this one\\n' * 150, {})"
"""Over five thousand characters and a number."""


@pytest.mark.deep
@pytest.mark.parametrize(
    ("wrong", "mechanism"),
    [
        (lambda shown: sum(map(len, shown)) > 6_000, "volume"),
        (lambda shown: any("like this one" in each for each in shown), "lock_in"),
    ],
    ids=["by length", "by content"],
)
def test_what_is_wrong_by_the_length_of_its_results_alone_is_told_from_what_is_misled_by_them(
    chat_server: ChatServer, tmp_path: Path, wrong: Callable[[list[str]], bool], mechanism: str
) -> None:
    chat_server.answers(swayed([LONG.format(5), LONG.format(6)], wrong))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    done = attribute(store, ALL)
    assert (done.missing, done.refused) == (0, ())
    assert purposes_in(store)["short"] == 2
    swapped = 0 if mechanism == "volume" else 1
    assert values(store, ReplayPurpose(kind="rollout", placebos=("code",))) == [swapped] * 2
    assert values(store, ReplayPurpose(kind="short")) == [1, 1]
    report = read_report(store)
    (trial,) = report.explained
    assert trial.attribution is not None
    assert (trial.attribution.mechanism, trial.attribution.method) == (mechanism, "replay")
    (decomposition,) = report.decompositions
    points = {each.name: each.points for each in decomposition.terms}
    assert points["volume"] == pytest.approx(-100 if mechanism == "volume" else 0)
    assert sum(points.values()) == pytest.approx(-100)
    (lengths,) = report.lengths
    assert 0.8 <= lengths.ratio <= 1.25


@pytest.mark.deep
def test_the_same_call_asks_nothing_again_and_keeps_the_design_once(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    first = attribute(store, ALL)
    asked = len(chat_server.requests)
    with Heard() as heard:
        again = attribute(store, ALL, progress=heard)
    assert len(chat_server.requests) == asked
    assert (again.replays, again.missing, again.estimated_usd) == (first.replays, 0, 0)
    assert heard.told[0] == "1 trial to be replayed: 0 replays for about $0, and nothing after that"
    with Store(store) as opened:
        assert opened.replay_designs() == (ALL,)


@pytest.mark.deep
def test_what_failed_is_done_by_the_same_call(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['python']", extra="runner = { attempts = 1 }"))
    asked = len(chat_server.requests)
    chat_server.answers(lambda request: Status(400) if len(chat_server.requests) == asked + 3 else MISLED(request))
    first = attribute(store, ALL)
    assert first.missing == 1
    chat_server.answers(MISLED)
    second = attribute(store, ALL)
    assert (second.replays, second.missing) == (first.replays, 0)


@pytest.mark.deep
def test_more_samples_go_on_with_those_that_are_there(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['python']"))
    attribute(store, ALL)
    before = replays_of(store)
    attribute(store, ALL.model_copy(update={"samples": 4}))
    # One more answer before each of five steps, and one more with tools ignored.
    assert len(replays_of(store) - before) == 5 + 1
    assert before < replays_of(store)


@pytest.mark.deep
def test_a_search_goes_on_in_rounds_until_it_has_found_the_fall(chat_server: ChatServer, tmp_path: Path) -> None:
    cells = [f"print({number})" for number in range(100, 112)]
    chat_server.answers(swayed(cells, lambda shown: "104" in shown))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    design = ReplayDesign(samples=2, rollouts=1)
    done = attribute(store, design)
    assert (done.missing, done.refused) == (0, ())
    found, flip = belief_of(case_in(store), outcomes_in(store)), flip_of(case_in(store), outcomes_in(store))
    assert found is not None
    assert flip is not None
    assert (flip.after, flip.step) == (9, 10)
    # Both ends, and then each answer halves the steps that are left, or makes its side surer.
    assert len(found.beliefs) <= 2 + 2 * math.ceil(math.log2(24)) < len(case_in(store).steps) == 25
    assert all(belief.samples <= MOST for belief in found.beliefs)
    asked = len(chat_server.requests)
    attribute(store, design)
    assert len(chat_server.requests) == asked


def test_a_trial_that_called_nothing_is_resampled_freely_and_asked_for_its_answer_at_once(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(swayed([], lambda _: True))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['python']"))
    attribute(store, ALL)
    assert purposes_in(store) == {"early_answer": 3, "rollout": 2}


@pytest.mark.deep
def test_a_trial_that_ran_out_of_budget_goes_on_with_twice_of_it(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(swayed(["print(5)", "print(6)"], lambda shown: "6" not in shown))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['python']", extra="budget = { turns = 1 }"))
    done = attribute(store, ALL)
    assert (done.missing, done.refused) == (0, ())
    assert values(store, ReplayPurpose(kind="extended")) == [1, 1]
    assert values(store, ReplayPurpose(kind="rollout")) == [1, 1]


@pytest.mark.deep
def test_a_fault_of_a_tool_is_repaired(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(swayed(["print(5)"], lambda shown: "5" not in shown))
    failing = "['none', { name = 'failing', base = 'python', interventions = ['fail'] }]"
    store = run(endpoint_plan(tmp_path, chat_server, conditions=failing))
    done = attribute(store, ALL)
    assert (done.missing, done.refused) == (0, ())
    assert values(store, ReplayPurpose(kind="repaired")) == values(store, ReplayPurpose(kind="rollout")) == [1, 1]


@pytest.mark.deep
def test_a_package_that_the_kernel_lacks_is_no_repair_and_loses_no_replay(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(swayed(["import ledgerkit"] * 2, lambda shown: any("No module" in each for each in shown)))
    arms = "['none', 'python', { name = 'empty', base = 'python', interventions = ['sham'] }]"
    store = run(endpoint_plan(tmp_path, chat_server, conditions=arms))
    done = attribute(store, ALL)
    assert (done.missing, done.refused) == (0, ())
    assert "repaired" not in purposes_in(store)
    # Placebos of what failed so fail so, too.
    for placebos in ((), ("code",)):
        assert values(store, ReplayPurpose(kind="rollout", placebos=placebos)) == [0, 0]
    (trial,) = [each for each in read_report(store).explained if each.evidence.condition == "python"]
    assert trial.evidence.inputs.replay is not None
    assert len(trial.evidence.inputs.replay.rollouts) == 2
    assert trial.attribution is not None
    assert (trial.attribution.mechanism, trial.attribution.method) == ("tool_fault", "replay")


def mumbling(cells: list[str]) -> Callable[[dict[str, Any]], Step]:
    """Misled by a 7, and says nothing that can be read until it is asked for its answer."""
    plain = swayed(cells, lambda shown: "7" in shown)
    mumbled = swayed(cells, lambda shown: "7" in shown, form="It is {}, I think, or so they say, or not.")

    def decide(request: dict[str, Any]) -> Step:
        messages = request["messages"]
        return (plain if messages[-1]["role"] == "user" and len(messages) > 2 else mumbled)(request)

    return decide


@pytest.mark.deep
def test_answers_that_cannot_be_read_are_asked_for_once_more_in_all_runs_that_are_compared(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(mumbling(["print(7)"]))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    with Store(store) as opened:
        assert {seen.verdict for seen in opened.summaries()} == {"unparsed"}
    done = attribute(store, ALL)
    assert done.missing == 0
    with Store(store) as opened:
        found = opened.counterfactuals()
        no_tools = next(seen.trial for seen in opened.summaries() if seen.condition == "none")
    re_asked = [each for each in found[no_tools] if each.resumption.purposes == (ReplayPurpose(kind="answer_re_ask"),)]
    assert [(each.value, each.verdict) for each in re_asked] == [(1, "correct")]
    unparsed = [each for each in outcomes_in(store)[ReplayPurpose(kind="rollout")] if each.verdict == "unparsed"]
    assert len(unparsed) == 2
    assert [len(found[each.trial]) for each in unparsed] == [1, 1]


def test_what_cannot_be_replayed_is_left_out_and_told(chat_server: ChatServer, tmp_path: Path) -> None:
    module = f"of_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(DOUBLING, encoding="utf-8")
    own = f"['none', {{ name = 'own', base = 'none', tools = ['{module}:double'] }}]"
    chat_server.answers(by_turn(reply("", ("double", {"number": 3})), reply("Answer: 6")))
    store = run(endpoint_plan(tmp_path, chat_server, conditions=own))
    done = attribute(store, ALL)
    (refused,) = done.refused
    assert (refused.purpose, refused.reason, refused.replays) == ("rollout", "no_placebo_source", 2)
    assert "run more questions with this tool" in refused.message
    assert "[placebo]" in refused.message
    assert purposes_in(store)["rollout"] == 2
    # Answers before three steps, two runs with its own results, and four of the arm without tools: it ran no code, and
    # its answer can be read.
    assert (done.replays, done.missing) == (3 * 3 + 2 + 4, 0)


def test_without_its_plan_nothing_is_left_out_but_all_refused(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    plan = endpoint_plan(tmp_path, chat_server, conditions="['python']")
    store = run(plan)
    other = tmp_path / "other.toml"
    other.write_text(plan.read_text().replace("name = 'm'", "name = 'n'"), encoding="utf-8")
    with pytest.raises(InputError, match="--plan: it has no model 'm'"):
        attribute(store, ALL, plan=other)
    assert replays_of(store) == set()


def test_nothing_is_spent_or_written_where_round_one_is_too_dear(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['python']"))
    asked = len(chat_server.requests)
    with pytest.raises(InputError, match="--max-cost") as caught:
        attribute(store, ALL, max_cost=1e-6)
    assert caught.value.code == "too_dear"
    assert len(chat_server.requests) == asked
    assert replays_of(store) == set()
    with Store(store) as opened:
        assert opened.replay_designs() == ()


def first_requests(store: Path) -> list[ReplayRequest]:
    return [request for each in chosen_of(store) for request in first_round(each, ALL)]


@pytest.mark.deep
def test_round_two_is_left_out_where_it_would_be_too_dear_and_done_when_there_is_more(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(MISLED)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['python']"))
    case = case_in(store)
    with Heard() as heard:
        requests = first_requests(store)
        of_round_one = Rounds(store, None, None, live=False, progress=heard).estimate(requests).usd
        part = attribute(store, ALL, max_cost=of_round_one, progress=heard)
    assert part.estimated_usd == of_round_one
    with Store(store) as opened:
        kinds = opened.resumptions(case.trial)
        costs = [opened.trace(trial).cost_usd or 0.0 for trial in kinds]
    assert part.spent_usd == pytest.approx(sum(costs))
    assert {(each.purpose, each.reason) for each in part.refused} == {
        ("pivotal", "too_dear"),
        ("shapley", "too_dear"),
    }
    assert sum(each.replays for each in part.refused) == 12
    assert heard.told[-1].startswith("12 replays left out: --max-cost")
    assert purposes_in(store).keys() == {"early_answer", "ignore_tools", "rollout"}
    assert attribute(store, ALL, max_cost=of_round_one).refused == ()
    assert {"pivotal", "shapley"} < purposes_in(store).keys()


@pytest.mark.deep
def test_what_each_result_takes_is_told_with_the_answers_that_will_be_asked_for_again(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(mumbling(["print(5)", "print(7)"]))
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    attribute(store, ALL.model_copy(update={"each_result": False}))
    before = replays_of(store)
    with Heard() as heard:
        attribute(store, ALL, progress=heard)
    # The turn's result kept and left out, and four choices of two results, each twice; no reply can be read so far.
    runs = (2 + 4) * 2
    assert heard.told[0].startswith("1 trial to be replayed: 0 replays for about $0, and then about ")
    assert f"at most {2 * runs} replays for about $" in heard.told[0]
    assert len(replays_of(store) - before) == 2 * runs


@pytest.mark.deep
def test_what_round_one_costs_more_than_thought_is_not_spent_again(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['python']"))
    before = len(chat_server.requests)
    with Heard() as heard:
        requests = first_requests(store)
        thought = Rounds(store, None, None, live=False, progress=heard).estimate(requests).usd
    assert thought

    def dear(request: dict[str, Any]) -> Step:
        tokens = int(1e6 * thought / 16)
        usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        said = MISLED(request)
        assert isinstance(said, Json)
        return Json({**said.value, "usage": usage})

    chat_server.answers(dear)
    done = attribute(store, ALL, max_cost=2 * thought)
    assert (len(chat_server.requests) - before) * thought / 16 > 1.5 * thought
    # Round two stops on its way or is not begun, by how far its own estimate fits into what is really left: less than
    # round one would have left at the cost that was thought.
    assert done.stopped or done.refused
    for each in done.refused:
        allowed = re.search(r"\$(\S+) are allowed", each.message)
        assert allowed
        assert float(allowed[1]) < thought


# What results would be where tools find nothing, in the words of the substitute that says so.


def nothing(*events: Event, tools: tuple[str, ...]) -> dict[int, str]:
    condition = Condition(name="tools", tools=tuple(ToolUse(name=name) for name in tools))
    told = trace(events)
    case = case_of(told, condition, signals_of(told, QUESTION, condition))
    return dict(asyncio.run(nothing_found(case, told, condition)))


def test_each_tool_says_in_its_own_words_that_there_is_nothing() -> None:
    found = nothing(
        *ran("print(1)", "1"), *searched("green gas", "nitrogen"), *ended("Answer: B"), tools=("python", "search")
    )
    assert found == {1: "(no output)", 3: "No results for 'green gas'."}


def test_a_tool_of_a_server_that_is_not_started_prints_nothing() -> None:
    spec = SPECS[0].model_copy(update={"name": "lookup"})
    call = asked("lookup", key="gas")
    found = nothing(said("", call, specs=(spec,)), gave(call, "nitrogen"), *ended("Answer: B"), tools=("mcp:books",))
    assert found == {1: "(no output)"}


# Trials of arms of a ladder, whose placebos come from all of its conditions together.


LADDERS = """
ladder = [{ name = "python", arms = ["placebo"] }, { name = "search", arms = ["placebo"] }]
[questions]
file = "builtin"
limit = 1
[search]
provider = "corpus"
corpus = "builtin"
[[models]]
provider = "simulated"
playbook = "builtin"
name = "steady"
"""


@pytest.mark.deep
def test_a_placebo_of_one_toolset_is_replayed_in_the_environment_of_all(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(LADDERS, encoding="utf-8")
    store = run(plan)
    with Store(store) as opened:
        (question,) = {seen.question for seen in opened.summaries()}
    for arm in ("search:placebo", "python:placebo", "search"):
        trial = trial_of(store, arm, question)
        with Store(store) as opened:
            ending = ending_of(opened.conversation(trial))
        assert ending is not None
        assert replay(store, trial, ending, AnswerNow()).launched.missing == 0
