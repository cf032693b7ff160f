"""Everything that several scorers of the same trials say of each other."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from toolablate.analysis.agreement.agreement import Agreement, agreements
from toolablate.analysis.agreement.disagreement import Disagreement
from toolablate.analysis.agreement.gradings import Gradings
from toolablate.analysis.agreement.judge_noise import JudgeNoise, judge_noise
from toolablate.analysis.agreement.regrading import Regraded, regraded
from toolablate.analysis.agreement.shift import Shift, shifts


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Each part is empty where there is nothing to say."""

    agreements: tuple[Agreement, ...]
    shifts: tuple[Shift, ...]
    regraded: tuple[Regraded, ...]
    judge_noise: tuple[JudgeNoise, ...]


def agreement_report(
    found: Gradings,
    pairs: Sequence[tuple[str, str]],
    baseline: str,
    *,
    answers: Mapping[str, str],
    order: Sequence[str] = (),
    seed: int = 0,
) -> AgreementReport:
    """`answers` has for each trial its answer, or a digest of it. The result depends on the gradings and the seed
    alone, not on their order."""
    rates = regraded(found, answers, seed=seed)
    return AgreementReport(
        tuple(agreements(found, pairs, order=order, seed=seed)),
        tuple(shifts(found, pairs, baseline, order=order, seed=seed)),
        tuple(rates),
        tuple(judge_noise(found, rates, baseline, order=order, seed=seed)),
    )


def agreement_json(report: AgreementReport) -> str:
    """The fields of the records; what is unknown is null."""
    return json.dumps(asdict(report), ensure_ascii=False, indent=2)


def disagreements_json(found: Iterable[Disagreement]) -> str:
    """`{"disagreements": [...]}` with the fields of the records."""
    return json.dumps({"disagreements": [asdict(each) for each in found]}, ensure_ascii=False, indent=2)
