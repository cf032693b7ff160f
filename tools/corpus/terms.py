"""Splits text into the terms that are indexed and searched for.

Words in lower case, without the accents of Latin letters (`Gödel` is found as `godel`); of scripts that are written
without blanks (Chinese, Japanese, Thai ...) and of Korean, single characters and pairs. All in compatibility form
(NFKC), so that full-width letters are letters. tantivy does the splitting; Python does only what it has no notion of.
"""

import re
import unicodedata
from collections.abc import Sequence
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

TOKENIZER = "toolablate"
MAX_TERM_BYTES = 100
"""Longer terms are no words but data (base64, digests); they are not indexed."""

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
UNSPACED = re.compile(f"[{_HAN}{_KANA_HANGUL}{_SOUTH_EAST_ASIAN}]+")


def folded(text: str) -> str:
    """The text with all differences removed that a search must not see, accents apart; its length may change."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold()


def spaced(text: str) -> str:
    """Folded text in which every term is a word: runs of unspaced scripts become characters and pairs."""
    text = folded(text)
    return text if text.isascii() else UNSPACED.sub(_grams, text)


def _grams(run: re.Match[str]) -> str:
    characters = run.group()
    return f" {' '.join(characters)} {' '.join(map(add, characters, characters[1:]))} "


def analyzer() -> "TextAnalyzer":
    """Splits what `spaced` gives. Both the index and the queries go through it."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    words = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(MAX_TERM_BYTES + 1))
    return words.filter(Filter.ascii_fold()).build()


def terms(text: str, split: "TextAnalyzer") -> Sequence[str]:
    """The distinct terms of a text without lone surrogates, in one order whatever that of the words."""
    return sorted(set(split.analyze(spaced(text))))
