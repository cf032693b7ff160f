"""Results under other questions, for whoever shows them in place of a question's own."""

from toolablate.tools.donors.bank import Example, bank_digest, python_bank
from toolablate.tools.donors.donors import Donor, Donors, TrialDonors
from toolablate.tools.donors.ranking import ranked

__all__ = ["Donor", "Donors", "Example", "TrialDonors", "bank_digest", "python_bank", "ranked"]
