"""The language of a text, and whether a model kept that of what it was given."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from toolablate.benchmarks.questions import language_of
from toolablate.traces.errors import InputError

_SURE = 0.9
"""The model's probability, calibrated by its authors: of 800 questions of MMLU-Pro, 731 are English at it, 69 are too
short or too full of formulas to tell, and none is taken for another language."""


def another_language(text: str, original: str) -> bool:
    """Also where the alphabet is the same, if both are long enough to tell. Raises InputError without the extra."""
    if language_of(text) != language_of(original):
        return True
    (found, surely), (expected, as_surely) = (_identifier().classify(each)[:2] for each in (text, original))
    return bool(found != expected and min(surely, as_surely) >= _SURE)


def languages_of(texts: Sequence[str]) -> list[str]:
    """The code of each text's language (ISO 639-1). One that is too short to tell has that of most others, English
    where none can be told. Raises InputError without the extra, and where that has no space to unpack its model."""
    found = [_told(text) for text in texts]
    lettered = Counter(each for each in found if each and each not in _IN_SIGNS)
    common = lettered.most_common(1)[0][0] if lettered else "en"
    return [each or common for each in found]


_IN_SIGNS = ("zh", "ja")


def _told(text: str) -> str:
    language, surely = _identifier().classify(text)[:2]
    # Of Chinese the model tells dialects apart, which short texts are taken for.
    if language_of(text) == "zh":
        return "ja" if language == "ja" else "zh"
    return str(language) if surely >= _SURE else ""


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
