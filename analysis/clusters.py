"""Texts in groups by their words, each with how stable it is: what wrong trials say, without a name for it before."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STABLE = 0.6
"""Mean Jaccard similarity under resampling below which a group is none. Hennig (2007), "Cluster-wise assessment of
cluster stability", Computational Statistics & Data Analysis 52, takes values from .6 on for a hint of a pattern, and
from .75 on for a cluster."""
LEAST_TEXTS = 20
"""With fewer of them nothing is grouped."""
LEAST = 5
"""Texts of a cluster."""
DRAWN = 500
"""Texts, drawn at random, that clusters are found in; the others are given to the nearest."""
MOST_CLUSTERS = 12
RESAMPLES = 30
TERMS, EXAMPLES = 6, 3

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\W\d_\u3040-\u30ff\u3400-\u9fff]{2,}|\d[\d.,]*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_MOST_WORDS = 3_000
_DIMENSIONS = 40
_LEAST_ABOVE = 0.25
_ALIKE = 0.02
"""Of the best choice of how many; among such choices the one with most clusters tells most."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cluster:
    """`name` are its first terms. `size` of the texts are in it; `stability` is the mean Jaccard similarity of it and
    what is nearest to it in bootstrap samples, in [0, 1], at least `STABLE`. `examples` are the names of the texts
    nearest to its middle. `terms` are the words that tell it from the rest; `called` is
    what a judge calls it, "" where none was asked."""

    name: str
    size: int
    terms: tuple[str, ...]
    examples: tuple[str, ...]
    stability: float
    called: str = ""


@dataclass(frozen=True, slots=True)
class Clustered:
    """`of` has the name of each text's cluster, "" where it is in none that is stable. `tried` groups were found, of
    which `clusters` are the stable ones, the largest first."""

    clusters: tuple[Cluster, ...]
    of: Mapping[str, str]
    tried: int = 0


def tokens_of(text: str, without: Collection[str] = ()) -> list[str]:
    """Words in one case, of at least two letters; numbers as `#`; Chinese and Japanese, which have no blanks, as pairs
    of signs. `without` are words to leave out: those of the question tell what it is about, and not what went wrong."""
    return [word for word in _words(text) if word not in without]


def _words(text: str) -> Iterator[str]:
    for found in _TOKEN.findall(text.casefold()):
        if found[0].isdecimal():
            yield "#"
        elif _UNSPACED.match(found):
            yield from (found[place : place + 2] for place in range(max(1, len(found) - 1)))
        else:
            yield found


def clustered(
    texts: Mapping[str, Sequence[str]], *, seed: int = 0, vectors: Mapping[str, Sequence[float]] | None = None
) -> Clustered:
    """`texts` are tokens, by the names of the texts. Groups are those of Ward's tree over the texts' directions: of
    TF-IDF reduced to its main dimensions (latent semantic analysis), or of `vectors`, where an endpoint made these. How
    many there are is chosen by how much of the texts is in groups that come back under resampling."""
    rng, names = np.random.default_rng(seed), sorted(texts)
    if len(names) < LEAST_TEXTS:
        return Clustered((), dict.fromkeys(names, ""))
    drawn = [names[place] for place in np.sort(rng.permutation(len(names))[:DRAWN])]
    weighing = WordWeights.of([texts[name] for name in drawn])

    def directions(some: Sequence[str]) -> Floats:
        own = weighing.rows([texts[name] for name in some]) if vectors is None else [vectors[name] for name in some]
        return _unit(np.array(own, dtype=float).reshape(len(some), -1))

    rows = directions(drawn)
    there = np.linalg.norm(rows, axis=1) > 0
    drawn, rows = [name for name, has in zip(drawn, there, strict=True) if has], rows[there]
    if len(drawn) < LEAST_TEXTS:
        return Clustered((), dict.fromkeys(names, ""))
    labels, stable = _best(rows @ rows.T, rng)
    tried = int(labels.max()) + 1
    kept = {
        group: float(stable[group])
        for group in range(tried)
        if (labels == group).sum() >= LEAST and _above_chance(stable[group], (labels == group).mean())
    }
    middles = _unit(np.array([rows[labels == group].mean(axis=0) for group in range(tried)]))
    of: dict[str, int] = {}
    for start in range(0, len(names), DRAWN):
        some = names[start : start + DRAWN]
        own = directions(some)
        nearest = np.where(np.linalg.norm(own, axis=1) > 0, (own @ middles.T).argmax(axis=1), -1)
        of |= zip(some, map(int, nearest), strict=True)
    of |= zip(drawn, map(int, labels), strict=True)
    sizes = Counter(of.values())
    weights = weighing.rows([texts[name] for name in drawn])
    found: dict[int, Cluster] = {}
    for group in sorted(kept, key=lambda group: (-sizes[group], group)):
        inside = labels == group
        terms = _terms(weights, inside, weighing.words)
        near = sorted(np.flatnonzero(inside), key=lambda row: (-(rows[row] @ middles[group]), row))[:EXAMPLES]
        name = _free(" ".join(terms[:3]) or "without words of its own", {each.name for each in found.values()})
        found[group] = Cluster(name, sizes[group], terms, tuple(drawn[row] for row in near), round(kept[group], 3))
    return Clustered(
        tuple(found.values()), {name: found[of[name]].name if of[name] in found else "" for name in names}, tried
    )


def _free(name: str, taken: Collection[str]) -> str:
    return next(each for each in (name, *(f"{name} {number}".strip() for number in range(2, 99))) if each not in taken)


@dataclass(frozen=True, slots=True)
class WordWeights:
    """Of words that stand in at least two texts and not in all; of many words those that stand in most."""

    words: tuple[str, ...]
    rarity: Mapping[str, tuple[int, float]]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> "WordWeights":
        df = Counter(word for tokens in texts for word in set(tokens))
        there = (word for word, number in df.items() if 2 <= number < len(texts))
        words = sorted(there, key=lambda word: (-df[word], word))[:_MOST_WORDS]
        rarity = {word: (place, math.log(len(texts) / df[word])) for place, word in enumerate(words)}
        return cls(tuple(words), rarity)

    def rows(self, texts: Sequence[Sequence[str]]) -> Floats:
        """One per text, a column per word: (1 + log tf) log(n / df)."""
        found = np.zeros((len(texts), len(self.words)))
        for row, tokens in enumerate(texts):
            for word, number in Counter(tokens).items():
                if known := self.rarity.get(word):
                    found[row, known[0]] = (1 + math.log(number)) * known[1]
        return found


def _unit(rows: Floats) -> Floats:
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(size > 0, size, 1.0))


def _reduced(similar: Floats) -> Floats:
    """The main dimensions, by the eigenvectors of the texts' similarities; directions alone."""
    from scipy.linalg import eigh

    size = len(similar)
    values, found = eigh(similar, subset_by_index=(size - max(1, min(_DIMENSIONS, size // 3)), size - 1))
    return _unit(found * np.sqrt(np.maximum(values, 0)))


def _best(similar: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """The group of each text, by their similarities, and how stable each group is."""
    size = len(similar)
    most = max(2, min(MOST_CLUSTERS, size // (2 * LEAST)))
    cuts = _cuts(similar, most)
    stability = [np.zeros(int(cut.max()) + 1) for cut in cuts]
    for _ in range(RESAMPLES):
        sample = np.unique(rng.integers(0, size, size))
        for cut, again, sums in zip(cuts, _cuts(similar[np.ix_(sample, sample)], most), stability, strict=True):
            sums += _jaccard(cut[sample], again, len(sums)) / RESAMPLES
    worth = [
        sum((cut == group).sum() * _above_chance(share, (cut == group).mean()) for group, share in enumerate(found))
        for cut, found in zip(cuts, stability, strict=True)
    ]
    best = max(place for place, each in enumerate(worth) if each >= max(worth) - _ALIKE * size)
    return cuts[best], stability[best]


def _above_chance(stability: float, share: float) -> float:
    """0 where it is not stable. A group of nearly all texts is like any other such group: `share` is what it has in
    common with all of them."""
    above = max(0.0, (stability - share) / (1 - share)) if share < 1 else 0.0
    return above if stability >= STABLE and above >= _LEAST_ABOVE else 0.0


def _cuts(similar: Floats, most: int) -> list[Ints]:
    """The tree cut into 2 to `most` groups."""
    from scipy.cluster.hierarchy import cut_tree, linkage

    tree = linkage(_reduced(similar), method="ward")
    return list(cut_tree(tree, n_clusters=list(range(2, most + 1))).T.astype(np.int64))


def _jaccard(ours: Ints, theirs: Ints, groups: int) -> Floats:
    """Of each of our groups with that of theirs which is most like it."""
    both = np.zeros((groups, int(theirs.max()) + 1))
    np.add.at(both, (ours, theirs), 1)
    either = both.sum(axis=1, keepdims=True) + both.sum(axis=0, keepdims=True) - both
    return np.asarray((both / np.where(either > 0, either, 1)).max(axis=1))


def _terms(weights: Floats, own: Bools, words: Sequence[str]) -> tuple[str, ...]:
    """Those that weigh most in it, beyond what they weigh elsewhere."""
    if not words:
        return ()
    beyond = weights[own].mean(axis=0) - (weights[~own].mean(axis=0) if (~own).any() else 0.0)
    order = np.argsort(-beyond, kind="stable")[:TERMS]
    return tuple(words[place] for place in order if beyond[place] > 0)
