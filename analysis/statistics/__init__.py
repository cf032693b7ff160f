"""What a paired difference is worth: intervals, tests, chance and power, as functions of plain numbers."""

from toolablate.analysis.statistics.bootstrap import bootstrap_interval, bootstrap_intervals
from toolablate.analysis.statistics.clustered import by_unit, clustered_standard_error, effective_clusters
from toolablate.analysis.statistics.harm import (
    Bounds,
    Harm,
    QuestionEffect,
    Selected,
    SelectedEffects,
    harm_bounds,
    question_effects,
    selected_effects,
)
from toolablate.analysis.statistics.multiplicity import benjamini_hochberg, holm
from toolablate.analysis.statistics.numerals import RESAMPLES
from toolablate.analysis.statistics.power import (
    detectable,
    paired_standard_error,
    questions_needed,
    repeats_needed,
    smallest_p,
)
from toolablate.analysis.statistics.repeats import Repeats, flips_between_runs, noise_flips
from toolablate.analysis.statistics.sign_flip import sign_flip_p
from toolablate.analysis.statistics.variance import (
    Components,
    Resampled,
    design_effect,
    resampled_components,
    variance_components,
)

__all__ = [
    "RESAMPLES",
    "Bounds",
    "Components",
    "Harm",
    "QuestionEffect",
    "Repeats",
    "Resampled",
    "Selected",
    "SelectedEffects",
    "benjamini_hochberg",
    "bootstrap_interval",
    "bootstrap_intervals",
    "by_unit",
    "clustered_standard_error",
    "design_effect",
    "detectable",
    "effective_clusters",
    "flips_between_runs",
    "harm_bounds",
    "holm",
    "noise_flips",
    "paired_standard_error",
    "question_effects",
    "questions_needed",
    "repeats_needed",
    "resampled_components",
    "selected_effects",
    "sign_flip_p",
    "smallest_p",
    "variance_components",
]
