"""Scenes by question, from a JSONL file."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from toolablate.agents.simulated.planted.scene import Scene
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question


class Scenes:
    """All scenes of one file. Raises InputError that names the line and the key where the file is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scenes: dict[str, Scene] = {}
        for number, scene in _read(path):
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


def _read(path: Path) -> Iterator[tuple[int, Scene]]:
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removeprefix(b"\xef\xbb\xbf").strip()
                if line:
                    yield number, Scene.model_validate_json(line)
    except OSError as error:
        raise InputError(f"cannot read the scenes {path}: {error.strerror}", code="unreadable_scenes") from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        said = problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}:{number}: {where}{': ' if where else ''}{said}", code="bad_scenes") from None
