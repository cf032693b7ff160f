"""How far several scorers of the same trials agree, and how sure a judge is of its grades."""

from toolablate.analysis.agreement.agreement import Agreement, agreements
from toolablate.analysis.agreement.disagreement import Disagreement, disagreements
from toolablate.analysis.agreement.gradings import Gradings, gradings, side_by_side
from toolablate.analysis.agreement.judge_noise import JudgeNoise, judge_noise
from toolablate.analysis.agreement.kappa import Table, cohens_kappa, kappa_interval, margins
from toolablate.analysis.agreement.regrading import Regraded, regraded
from toolablate.analysis.agreement.report import (
    AgreementReport,
    agreement_json,
    agreement_report,
    disagreements_json,
)
from toolablate.analysis.agreement.scorers import grading, is_judge, ordered, scorer_pairs
from toolablate.analysis.agreement.shift import Shift, shifts

__all__ = [
    "Agreement",
    "AgreementReport",
    "Disagreement",
    "Gradings",
    "JudgeNoise",
    "Regraded",
    "Shift",
    "Table",
    "agreement_json",
    "agreement_report",
    "agreements",
    "cohens_kappa",
    "disagreements",
    "disagreements_json",
    "grading",
    "gradings",
    "is_judge",
    "judge_noise",
    "kappa_interval",
    "margins",
    "ordered",
    "regraded",
    "scorer_pairs",
    "shifts",
    "side_by_side",
]
