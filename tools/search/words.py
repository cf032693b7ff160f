"""Splits text into the terms that are indexed."""

import re
import unicodedata
from collections.abc import Iterator

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
_RUN = re.compile(f"[{_HAN}{_KANA_HANGUL}]+|[^\\W_{_HAN}{_KANA_HANGUL}]+")
_UNSPACED = re.compile(f"[{_HAN}{_KANA_HANGUL}]")


def terms(text: str) -> list[str]:
    """Terms in order: words in lower case; single characters and pairs of scripts that are written without blanks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [term for run in _RUN.findall(folded) for term in _terms_of_run(run)]


def _terms_of_run(run: str) -> Iterator[str]:
    if not _UNSPACED.match(run):
        yield run
        return
    for index, character in enumerate(run):
        yield character
        if index + 1 < len(run):
            yield run[index : index + 2]
