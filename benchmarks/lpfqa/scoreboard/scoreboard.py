"""The tables of a scoreboard, out of observations alone."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from toolablate.analysis.spreadsheets import csv_text, ends
from toolablate.benchmarks.lpfqa.scoreboard.ablation import ablation
from toolablate.benchmarks.lpfqa.scoreboard.answered import answered
from toolablate.benchmarks.lpfqa.scoreboard.beside import OtherBenchmark, beside
from toolablate.benchmarks.lpfqa.scoreboard.domains import domain_scores, scores_over
from toolablate.benchmarks.lpfqa.scoreboard.filtering import filtered
from toolablate.benchmarks.lpfqa.scoreboard.records import Scoreboard
from toolablate.benchmarks.lpfqa.scoreboard.standings import standings
from toolablate.benchmarks.lpfqa.scoreboard.tiers import tiers
from toolablate.traces.errors import InputError
from toolablate.traces.store import Observation


def scoreboard(
    observations: Iterable[Observation],
    baseline: str,
    *,
    others: Sequence[OtherBenchmark] = (),
    order: Sequence[str] = (),
    seed: int = 0,
) -> Scoreboard:
    """Models by domain, by set of questions and by difficulty under the baseline, under the other conditions against
    it, and by rank beside other benchmarks. Conditions come as `order` names them, then by name. Raises InputError
    where no trial of the baseline has a score."""
    seen = list(observations)
    found = answered(seen, baseline)
    if not found.asked:
        conditions = sorted({each.condition for each in seen})
        raise InputError(
            f"No trial under {baseline!r} has a score",
            hint=f"Conditions with ended trials: {', '.join(conditions) or 'none yet'}.",
            code="unknown_baseline",
        )
    standing = standings(found, seed=seed)
    models = [each.model for each in standing]
    ranked = [each.model for each in standing if each.rank is not None]
    return Scoreboard(
        baseline=baseline,
        standings=standing,
        overall=scores_over(found, models, list(found.asked), seed=seed),
        domains=domain_scores(found, models, seed=seed),
        filtered=filtered(found, ranked, seed=seed),
        tiers=tiers(found, ranked, seed=seed),
        ablation=ablation(seen, baseline, order=order, seed=seed),
        beside=tuple(beside(found, standing, other, seed=seed) for other in others),
    )


def scoreboard_json(found: Scoreboard) -> str:
    """The fields of the records; what is unknown is null."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=2)


def domains_csv(found: Scoreboard) -> str:
    """A line for each model and domain, and for all domains together, whose name is empty in the column `domain` and
    whose `of` is `all`."""
    return csv_text(
        ("model", "of", "domain", "questions", "percent", *ends("ci95", None), "small", "best"),
        (
            {
                "model": each.model,
                "of": "all" if column.domain is None else "domain",
                "domain": column.domain,
                "questions": each.accuracy.questions,
                "percent": each.accuracy.percent,
                **ends("ci95", each.accuracy.ci95),
                "small": each.accuracy.small,
                "best": each.best,
            }
            for column in (found.overall, *found.domains)
            for each in column.scores
        ),
    )
