"""How what was read drew a model away: as far as its trace, its belief and judges tell."""

from collections import Counter
from collections.abc import Collection, Sequence

from toolablate.analysis.attribution.signals import Signals
from toolablate.analysis.pairing import mean
from toolablate.traces.records import Diagnosis, Distraction

OUTWEIGHS = 1.5
"""How many times the words of the replies without tools make an elaborate one."""


def distraction(
    signals: Signals,
    bare: Sequence[Signals],
    diagnoses: Sequence[Diagnosis] = (),
    turning: Collection[int] = (),
) -> Distraction | None:
    """By judges where any say so; else by what results say of the answer, those at which the belief fell (`turning`,
    by their events) before others: one that claims it to be the better one misleads, one that only offers it does not.
    Where they say neither, by the reply's own argument, which goes from what there is to what should be, or is much
    longer than replies without tools (`bare`): what a model says moved it need not be what did. Else by where the
    answer stands."""
    labels = Counter(each.distraction for each in diagnoses if each.distraction)
    if labels:
        return labels.most_common(1)[0][0]
    elaborate = bool(bare) and signals.echo.words > OUTWEIGHS * mean([each.echo.words for each in bare])
    said = {each.kind for each in signals.backing if each.event in turning} or {each.kind for each in signals.backing}
    if "claimed" in said:
        return "misleading_adoption"
    if said or signals.norm_hints:
        return "over_engineering" if elaborate else "existence_as_norm"
    if signals.adoption is not None and signals.adoption.form != "code":
        return "misleading_adoption"
    return "over_engineering" if elaborate else None
