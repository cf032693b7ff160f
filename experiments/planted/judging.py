"""What judges of failures said of planted trials, beside what was planted."""

from collections.abc import Iterable, Mapping

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.judge_labels import judge_matrices
from toolablate.experiments.planted.truth import TrialTruth
from toolablate.traces.records import Distraction, DistractionLabel, JudgeMatrix


def judged_beside(
    pairs: Iterable[tuple[TrialTruth, Evidence]], distractions: Mapping[str, Distraction]
) -> tuple[JudgeMatrix, ...]:
    """By judge and wording, over wrong trials that have results of a search: where nothing was searched nothing that
    was found can have drawn the model away, and a judge sees that. `distractions` are those of questions.

    A trial is drawn away where its own draw puts it down to retrieval distraction, and by the way that was planted; by
    `misleading_adoption` where pages mislead by themselves.
    """
    seen = [(true, each) for true, each in pairs if true.mechanism is not None and "search" in each.chain.tools]
    truth = {true.trial: _label(true, distractions) for true, _ in seen}
    return judge_matrices((each for _, evidence in seen for each in evidence.diagnoses), truth)


def _label(true: TrialTruth, distractions: Mapping[str, Distraction]) -> DistractionLabel:
    if true.mechanism != "retrieval_distraction":
        return "none"
    return distractions.get(true.question, "misleading_adoption")
