"""Whether style alone tells the right from the wrong: lengths, figures, words that never yield or always hedge."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolablate.benchmarks.prompt import LETTERS
from toolablate.experiments.construction.question_checks import letter_of, sum_of_chances
from toolablate.experiments.construction.stages import Content

_ABSOLUTE = (
    r"\b(?:always|never|only|all|every|must|none|exactly|entirely|immer|nie|nur|alle)\b|总是|从不|只|所有|必须|完全"
)
_HEDGED = r"\b(?:may|might|can|could|usually|often|some|mostly|about|rather|oft|meist|etwa)\b|可能|通常|往往|一般|大约"
_SIGNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"\s", r"\d", r"[,;:，；：]", r"[()（）]", _ABSOLUTE, _HEDGED, r"\b(?:not|no|nicht|kein)\b|[不没]")
)
_FOLDS, _RIDGE, _TIE = 10, 1.0, 1e-9
FEWEST = 20
"""Items that style tells apart: with fewer nothing is tested."""


@dataclass(frozen=True, slots=True)
class StyleGuess:
    """Of `items` (questions with options, or pairs of a correct and an incorrect statement), `told` are those in which
    style prefers one, or some that look the same. In `guessed` of these the right one is among them, by chance in
    `expected`; `p` is that of so many or more. None with fewer than 20 told. Where the wrong texts are the right ones
    of other items, guesses are worse than chance: what was learnt elsewhere points the other way."""

    items: int
    told: int
    guessed: int
    expected: float
    p: float | None


def groups_of(contents: Iterable[Content]) -> list[tuple[str, ...]]:
    """Of each item what there is to choose from, the right one first. Short answers have none."""
    found: list[tuple[str, ...]] = []
    for content in contents:
        if "false" in content:
            found.append((content["text"], content["false"]["text"]))
        elif "options" in content["asked"]:
            asked: Mapping[str, Any] = content["asked"]
            place = LETTERS.index(letter_of(asked))
            options = list(asked["options"])
            found.append((options.pop(place), *options))
    return found


def style_guess(groups: Sequence[Sequence[str]]) -> StyleGuess:
    """A linear rule, learnt by ridge regression on differences of the other items' right and wrong texts (ten folds,
    seed 0) and never on the item itself. The p-value is exact for independent guesses; those of one fold share a rule.
    """
    import numpy as np

    styles = [np.array([_style(text) for text in group]) for group in groups]
    folds = np.random.default_rng(0).permutation(len(groups)) % _FOLDS
    told, guessed, chances = 0, 0, []
    for fold in range(_FOLDS):
        learnt = [style for style, own in zip(styles, folds, strict=True) if own != fold]
        if not learnt:
            continue
        # Each item counts once, however many wrong texts it has.
        apart = np.concatenate([(style[0] - style[1:]) / np.sqrt(len(style) - 1) for style in learnt])
        scale = np.maximum(np.sqrt((apart**2).mean(0)), 1e-12)
        rows = apart / scale
        rule = np.linalg.solve(rows.T @ rows + _RIDGE * np.eye(rows.shape[1]), rows.sum(0)) / scale
        for style in (style for style, own in zip(styles, folds, strict=True) if own == fold):
            scores = style @ rule
            best = np.flatnonzero(scores >= scores.max() - _TIE)
            if len(best) < len(scores):
                told += 1
                guessed += int(0 in best)
                chances.append(len(best) / len(scores))
    p = float(sum_of_chances(chances)[guessed:].sum()) if told >= FEWEST else None
    return StyleGuess(len(groups), told, guessed, float(sum(chances)), None if p is None else min(1.0, p))


def _style(text: str) -> tuple[float, ...]:
    return (len(text) ** 0.5, *(float(len(sign.findall(text))) for sign in _SIGNS))


def style_told(style: StyleGuess, kind: str) -> str:
    """One sentence; "" where there is nothing to guess."""
    if not style.items:
        return ""
    what = "the right option" if kind == "questions" else "the correct statement of a pair"
    apart = f"Style alone tells {style.told} of {style.items} apart"
    if not style.told:
        return apart
    tested = p_told(style.p, "not by chance")
    return f"{apart}, and prefers {what} in {style.guessed} of these, by chance {style.expected:.1f}{tested}"


def p_told(value: float | None, told: str) -> str:
    """In brackets behind a figure; `told` is said where chance alone is unlikely."""
    if value is None:
        return " (too few to test)"
    return f" (p = {value:.3g}{f', {told}' if value < 0.05 else ''})"
