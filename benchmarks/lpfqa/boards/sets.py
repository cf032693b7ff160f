"""Scores over some of the questions: those that tell models apart, and those of one difficulty."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from toolablate.benchmarks.lpfqa.boards.domains import NO_DOMAIN
from toolablate.benchmarks.lpfqa.boards.parts import below, listed, named, note, percent, scores, title
from toolablate.benchmarks.lpfqa.scoreboard import Filtered, Scoreboard, Standing, Tiers
from toolablate.reports.numbers import MINUS, counted
from toolablate.reports.tables import Fitted, figures, names

SETS = {"all": "all", "solved": MINUS, "told_apart": "="}
BOUNDS = {"easy": "easy > 50 %", "medium": "medium", "hard": "hard < 30 %"}
FEW_MODELS = (
    "Which questions no model or every model gets right, and how hard they are, is not shown: of fewer than two models"
    " that says nothing of the questions."
)


def filtered_part(found: Scoreboard) -> Iterator[RenderableType]:
    if found.filtered is None:
        yield note([FEW_MODELS])
        return
    rows, styles = below(found, (each.model for each in found.filtered.sets[0].scores))
    yield title("Without the questions that tell no models apart, in percent")
    columns = [scores(SETS[each.name], each.scores, each.mean, each.questions) for each in found.filtered.sets]
    yield Fitted((names("model", rows), *columns), styles)
    if any(domain for domain, _ in found.filtered.sets[0].domains):
        yield title("Questions left, by domain")
        yield _left(found.filtered)
    yield note(_filtered_notes(found.filtered, found.standings))


def _left(found: Filtered) -> Fitted:
    domains = [domain for domain, _ in found.sets[0].domains]
    return Fitted(
        (
            names("domain", [named(domain or NO_DOMAIN) for domain in domains]),
            *(figures(SETS[each.name], [f"{count:,}" for _, count in each.domains]) for each in found.sets),
        )
    )


def _filtered_notes(found: Filtered, standings: Sequence[Standing]) -> Iterator[str]:
    yield (
        f"{MINUS} (LPFQA-): without {counted(len(found.unsolved), 'question')} that no model gets right in any repeat."
        f" = (LPFQA=): also without {len(found.always):,} that all {found.models} models get right in every repeat."
    )
    yield (
        f"Biased: these questions are chosen by the results that they score. Scores under {MINUS} are higher than the"
        " same models would have on new questions, the more so the fewer models and repeats; compare them with no other"
        " table."
    )
    yield from _left_out(found.left_out, standings)


def tiers_part(found: Scoreboard) -> Iterator[RenderableType]:
    if found.tiers is None:
        return
    rows, styles = below(found, (each.model for each in found.tiers.tiers[0].scores))
    yield title("By difficulty (how many of the models get a question right), in percent")
    columns = [scores(BOUNDS[each.tier], each.scores, each.mean, each.questions) for each in found.tiers.tiers]
    yield Fitted((names("model", rows), *columns), styles)
    if found.tiers.labels:
        yield title("The difficulty that questions name, and their tier here")
        yield _labels(found.tiers)
    yield note(_tier_notes(found.tiers, found.standings))


def _labels(found: Tiers) -> Fitted:
    return Fitted(
        (
            names("difficulty", [named(row.label) if row.label else Text("(none)") for row in found.labels]),
            figures("easy", [f"{row.easy:,}" for row in found.labels]),
            figures("medium", [f"{row.medium:,}" for row in found.labels]),
            figures("hard", [f"{row.hard:,}" for row in found.labels]),
            figures("mean pass rate", [percent(row.pass_rate) for row in found.labels]),
        )
    )


def _tier_notes(found: Tiers, standings: Sequence[Standing]) -> Iterator[str]:
    yield "Pass rate: the mean over models of each one's share of right repeats; 30 and 50 % themselves are medium."
    yield (
        f"It rests on {found.models} models, so that luck moves questions between tiers; and as these models make the"
        " tiers, their scores in them are no test of them. --json names each question's tier."
    )
    yield from _left_out(found.left_out, standings)


def _left_out(count: int, standings: Sequence[Standing]) -> Iterator[str]:
    if count:
        lacking = [f"{row.model} {row.missing:,}" for row in standings if row.missing and row.rank is not None]
        yield f"Left out: {counted(count, 'question')} that some model has no score of ({listed(lacking)})."
