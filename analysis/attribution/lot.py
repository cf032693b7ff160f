"""Which trials a design has replayed: by lot, which anyone can draw again."""

from toolablate.analysis.pairing import RIGHT
from toolablate.traces.records import ReplayDesign, digest_text

_DIGITS = 13


def probability(design: ReplayDesign, value: float) -> float:
    """With which a trial of this score is chosen."""
    return design.failures if value < RIGHT else design.successes


def is_chosen(design: ReplayDesign, trial: str, value: float) -> bool:
    drawn = int(digest_text(f"{design.seed} {trial}")[:_DIGITS], 16) / float(16**_DIGITS)
    return drawn < probability(design, value)
