"""Results under other questions, for whoever shows them in place of a question's own."""

from toolablate.tools.placebo_sources.bank import Example, bank_digest, python_bank
from toolablate.tools.placebo_sources.sources import (
    PlaceboSource,
    PlaceboSources,
    TrialPlaceboSources,
    entries_of,
    page_of,
    ranked,
    same_words,
)

__all__ = [
    "Example",
    "PlaceboSource",
    "PlaceboSources",
    "TrialPlaceboSources",
    "bank_digest",
    "entries_of",
    "page_of",
    "python_bank",
    "ranked",
    "same_words",
]
