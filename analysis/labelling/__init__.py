"""What people hold for the causes of failures, and how far they agree with the attribution and with each other."""

from toolablate.analysis.labelling.agreement import TOO_FEW, LabelAgreement, LabelReport, label_report
from toolablate.analysis.labelling.held import Attributed, Held, held
from toolablate.analysis.labelling.tables import labels_csv, labels_json

__all__ = [
    "TOO_FEW",
    "Attributed",
    "Held",
    "LabelAgreement",
    "LabelReport",
    "held",
    "label_report",
    "labels_csv",
    "labels_json",
]
