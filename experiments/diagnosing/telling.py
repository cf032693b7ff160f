"""How a reading of failures went, in words."""

from toolablate.experiments.diagnosing.diagnosing import Diagnosed
from toolablate.experiments.running.judge_queue import JudgeWork, Ungraded
from toolablate.reports.numbers import counted, dollars
from toolablate.traces.plain import one_line


def diagnoses_told(done: Diagnosed) -> tuple[str, ...]:
    """What judges did and cost, and what is left unread, and why; plain lines for a terminal."""
    if not done.wrong:
        return ("No trial of a condition with tools is wrong: there is nothing to read.",)
    lines = [line for work in done.judges for line in _of(work)]
    failed = sum(reason.count for work in done.judges for reason in work.ungraded)
    if (left := done.missing - failed) > 0:
        why = " (you stopped it)" if done.stopped else " (--max-cost is spent)" if done.capped else ""
        lines.append(f"{counted(left, 'failure')} not read yet{why}; the same command reads them.")
    if not lines:
        lines.append(f"{counted(done.wrong, 'failure')} read already: no judge was asked.")
    return (*lines, *done.slowed)


def _of(work: JudgeWork) -> list[str]:
    name = one_line(work.judge)
    return [
        f"Judge {name}: {counted(work.graded, 'failure')} labelled{_spent(work)}",
        *(
            f"{name}: {counted(each.count, 'failure')} without labels: {one_line(each.reason)}"
            for each in work.unscored
        ),
        *(f"{name}: {_why_not(reason)}" for reason in work.ungraded),
    ]


def _why_not(reason: Ungraded) -> str:
    said = "; ".join(one_line(text, max_chars=400) for text in (reason.message, reason.hint) if text)
    return f"{counted(reason.count, 'failure')} could not be read: {reason.code}; the same command tries again. {said}"


def _spent(work: JudgeWork) -> str:
    if not work.requests:
        return "" if work.ungraded else " (without asking it)"
    cost = "cost unknown" if work.unpriced == work.requests else dollars(work.cost_usd)
    unknown = f" + {counted(work.unpriced, 'request')} of unknown cost" if 0 < work.unpriced < work.requests else ""
    return f" ({counted(work.requests, 'request')}, {cost}{unknown})"
