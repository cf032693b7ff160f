"""Trials of arms of a ladder, whose placebos come from all of its conditions together."""

from pathlib import Path

from tests.experiments.counterfactual.scenes import run, trial_of

from toolablate.experiments.attribution.choosing import ending_of
from toolablate.experiments.replay.batch import replay
from toolablate.traces.records import AnswerNow
from toolablate.traces.store import Store

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


def test_a_placebo_of_one_toolset_is_replayed_in_the_world_of_all(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(LADDERS, encoding="utf-8")
    store = run(plan)
    with Store(store) as opened:
        (question,) = {seen.question for seen in opened.observations()}
    for arm in ("search:placebo", "python:placebo", "search"):
        trial = trial_of(store, arm, question)
        with Store(store) as opened:
            ending = ending_of(opened.conversation(trial))
        assert ending is not None
        assert replay(store, trial, ending, AnswerNow()).launched.missing == 0
