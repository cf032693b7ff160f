"""Has judges read failures: what they hold for the cause of each is kept in the store."""

from toolablate.experiments.diagnosing.diagnosing import Diagnosed, diagnose
from toolablate.experiments.diagnosing.telling import diagnoses_told

__all__ = ["Diagnosed", "diagnose", "diagnoses_told"]
