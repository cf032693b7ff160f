"""Groups that were planted are found, and where there are none none is told of."""

import numpy as np
import pytest

from toolablate.analysis.clusters import STABLE, clustered, tokens_of

WORDS = 800


def texts(count: int, groups: int, *, seed: int, share: float = 0.3) -> tuple[dict[str, list[str]], list[int]]:
    """Words by Zipf's law, of which this share are those of the text's group; and which group it is of."""
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1, WORDS + 1)
    made, planted = {}, []
    for number in range(count):
        group, size = int(rng.integers(max(1, groups))), int(rng.integers(20, 60))
        own = rng.binomial(size, share) if groups else 0
        common = rng.choice(WORDS, size=size - own, p=chance / chance.sum())
        made[f"{number:04}"] = [f"w{word}" for word in common] + [
            f"g{group}x{word}" for word in rng.integers(25, size=own)
        ]
        planted.append(group)
    return made, planted


def adjusted_rand(left: list[str], right: list[int]) -> float:
    """Hubert and Arabie (1985)."""
    table = np.zeros((len(set(left)), len(set(right))))
    np.add.at(table, (np.unique(left, return_inverse=True)[1], np.unique(right, return_inverse=True)[1]), 1)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, rows, columns = pairs(table), pairs(table.sum(1)), pairs(table.sum(0))
    chance = rows * columns / pairs(np.array([len(left)]))
    return (both - chance) / ((rows + columns) / 2 - chance)


@pytest.mark.parametrize(("count", "groups"), [(150, 3), (120, 4)])
def test_planted_groups_are_found(count: int, groups: int) -> None:
    made, planted = texts(count, groups, seed=groups)
    found = clustered(made)
    assert adjusted_rand([found.of[name] for name in made], planted) >= 0.8
    assert len(found.clusters) == groups
    for each in found.clusters:
        assert each.stability >= STABLE
        assert len({term[:3] for term in each.terms}) == 1, "its own words tell it from the rest"
        assert {found.of[name] for name in each.examples} == {each.name}
    assert clustered(dict(reversed(made.items()))) == found, "whatever order the texts come in"


@pytest.mark.parametrize("seed", range(3))
def test_noise_has_no_cluster(seed: int) -> None:
    made, _ = texts(100, 0, seed=seed)
    found = clustered(made)
    assert (found.clusters, set(found.of.values())) == ((), {""})
    assert found.tried > 1


@pytest.mark.deep
def test_more_texts_than_are_drawn_are_given_to_the_nearest() -> None:
    made, planted = texts(700, 3, seed=1)
    found = clustered(made)
    assert adjusted_rand([found.of[name] for name in made], planted) >= 0.8
    assert sum(each.size for each in found.clusters) == 700


def test_vectors_of_an_endpoint_go_before_words() -> None:
    made, planted = texts(60, 2, seed=3, share=0)
    vectors = {
        name: [1.0, 0.1 * place] if group else [0.1 * place, 1.0]
        for place, (name, group) in enumerate(zip(made, planted, strict=True))
    }
    vectors = {name: [each / 100 if each > 1 else each for each in vector] for name, vector in vectors.items()}
    found = clustered(made, vectors=vectors)
    assert adjusted_rand([found.of[name] for name in made], planted) >= 0.8


@pytest.mark.parametrize(
    "given", [{}, {"a": []}, {str(number): ["same"] for number in range(40)}, {str(n): [] for n in range(40)}]
)
def test_what_tells_nothing_has_no_cluster(given: dict[str, list[str]]) -> None:
    assert clustered(given).clusters == ()


def test_numbers_are_masked_chinese_is_paired_and_words_of_the_question_are_left_out() -> None:
    assert tokens_of("Total = 1,234.5 / x, 対数を取る", {"total"}) == ["#", "対数", "数を", "を取", "取る"]
