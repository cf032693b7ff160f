"""A trial has one label by its trace, whether it is asked about alone or with all others."""

from collections import defaultdict
from pathlib import Path

from tests.experiments.attributing.scenes import swayed
from tests.experiments.counterfactual.scenes import endpoint_plan, run
from tests.servers.chat_server import ChatServer

from toolablate.experiments.attribution.explained import explained
from toolablate.traces.store import Store

MISLED = swayed(["print(5)", "print(7)"], lambda shown: "7" in shown)


def test_a_trial_alone_is_held_against_all_questions_of_its_condition(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    path = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    every = explained(path).explained
    assert every
    for each in every:
        assert explained(path, trial=each.evidence.chain.trial).explained == (each,)

    with Store(path) as store:
        seen = store.observations()
        for name, condition in store.conditions_of(seen).items():
            values: dict[str, list[float | None]] = defaultdict(list)
            for each_seen in (each for each in seen if each.condition == name):
                values[store.trace(each_seen.trial).trial.question].append(each_seen.value)
            read = store.values_beside(seen[0].trial, condition.identity())
            assert read == values
            assert store.values_beside(seen[0].trial, condition.identity(), run=store.runs()[-1].id) == values
