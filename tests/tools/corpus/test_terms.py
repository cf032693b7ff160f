"""What is indexed of a text, and which dates are read."""

from datetime import date

import pytest

from toolablate.tools.corpus.inverted_index import analyzer, day_number, passage, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. GDP of 2024: 3.5%", "2024 3 5 gdp of s the u"),
        ("AI模型", "ai 型 模 模型"),
        ("snake_case", "case snake"),
        ("Gödel’s Übung, naïve ＦＵＬＬ ﬁne", "fine full godel naive s ubung"),
        ("e\u0301cole École", "ecole"),
        ("Кот ΣΊΣΥΦΟΣ", "σίσυφοσ кот"),
        ("ｶﾀｶﾅと漢字", "と と漢 カ カタ カナ タ タカ ナ ナと 字 漢 漢字"),
        ("한국어 말", "국 국어 말 어 한 한국"),
        ("a" * 100 + " " + "b" * 101, "a" * 100),
        ("\u200b!?", ""),
    ],
)
def test_terms_of_several_scripts(text: str, expected: str) -> None:
    assert " ".join(terms(text, analyzer())) == expected


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        ("2024-05-03", date(2024, 5, 3)),
        ("2024-05-03T10:00:00Z", date(2024, 5, 3)),
        ("2024-05", date(2024, 5, 1)),
        ("2024", date(2024, 1, 1)),
        ("20240503", None),
        ("2024-5-3", None),
        ("2024-02-30", None),
        ("May 2024", None),
        ("0000", None),
        ("", None),
    ],
)
def test_dates_that_can_be_read(published: str, expected: date | None) -> None:
    assert day_number(published) == (expected.toordinal() if expected else None)


def test_a_passage_prefers_many_terms_to_one_and_rare_ones_to_common() -> None:
    text = "common common common. " * 40 + "rare one. " + "filler " * 200 + "common rare other. " + "filler " * 100
    assert "common rare other" in passage(text, {"common": 0.1, "rare": 5.0, "other": 5.0})
    assert "rare one" in passage(text, {"common": 0.1, "rare": 5.0})
    assert passage(text, {"absent": 1.0}).startswith("common common")
    assert passage("short", {"absent": 1.0}) == "short"
    assert passage("short", {}, complete=False) == "short…"
    assert passage("another rarely " * 50 + "the rare thing", {"rare": 1.0}).endswith("the rare thing")
