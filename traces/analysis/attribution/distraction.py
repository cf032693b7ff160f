"""How what was read drew a model away: as far as its trace and judges tell."""

from collections import Counter
from collections.abc import Sequence

from toolablate.traces.analysis.attribution.signals import Signals
from toolablate.traces.analysis.pairing import mean
from toolablate.traces.records import Diagnosis, Distraction

OUTWEIGHS = 1.5
"""How many times the words of the replies without tools make an elaborate one."""


def distraction(signals: Signals, bare: Sequence[Signals], diagnoses: Sequence[Diagnosis] = ()) -> Distraction | None:
    """By judges where any say so; else by the reply's own argument, which goes from what there is to what should be, or
    is much longer than replies without tools (`bare`); else by where the answer stands."""
    labels = Counter(each.distraction for each in diagnoses if each.distraction)
    if labels:
        return labels.most_common(1)[0][0]
    elaborate = bool(bare) and signals.echo.words > OUTWEIGHS * mean([each.echo.words for each in bare])
    if signals.norm_hints:
        return "over_engineering" if elaborate else "existence_as_norm"
    if signals.adoption is not None and signals.adoption.form != "code":
        return "misleading_adoption"
    return "over_engineering" if elaborate else None
