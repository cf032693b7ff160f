"""Results under other questions, for whoever shows them in place of a question's own."""

from toolablate.tools.donors.bank import Example, bank_digest, python_bank
from toolablate.tools.donors.donors import Donor, Donors, TrialDonors, entries_of, page_of, ranked, same_words

__all__ = [
    "Donor",
    "Donors",
    "Example",
    "TrialDonors",
    "bank_digest",
    "entries_of",
    "page_of",
    "python_bank",
    "ranked",
    "same_words",
]
