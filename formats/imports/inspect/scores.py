"""Scores of Inspect as ours."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from toolablate.formats.imports.inspect.messages import json_of
from toolablate.formats.imports.inspect.ours import COUNTED, KEY, ours
from toolablate.formats.imports.naming import name_of
from toolablate.formats.imports.verdicts import verdict_of
from toolablate.traces.records import Score, clean_text

if TYPE_CHECKING:
    from inspect_ai.scorer import Score as InspectScore

_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_NO_ANSWER = "N"
_UNPARSED = ("invalid_response_format", "refusal", "no_response")


def scores_of(scores: "Mapping[str, InspectScore] | None") -> tuple[list[Score], list[tuple[str, str]]]:
    """The scores, and by scorer why a value is none. One that has several values is as many scorers."""
    taken: list[Score] = []
    left_out: list[tuple[str, str]] = []
    for scorer, score in (scores or {}).items():
        for name, value in _values(name_of(scorer, "score"), score.value):
            made = _score(name, value, score)
            if isinstance(made, Score):
                taken.append(made)
            else:
                left_out.append((name, made))
    return taken, left_out


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((name_of(f"{scorer}.{key}", scorer), each) for key, each in value.items())
    else:
        yield scorer, value


def _score(name: str, value: Any, score: "InspectScore") -> Score | str:
    """Or why it is none."""
    # What somebody has edited since in Inspect, counts as it is now.
    if (kept := ours(score.metadata).get("score")) and not score.history:
        own = kept.get("scorer") if name == COUNTED and isinstance(kept, Mapping) else name
        try:
            return Score.model_validate({**kept, "scorer": own, "trial": "", "target": ""})
        except (ValidationError, TypeError):
            return "what toolablate had written of it does not hold"
    number = _number(value)
    if isinstance(number, str):
        return number
    unparsed = value == _NO_ANSWER or (number == 0 and score.reason in _UNPARSED)
    verdict = "unparsed" if unparsed else verdict_of(number)
    metadata = json_of({name: each for name, each in (score.metadata or {}).items() if name != KEY})
    return Score(
        trial="",
        scorer=name,
        value=number,
        verdict=verdict,
        extracted=(clean_text(score.answer),) if score.answer else (),
        reason=clean_text(score.reason or ""),
        explanation=clean_text(score.explanation or ""),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _number(value: Any) -> float | str | None:
    """As Inspect's own metrics read it; None where it is not scored, a sentence where it is no score."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        word = _WORDS.get(value, _WORDS.get(value.lower()))
        if word is not None:
            return word
        try:
            value = float(value)
        except ValueError:
            return f"{name_of(value, '')[:80]!r} is no score"
    if not isinstance(value, bool | int | float):
        return f"several values in one ({type(value).__name__})"
    if not 0 <= value <= 1:
        return f"{value:g} is not between 0 and 1"
    return float(value)
