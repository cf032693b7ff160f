"""Scenes by question, from a JSONL file."""

from pathlib import Path

from toolablate.agents.simulated.planted.scene import Scene
from toolablate.agents.simulated.playbook import numbered
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question


class Scenes:
    """All scenes of one file. Raises InputError that names the line and the key where the file is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scenes: dict[str, Scene] = {}
        for number, scene in numbered(path, Scene, "scenes"):
            if scene.question in self._scenes:
                raise InputError(f"{path}:{number}: question {scene.question!r} is there already", code="bad_scenes")
            self._scenes[scene.question] = scene

    def of(self, question: Question) -> Scene:
        """Raises InputError where there is none, and where its letters are not those of the question's choices."""
        scene = self._scenes.get(question.id)
        if scene is None:
            raise InputError(
                f"{self._path}: no scene for question {question.id!r}",
                hint="a model with scenes needs one for every question that the plan asks",
                code="no_scene",
            )
        letters = [chr(ord("A") + place) for place in range(len(question.choices))]
        if sorted(scene.prior) != letters:
            raise InputError(
                f"{self._path}: the scene of question {question.id!r} has weights for"
                f" {', '.join(sorted(scene.prior))}; its choices are {', '.join(letters) or 'none'}",
                code="bad_scenes",
            )
        return scene
