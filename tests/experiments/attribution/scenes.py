"""Models whose belief follows from what their tools gave, and what is read of their replays."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from tests.experiments.replay.scenes import code
from tests.servers.chat_server import Step, reply

from toolablate.experiments.attribution.cases import Case
from toolablate.experiments.attribution.replay_evidence import Outcomes, outcomes_of
from toolablate.experiments.attribution.sampled_trials import ChosenTrial, choose
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Store

ALL = ReplayDesign(failures=1, successes=1, samples=3, rollouts=2, steps="all", precision=0.5, each_result=True)
"""All that is asked of a trial whatever comes of it, and no round after that: where all runs of a level agree, one
mechanism is likelier than not."""


def swayed(
    cells: Sequence[str], wrong: Callable[[list[str]], bool], *, form: str = "Answer: {}"
) -> Callable[..., Step]:
    """Runs these cells one by one, and says 4, or 7 where the results that it was shown make it wrong."""

    def decide(request: dict[str, Any]) -> Step:
        messages = request["messages"]
        shown = [message["content"] for message in messages if message["role"] == "tool"]
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn < len(cells) and request.get("tools") and request.get("tool_choice") != "none":
            return code(cells[turn])
        aside = "Put aside" in messages[-1]["content"]
        return reply(form.format(7 if wrong(shown) and not aside else 4))

    return decide


class Heard(RunProgress):
    """What was told and warned of."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))
        self.told: list[str] = []

    def tell(self, text: str) -> None:
        self.told.append(text)

    def warn(self, text: str) -> None:
        self.told.append(text)


def chosen_of(store: Path, design: ReplayDesign = ALL, **kept: Any) -> tuple[ChosenTrial, ...]:
    with Store(store) as opened:
        return choose(opened, design, opened.summaries(), **kept)


def case_in(store: Path) -> Case:
    (only,) = chosen_of(store)
    return only.case


def outcomes_in(store: Path) -> Outcomes:
    """Of the one trial with tools."""
    case = case_in(store)
    with Store(store) as opened:
        return outcomes_of(case, opened.counterfactuals(trial=case.trial).get(case.trial, ()))


def purposes_in(store: Path) -> dict[str, int]:
    """How many replays the one trial with tools has, by what they are for."""
    counted: Counter[str] = Counter()
    for purpose, replays in outcomes_in(store).items():
        counted[purpose.kind] += len(replays)
    return dict(counted)


def replays_of(store: Path) -> set[str]:
    """The ids of all counterfactuals."""
    with Store(store) as opened:
        return {each.trial for replays in opened.counterfactuals().values() for each in replays}
