"""What effects a design can see: from the variances of an earlier run, or from assumed ones."""

from toolablate.analysis.power.records import (
    Aim,
    AtRepeats,
    Needed,
    PairedDesign,
    PowerTable,
    Sight,
    Smallest,
    Variances,
    power_json,
)
from toolablate.analysis.power.table import paired_design, power_table
from toolablate.analysis.power.variances import (
    BETWEEN,
    WITHIN,
    Estimate,
    assumed_variances,
    measured_variances,
)

__all__ = [
    "BETWEEN",
    "WITHIN",
    "Aim",
    "AtRepeats",
    "Estimate",
    "Needed",
    "PairedDesign",
    "PowerTable",
    "Sight",
    "Smallest",
    "Variances",
    "assumed_variances",
    "measured_variances",
    "paired_design",
    "power_json",
    "power_table",
]
