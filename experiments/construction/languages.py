"""The language of a text, and whether a model kept that of what it was given."""

import re
from functools import cache
from typing import Any

from toolablate.benchmarks.questions import CHINESE_SHARE, language_of
from toolablate.traces.errors import InputError

_SURE = 0.9
"""The model's probability, calibrated by its authors: of 800 questions of MMLU-Pro, 731 are English at it, 69 are too
short or too full of formulas to tell, and none is taken for another language."""


def another_language(text: str, original: str) -> bool:
    """Also where the alphabet is the same, if both are long enough to tell. Raises InputError without the extra."""
    return language_of(text) != language_of(original) or surely_another(text, original)


def surely_another(text: str, original: str) -> bool:
    """Of a text that may be a formula or a foreign term, which a share of letters takes for another language. Raises
    InputError without the extra."""
    (found, surely), (expected, as_surely) = (_identifier().classify(each)[:2] for each in (text, original))
    return bool(found != expected and min(surely, as_surely) >= _SURE)


def told_language(text: str) -> str:
    """The code of a text's language (ISO 639-1), English where nothing tells it. Other texts do not count: a question
    keeps its language, and so its identity, whatever is published beside it. Raises InputError without the extra, and
    where that has no space to unpack its model."""
    # Some languages are there in two scripts: the likelier counts, which comes last.
    ranked = {str(code): float(surely) for code, surely in reversed(_identifier().rank(text))}
    first = max(ranked, key=ranked.__getitem__)
    letters = _LETTER.findall(text)
    # Of Chinese the model tells dialects apart, which short texts are taken for.
    if language_of(text) == "zh":
        return "ja" if first == "ja" or len(_KANA.findall(text)) > CHINESE_SHARE * len(letters) else "zh"
    for script, of_script in _SCRIPTS:
        if 2 * len(script.findall(text)) > len(letters):
            return max(of_script, key=ranked.__getitem__)
    if ranked[first] >= _SURE:
        return first
    likely = max(_WIDESPREAD, key=ranked.__getitem__)
    return likely if ranked[likely] >= _LEAST else "en"


_LETTER = re.compile(r"[^\W\d_]")
_KANA = re.compile("[\u3041-\u30fa\u30fc-\u30ff]")
_SCRIPTS = (
    (_KANA, ("ja",)),
    (re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]"), ("ko",)),
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), ("el",)),
    (re.compile("[\u05d0-\u05ea]"), ("he",)),
    (re.compile("[\u0400-\u052f]"), ("ru", "uk", "bg", "sr", "be", "mk", "kk")),
    (re.compile("[\u0620-\u064a\u066e-\u06d3]"), ("ar", "fa", "ur")),
)
"""What most letters of a text are of leaves these languages."""
_WIDESPREAD = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi"),
    *("pl", "cs", "sk", "ro", "hu", "tr", "id", "vi", "hi", "bn", "ta", "th"),
)
"""What a text is in that is too short to tell: the model knows 140, and takes "Which salt?" for Gaelic."""
_LEAST = 0.05
"""Below, a text is all formulas."""


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        raise InputError(
            "checking that a language is kept needs the package py3langid",
            hint="pip install 'toolablate[build]'",
            code="missing_package",
        ) from None
    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:
        # It unpacks its model into a file first.
        raise InputError(
            f"py3langid cannot unpack its model into the folder for temporary files: {error.strerror or error}",
            hint="free some space there (mostly /tmp), or name another folder in TMPDIR",
            code="unwritable",
        ) from None
