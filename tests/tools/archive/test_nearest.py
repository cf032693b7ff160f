"""Which recorded request is named for one that was not recorded, and at what cost."""

import random

import pytest

from toolablate.tools.archive.captures import Requests

SCHOOLS = [f"what is the capital of province {number} [10 results, made-up]" for number in range(10_000)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("who is the mayor of Bergen", "who was the mayor of Bergen"),
        ("mayors in bergens", "who was the mayor of Bergen"),
        ("the mayor", "who was the mayor of Bergen"),
        ("photosynthesis of algae", "photosynthesis in algae and plants"),
        ("卑尔根市长", "卑尔根的市长是谁"),
        ("ภาษาไทย", "ประวัติภาษาไทย"),
        ("{", ""),
    ],
)
def test_the_most_similar_request_is_named_whatever_the_order(asked: str, expected: str) -> None:
    texts = [
        "who was the mayor of Bergen",
        "who was the king of Norway",
        "photosynthesis in algae and plants",
        "photographs of plants",
        "卑尔根的市长是谁",
        "挪威的国王是谁",
        "ประวัติภาษาไทย",
    ]
    found = set()
    for seed in range(5):
        random.Random(seed).shuffle(texts)
        found.add(Requests(texts).nearest(asked))
    assert found == {expected}


def test_a_word_that_few_have_decides_among_many() -> None:
    requests = Requests([*SCHOOLS, "what is the capital of Vestland [10 results, made-up]"])
    assert requests.nearest("capital of vestland? [20 results, made-up]").startswith("what is the capital of Vestland")
    assert requests.nearest("what is the capital of province 7331 now [10 results, made-up]") == SCHOOLS[7331]


def test_of_equals_the_first_is_named() -> None:
    alike = [f"zz {name} zz" for name in ("b", "a", "c")]
    assert Requests(alike).nearest("zz d zz") == "zz a zz"
