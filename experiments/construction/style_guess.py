"""Whether style alone tells the right from the wrong: lengths, figures, words that never yield or always hedge."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from toolablate.benchmarks.prompt import LETTERS
from toolablate.experiments.construction.question_checks import letter_of
from toolablate.experiments.construction.stages import Content
from toolablate.experiments.construction.statement_stages import set_alike

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
PERMUTATIONS = 499


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
            found.append(set_alike(content["text"], content["false"]["text"]))
        elif "options" in content["asked"]:
            asked: Mapping[str, Any] = content["asked"]
            place = LETTERS.index(letter_of(asked))
            options = list(asked["options"])
            found.append((options.pop(place), *options))
    return found


def style_guess(groups: Sequence[Sequence[str]], *, permutations: int = PERMUTATIONS) -> StyleGuess:
    """A linear rule, learnt by ridge regression on differences of the other items' right and wrong texts (ten folds,
    seed 0) and never on the item itself. Guesses by one rule hang together, and so do rules learnt on the same items.
    So the p-value is of a permutation test: which text of each item is right is drawn (seed 0), rules are learnt anew,
    and counted are the draws that guess as far above chance or further."""
    import numpy as np

    if not groups:
        return StyleGuess(0, 0, 0, 0.0, None)
    styles = _Styles(groups)
    found = styles.guess(np.zeros(len(groups), dtype=np.int64))
    p = None
    if found.told >= FEWEST:
        draws, sizes = np.random.default_rng(0), np.array([len(group) for group in groups])
        above = [styles.guess(draws.integers(sizes)).above for _ in range(permutations)]
        p = (1 + sum(each >= found.above - _TIE for each in above)) / (1 + permutations)
    return StyleGuess(len(groups), found.told, found.guessed, found.expected, p)


@dataclass(frozen=True, slots=True)
class _Guesses:
    told: int
    guessed: int
    expected: float

    @property
    def above(self) -> float:
        return self.guessed - self.expected


class _Styles:
    """What the texts look like, all groups in one array by fold, so that one draw of many costs milliseconds."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        import numpy as np

        folds = np.random.default_rng(0).permutation(len(groups)) % _FOLDS
        self._order = np.argsort(folds, kind="stable")
        self._folds = folds[self._order]
        ordered = [groups[item] for item in self._order]
        self._sizes = np.array([len(group) for group in ordered])
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._group = np.repeat(np.arange(len(ordered)), self._sizes)
        styles = np.array([_style(text) for group in ordered for text in group])
        means = np.add.reduceat(styles, self._starts) / self._sizes[:, None]
        # All that is compared is of one item, so that what its texts have in common can go.
        self._styles = styles - means[self._group]
        outer = self._styles[:, :, None] * self._styles[:, None, :]
        size = self._sizes[self._group][:, None]
        # Each item counts once, however many wrong texts it has.
        others = np.maximum(size - 1, 1)
        within = np.add.reduceat(outer, self._starts)[self._group]
        # Were this text the right one: its differences from the others, as sums of products and as sums.
        self._products = (size[:, :, None] * outer + within) / others[:, :, None]
        self._sums = size * self._styles / np.sqrt(others)

    def guess(self, right: "NDArray[np.int64]") -> _Guesses:
        """`right` is the place of the right text of each group."""
        import numpy as np

        places = self._starts + right[self._order]
        rules = self._rules(self._products[places], self._sums[places])
        scores = np.einsum("ij,ij->i", self._styles, rules[self._folds[self._group]])
        best = scores >= np.maximum.reduceat(scores, self._starts)[self._group] - _TIE
        alike = np.add.reduceat(best.astype(np.int64), self._starts)
        told = alike < self._sizes
        expected = (alike / self._sizes)[told].sum()
        return _Guesses(int(told.sum()), int((told & best[places]).sum()), float(expected))

    def _rules(self, products: "NDArray[np.float64]", sums: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """For each fold the one that is learnt from all others."""
        import numpy as np

        def of_others(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
            ends = np.searchsorted(self._folds, np.arange(_FOLDS + 1))
            own = np.stack([values[start:end].sum(0) for start, end in pairwise(ends)])
            return np.asarray(own.sum(0) - own)

        squares, totals, rows = of_others(products), of_others(sums), of_others(self._sizes - 1.0)
        scale = np.sqrt(np.diagonal(squares, axis1=1, axis2=2) / np.maximum(rows, 1)[:, None])
        scale = np.maximum(scale, 1e-12)
        scaled = squares / scale[:, :, None] / scale[:, None, :] + _RIDGE * np.eye(squares.shape[1])
        return np.asarray(np.linalg.solve(scaled, (totals / scale)[:, :, None])[:, :, 0] / scale)


def _style(text: str) -> tuple[float, ...]:
    return (len(text) ** 0.5, *(float(len(sign.findall(text))) for sign in _SIGNS))


def style_told(style: StyleGuess, kind: str) -> str:
    """One sentence; "" where there is nothing to guess."""
    if not style.items:
        return ""
    what = "the right option" if kind == "questions" else "the correct statement of a pair"
    alike = f"{style.items - style.told} of {style.items} look alike"
    if not style.told:
        return f"By style alone: {alike}"
    tested, others = p_told(style.p, "not by chance"), f"; {alike}" if style.told < style.items else ""
    return f"By style alone: {what} in {style.guessed} of {style.told}, by chance {style.expected:.1f}{tested}{others}"


def p_told(value: float | None, told: str) -> str:
    """In brackets behind a figure; `told` is said where chance alone is unlikely."""
    if value is None:
        return " (too few to test)"
    return f" (p = {value:.3g}{f', {told}' if value < 0.05 else ''})"
