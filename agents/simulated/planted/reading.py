"""Scenarios by question, from a JSONL file."""

from pathlib import Path

from toolablate.agents.simulated.planted.scenario import Scenario
from toolablate.agents.simulated.playbook import numbered
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question


class Scenarios:
    """All scenarios of one file. Raises InputError that names the line and the key where the file is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scenarios: dict[str, Scenario] = {}
        for number, scenario in numbered(path, Scenario, "scenarios"):
            if scenario.question in self._scenarios:
                raise InputError(
                    f"{path}:{number}: question {scenario.question!r} is there already", code="bad_scenarios"
                )
            self._scenarios[scenario.question] = scenario

    def of(self, question: Question) -> Scenario:
        """Raises InputError where there is none, and where its letters are not those of the question's choices."""
        scenario = self._scenarios.get(question.id)
        if scenario is None:
            raise InputError(
                f"{self._path}: no scenario for question {question.id!r}",
                hint="a model with scenarios needs one for every question that the plan asks",
                code="no_scenario",
            )
        letters = [chr(ord("A") + place) for place in range(len(question.choices))]
        if not scenario.prior.keys() >= set(letters) >= set("".join(scenario.prior)):
            raise InputError(
                f"{self._path}: the scenario of question {question.id!r} has weights for"
                f" {', '.join(sorted(scenario.prior))}; its choices are {', '.join(letters) or 'none'}",
                code="bad_scenarios",
            )
        return scenario
