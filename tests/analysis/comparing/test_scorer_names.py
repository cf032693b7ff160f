"""A scorer may be named by as much of its name as tells it from the others."""

import pytest

from toolablate.analysis.from_store import scorer_meant
from toolablate.traces.errors import InputError

FIRST, AGAIN = "judge[gpt-5@1a2b3c4d]", "judge[gpt-5@1a2b3c4d,again=1]"
STRANGE = "judge[an@odd,name=x]@0123abcd]"
KNOWN = ["choice", FIRST, AGAIN, "judge[m@00000000]", "judge[m@11111111]", "judge[choice@22222222]", STRANGE]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("choice", "choice"),
        (FIRST, FIRST),
        ("gpt-5", FIRST),
        ("judge[gpt-5]", FIRST),
        ("gpt-5@1a2b3c4d", FIRST),
        ("gpt-5,again=1", AGAIN),
        ("judge[gpt-5,again=1]", AGAIN),
        ("m@11111111", "judge[m@11111111]"),
        ("judge[choice]", "judge[choice@22222222]"),
        ("an@odd,name=x]", STRANGE),
        ("gpt", "gpt"),
        ("", ""),
    ],
)
def test_a_scorer_is_known_by_its_short_name(said: str, meant: str) -> None:
    assert scorer_meant(KNOWN, said) == meant


def test_a_name_that_stands_for_several_is_refused() -> None:
    with pytest.raises(InputError) as refused:
        scorer_meant(KNOWN, "judge[m]")
    assert (refused.value.code, "judge[m@00000000], judge[m@11111111]" in refused.value.hint) == (
        "several_scorers",
        True,
    )
