"""The funnel of a construction: what came to each stage, what became of it and why, what it cost."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolablate.experiments.construction.audit import Audit, audit_in, audit_told
from toolablate.experiments.construction.building import Built
from toolablate.experiments.construction.pipeline import Pipeline
from toolablate.experiments.construction.question_checks import SetChecks, checks_of
from toolablate.experiments.construction.review import Agreement, agreement, said_of
from toolablate.experiments.construction.reviewers import ReviewerFigures, Reviewers, reviewer_figures
from toolablate.experiments.construction.stages import Dropped, Waiting
from toolablate.experiments.construction.style_guess import StyleGuess, groups_of, style_guess, style_told
from toolablate.experiments.construction.workbench import Paid, Workbench

PAPERS = {
    "questions": "LPFQA's paper: over 2,000 threads of over 50 forums, about 1,000 candidates, 430 questions",
    "statements": "Encyclo-K's paper: 25,563 statements, less 3,269 with figures, 642 with references and 127 that are"
    " not clear; 21,494 of 21,525 falsified",
}


@dataclass(frozen=True, slots=True)
class StageFigures:
    """Items: `came` = `kept` + `dropped` + `waiting` + `missing`, where `missing` are those whose model could not be
    asked. Requests, US dollars (None where one is unknown) and seconds are those of these items' steps as they are now.
    """

    stage: str
    came: int
    kept: int
    dropped: Mapping[str, int]
    waiting: Mapping[str, int]
    missing: int
    requests: int
    cost_usd: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Funnel:
    """`paid_before` is what was paid for steps that the pipeline no longer has, since it or its items changed.
    `domains` counts what is at the end; `checks` and `style` are over these; `audit` is None
    without one; `reviewers` have no names; `paper` is the funnel of the paper, in words."""

    stages: tuple[StageFigures, ...]
    paid_before: Paid
    domains: Mapping[str, int]
    checks: SetChecks
    style: StyleGuess
    audit: Audit | None
    agreement: Agreement
    reviewers: tuple[ReviewerFigures, ...]
    paper: str


def funnel_of(pipeline: Pipeline, built: Built, bench: Workbench) -> Funnel:
    paid = bench.paid()
    used: set[str] = set()
    stages = []
    for found in built.stages:
        spent = Paid()
        for step in found.steps.values():
            if step.asked in paid:
                used.add(step.asked)
                spent += paid[step.asked]
        outcomes = found.outcomes.values()
        stages.append(
            StageFigures(
                stage=found.stage.name,
                came=len(found.steps),
                kept=len(found.kept),
                dropped=_counted(each.reason for each in outcomes if isinstance(each, Dropped)),
                waiting=_counted(each.reason for each in outcomes if isinstance(each, Waiting)),
                missing=len(found.lacking),
                requests=spent.requests,
                cost_usd=spent.cost_usd,
                seconds=spent.seconds,
            )
        )
    before = sum((each for step, each in paid.items() if step not in used), Paid())
    contents = (built.published or {}).values()
    said = said_of(bench.decisions(), built.stages[-1].contents)
    return Funnel(
        stages=tuple(stages),
        paid_before=before,
        domains=_counted(each["domain" if pipeline.kind == "questions" else "discipline"] for each in contents),
        checks=checks_of(each["asked"] for each in contents if "asked" in each),
        style=style_guess(groups_of(contents)),
        audit=audit_in(pipeline, built.published or {}),
        paper=PAPERS[pipeline.kind],
        agreement=agreement(said),
        reviewers=tuple(reviewer_figures(said, Reviewers(Path(pipeline.workbench)).known())),
    )


def _counted(reasons: Iterator[str]) -> dict[str, int]:
    return dict(Counter(reasons).most_common())


def funnel_json(funnel: Funnel) -> dict[str, Any]:
    """The fields of the records; what is unknown is null."""
    return asdict(funnel)


def funnel_lines(funnel: Funnel) -> Iterator[str]:
    """What the table does not show, as sentences."""
    from toolablate.reports.numbers import counted, dollars

    if funnel.paid_before.requests:
        cost = funnel.paid_before.cost_usd
        told = "cost unknown" if cost is None else dollars(cost)
        yield f"Paid before, for steps that changed since: {counted(funnel.paid_before.requests, 'request')}, {told}"
    if funnel.domains:
        yield "Domains: " + ", ".join(f"{name} {count}" for name, count in funnel.domains.items())
    checks = funnel.checks
    if checks.questions:
        letters = ", ".join(f"{letter} {count}" for letter, count in checks.letters.items())
        yield f"Right options: {letters}{_p(checks.letters_p, 'uneven')}"
        yield (
            f"Right option the longest: {checks.longest} of {checks.questions}, by chance"
            f" {checks.longest_expected:.1f}{_p(checks.longest_p, 'not by chance')}"
        )
    if told := style_told(funnel.style, "questions" if checks.questions else "statements"):
        yield told
    if funnel.audit is not None:
        yield from audit_told(funnel.audit)
    yield from agreement_told(funnel.agreement)
    yield f"Beside it, {funnel.paper}."


def agreement_told(said: Agreement) -> Iterator[str]:
    from toolablate.reports.numbers import counted

    if said.items:
        kappa = "undefined" if said.kappa is None else f"{said.kappa:.2f}"
        interval = f" ({said.ci95[0]:.2f} to {said.ci95[1]:.2f})" if said.ci95 else ""
        yield f"Review: two people on {counted(said.items, 'item')}, alike on {said.alike:.0%}, kappa {kappa}{interval}"
    if said.median_seconds is not None:
        yield f"Review: median {said.median_seconds:.0f} s per item and person"


def _p(value: float | None, told: str) -> str:
    if value is None:
        return " (too few to test)"
    return f" (p = {value:.3g}{f', {told}' if value < 0.05 else ''})"
