"""Whether a model kept the language of what it was given."""

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
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
