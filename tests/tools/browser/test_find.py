"""Finding text and patterns, quickly whatever the page and the pattern."""

import contextlib

import pytest
from tests.tools.browser.conftest import Shelf, page_id
from tests.tools.conftest import Caller

from toolablate.tools import Page, Toolset
from toolablate.tools.browser.find import MAX_LINES, SPAN_CHARS, PatternError, lines_with
from toolablate.tools.browser.page import LINE_CHARS

URL = "https://example.org/"
SENTENCE = "The logarithm of a product is the sum of the logarithms of its factors, which made slide rules possible."
TEXT = f"{SENTENCE}\nA second paragraph.\n调和级数\n(.*)+$ literal\n{'y' * (LINE_CHARS - 8)} across the border\nÜber\xa0alles\u3000da"


def found(text: str | Page, pattern: str, *, regex: bool = False) -> list[int]:
    page = text if isinstance(text, Page) else Page.of(URL, "t", text)
    return list(lines_with(page, pattern, regex=regex).lines)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("LOGARITHMS", 0),
        ("sum of\n the   logarithms", 0),
        ("second para", 1),
        ("级数", 2),
        ("(.*)+$", 3),
        ("across the", 4),
        ("über alles da", 6),
    ],
)
def test_text_is_found_across_blanks_and_wrapped_lines(pattern: str, line: int) -> None:
    assert found(TEXT, pattern) == [line]


@pytest.mark.parametrize(
    ("pattern", "text", "there"),
    [
        (r"^\w+$", "调和级数", True),
        (r"^\w{4}$", "été,", False),
        (r"^\w{4}$", "étés", True),
        (r"^[\w-]+$", "мос-ква", True),
        (r"^[^\w]+$", "级数", False),
        (r"^\W+$", "级数", False),
        (r"^\W+$", "。，", True),
        (r"^[]\w]+$", "级]", True),
        (r"^[[:alpha:]\w]+$", "x级", True),
        (r"^\Q\w[\E\w$", "\\w[级", True),
        (r"^\\w$", "级", False),
        (r"^\[\w\]$", "[级]", True),
        (r"5\skm", "5\u202fkm", True),
        (r"5[\s]km", "5\u3000km", True),
        (r"^\S+$", "5\u3000km", False),
        (r"^\w+$", "a×b", False),
        (r"^\d$", "３", False),
    ],
)
def test_words_and_blanks_are_those_of_all_scripts(pattern: str, text: str, there: bool) -> None:
    assert bool(found(text, pattern, regex=True)) == there


@pytest.mark.parametrize("pattern", [r"[+-\w]", r"[\w", "\\"])
def test_what_cannot_be_widened_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="cannot be read"):
        found("a", pattern, regex=True)


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"log\w+ms", [0]),
        (r"^a\b.*\.$", [1]),
        (r"\p{Han}{4}", [2]),
        (r"[级級]数$", [2]),
        (r"\(\.\*\)", [3]),
        (r"y across", [4]),
        (r"^border", []),
        (r"^across", []),
        (r"(?-i)the", [0, 5]),
        (r"(?-i)THE", []),
        (r"para.*\n.*数", [1]),
        (r"x*", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_patterns(pattern: str, lines: list[int]) -> None:
    assert found(TEXT, pattern, regex=True) == lines


def test_all_lines_of_a_long_page_are_found_wherever_they_are() -> None:
    lines = [f"Zeile {n} mit Größe {'ß' * (n % 97)} {'wort ' * (n % 300)}" for n in range(400)]
    page = Page.of(URL, "t", "\n".join(lines))
    starts = [number for number, line in enumerate(page.lines) if line.startswith("Zeile ")]
    assert len(starts) == 400
    assert found(page, "zeile") == starts
    assert found(page, r"^zeile \d+ mit größe", regex=True) == starts
    assert found(page, r"\Azeile", regex=True) == [0]
    assert found(page, r"^wort", regex=True) == []


@pytest.mark.parametrize("offset", range(0, 16_000, 1_111))
def test_a_match_of_some_length_is_found_wherever_it_begins(offset: int) -> None:
    text = "x" * offset + "\nbegin\n" + "z" * (SPAN_CHARS - 100) + "\nend\n" + "x" * 9_000
    page = Page.of(URL, "t", text)
    assert found(page, r"begin[\s\S]*end", regex=True) == [page.lines.index("begin\n")]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(?=a)b", "invalid perl operator: (?="),
        (r"(a)\1", r"invalid escape sequence: \1"),
        (r"(?>a)", "invalid perl operator"),
        (r"a++", "bad repetition operator: ++"),
        (r"a{2000}", "invalid repetition size: {2000}"),
        (r"(a{1000}){1000}", "invalid repetition size"),
        (r"(", "missing ): ("),
        (r"[", "missing ]: ["),
        (r"*", "no argument for repetition operator: *"),
        (r"a\Z", r"invalid escape sequence: \Z"),
        ("\x1b(", "missing )"),
    ],
)
async def test_a_pattern_that_cannot_be_read_says_why(
    shelf: Shelf, tools: Toolset, call: Caller, capfd: pytest.CaptureFixture[str], pattern: str, said: str
) -> None:
    shelf.put(URL, TEXT)
    page = page_id((await call(tools, "browser_open", url=URL)).output)
    result = await call(tools, "browser_find", page_id=page, pattern=pattern, regex=True)
    assert (result.status, result.error) == ("error", "bad_pattern")
    assert said in result.output
    assert "RE2 syntax" in result.output
    assert "\x1b" not in result.output
    assert capfd.readouterr() == ("", "")
    # As text the same pattern is looked for as it is.
    assert (await call(tools, "browser_find", page_id=page, pattern=pattern)).status == "ok"


async def test_a_pattern_that_is_too_much_for_the_page(shelf: Shelf, tools: Toolset, call: Caller) -> None:
    shelf.put(URL, "一" * 600_000)
    page = page_id((await call(tools, "browser_open", url=URL)).output)
    for pattern in (r"(?:.?){0,900}qqqqq", r"(?:\pL{0,100}){0,9}q"):
        result = await call(tools, "browser_find", page_id=page, pattern=pattern, regex=True)
        assert (result.status, result.error) == ("error", "bad_pattern")
    long = await call(tools, "browser_find", page_id=page, pattern="x" * 201, regex=True)
    assert (long.status, long.error) == ("invalid", "invalid_arguments")


LARGE = {
    "one line": "x" * 5_000_000,
    "words": "some words of a text " * 240_000,
    "lines": "a line of text\n" * 340_000,
    "blanks": " " * 5_000_000,
    "Chinese": "调和级数是发散的。" * 180_000,
}


@pytest.mark.parametrize("kind", LARGE)
def test_five_megabytes_stay_quick(kind: str) -> None:
    page = Page.of(URL, "t", LARGE[kind])
    for pattern, regex in (
        ("absent", False),
        ("t", False),
        ("x" * 200, False),
        (r"(x+x+)+y", True),
        (r"(a|aa)+$", True),
        (r"(.*)(.*)(.*)(.*)z", True),
        (r"x(?:[\s\S]*qqqq)?", True),
        (r".*", True),
        (r"\s+$", True),
    ):
        lines_with(page, pattern, regex=regex)


@pytest.mark.parametrize("text", ["一" * 20_000, "ab c " * 12_000, "一二三四五六七八九\n" * 2_000])
@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:.?){0,900}qqqqq",
        r"(?:(?:[\s\S]?){0,900}[\s\S]*qqqqq)|.",
        r"(.{1,900})(.{1,90})zq|a|一",
        r"[^q]{0,700}[^z]{0,700}q",
        r"(?:\pL{0,9}){0,9}q|b|二",
    ],
)
def test_patterns_that_are_made_to_be_slow_end(text: str, pattern: str) -> None:
    with contextlib.suppress(PatternError):
        found = lines_with(Page.of(URL, "t", text), pattern, regex=True)
        assert found.complete or found.lines


async def test_what_is_said_when_there_is_nothing_or_too_much(shelf: Shelf, tools: Toolset, call: Caller) -> None:
    shelf.put(URL, "word\n" * 100 + "once")
    shelf.put(URL + "many", "word\n" * (MAX_LINES + 5))
    page = page_id((await call(tools, "browser_open", url=URL)).output)
    nothing = await call(tools, "browser_find", page_id=page, pattern="absent")
    assert (nothing.status, nothing.output.startswith("No match for 'absent' in [")) == ("ok", True)
    once = await call(tools, "browser_find", page_id=page, pattern="once")
    assert (once.truncated, once.output.split("\n")[1:]) == (False, ["1 line with 'once'", "L100: once"])
    many = await call(tools, "browser_find", page_id=page, pattern="word")
    assert many.truncated
    assert "100 lines with 'word', the first 20 of them" in many.output
    assert many.output.endswith("L19: word")
    blank = await call(tools, "browser_find", page_id=page, pattern="  ")
    assert blank.output.startswith("No match")
    page = page_id((await call(tools, "browser_open", url=URL + "many")).output)
    more = await call(tools, "browser_find", page_id=page, pattern="word")
    assert "at least 1,000 lines with 'word', the first 20 of them" in more.output
