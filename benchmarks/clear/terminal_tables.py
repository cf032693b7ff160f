"""Figures of checklists, in percent: overall beside an answer that says nothing, by item, and how far judges agree;
and what changed between conditions, item by item."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.checklist_agreement import Agreed, ScorerPair
from toolablate.analysis.checklist_attribution import FlippedItem
from toolablate.analysis.checklist_flips import ChecklistEffect, ItemChange
from toolablate.analysis.checklist_measures import NaRule
from toolablate.analysis.checklists import Checklists, Figure
from toolablate.benchmarks.clear.agreement import AgreementReport
from toolablate.benchmarks.clear.judged_rows import JudgedScores
from toolablate.benchmarks.clear.stored import SIGN_DEPENDS, StoredChecklists, signature_said
from toolablate.reports import numbers
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line

SAYS_NOTHING = "says nothing"
NA_SAID: Mapping[NaRule, str] = {
    "published": 'N/A of the reference: counts, and silence is right there (--na published); see "says nothing".',
    "out": "N/A of the reference: leaves every denominator (--na out).",
    "recall": "N/A of the reference: leaves denominators; what overfills counts against precision (--na recall).",
}
# In the order of the columns; which of them leave first where there is no room.
_SPARE = {"precision": 6, "recall": 5, "accuracy": 4, "ternary": 1, "coverage": 3, "overfill": 2}


def scores_view(found: JudgedScores) -> RenderableType:
    parts: list[RenderableType] = [_title("Checklists, in percent")]
    rows: dict[str, Mapping[str, Figure]] = {"all": found.overall.figures}
    rows |= {one_line(task): each.figures for task, each in found.tasks.items()}
    rows |= {f"judge {one_line(judge)}": each.figures for judge, each in found.by_judge.items()}
    rows[SAYS_NOTHING] = {name: Figure(value) for name, value in found.overall.silent.items()}
    parts += [
        overall_table(rows),
        _title("By item, in percent of samples"),
        item_table(found.overall),
    ]
    if found.overall.pairs:
        parts += [_title("Judges on the same items"), _pair_table(found.overall)]
    return Group(*parts, Padding(Text("\n".join(_footnotes(found)), style="dim"), (0, 1, 1, 1)))


def arm_title(model: str, condition: str) -> Text:
    return _title(f"{one_line(model)}, {one_line(condition)}")


def overall_table(rows: Mapping[str, Mapping[str, Figure]]) -> Fitted:
    """A row of each name, F1 with its interval."""
    found = list(rows.values())
    columns = [names("", [inert(name) for name in rows])]
    columns.append(figures("F1", [_percent(each["f1"].value) for each in found]))
    columns.append(figures("95 % interval", [_interval(each["f1"]) for each in found]))
    columns += [figures(name, [_percent(each[name].value) for each in found], spare=_SPARE[name]) for name in _SPARE]
    return Fitted(tuple(columns))


def item_table(found: Checklists) -> Fitted:
    accuracy = found.by_item["accuracy"]
    return Fitted(
        (
            names("item", [inert(one_line(item)) for item in accuracy]),
            *(
                figures(name, [_percent(found.by_item[name][item].value) for item in accuracy])
                for name in ("precision", "recall", "ternary", "accuracy")
            ),
            figures("95 % interval", [_interval(figure) for figure in accuracy.values()], spare=1),
        )
    )


def _pair_table(found: Checklists) -> Fitted:
    pairs = found.pairs
    return Fitted(
        (
            names("judges", [inert(" and ".join(map(one_line, pair.judges))) for pair in pairs]),
            figures("on", [pair.on for pair in pairs]),
            figures("items", [f"{pair.items:,}" for pair in pairs]),
            figures("agree %", [_percent(pair.agreement) for pair in pairs]),
            figures("kappa", [numbers.UNKNOWN if pair.kappa is None else f"{pair.kappa:.2f}" for pair in pairs]),
            figures("95 % interval", [_bounds(pair.kappa_ci95, 1, 2) for pair in pairs]),
        )
    )


def _title(text: str) -> Text:
    return Text(f" {text}", style="bold", overflow="fold")


def _percent(value: float | None) -> str:
    return numbers.percent(None if value is None else 100 * value)


def _interval(figure: Figure) -> str:
    return _bounds(figure.ci95, 100, 1)


def _bounds(bounds: tuple[float, float] | None, times: float, digits: int) -> str:
    if bounds is None:
        return numbers.UNKNOWN
    return " .. ".join(f"{times * bound:.{digits}f}" for bound in bounds)


def _footnotes(found: JudgedScores) -> Iterator[str]:
    judged = found.judgements
    yield f"{len(judged.samples) - found.no_score:,} of {judged.given:,} samples; F1 is the mean of the samples' F1."
    yield NA_SAID[found.na]
    yield "coverage: of the items that the reference has, the share filled; overfill: of those that it has not."
    yield "accuracy: each contains the other; ternary: the mean of precision and recall."
    yield "95 % interval: from a bootstrap over independent samples (BCa)" + (
        "; of the mean over tasks from its standard error." if found.tasks else "."
    )
    if found.no_score:
        yield f"{numbers.counted(found.no_score, 'sample')} with no item that counts under this rule."
    if found.overall.pairs:
        yield "kappa and agreement also count items that no judge was asked about, as one side has nothing."


# What changed between conditions.


def flips_view(found: StoredChecklists) -> RenderableType:
    parts: list[RenderableType] = []
    for effect in found.effects:
        said = f"{one_line(effect.model)}: {one_line(effect.condition)} against {one_line(effect.baseline)}"
        parts += [
            _title(f"{said}, {numbers.counted(effect.questions, 'question')}"),
            _rule_table(effect),
            *([_sentence(SIGN_DEPENDS)] if effect.sign_depends else []),
            _sentence(f"Coverage {_points(effect.coverage)}; accuracy where both fill {_points(effect.accuracy)}."),
            _sentence(signature_said(effect)),
            _change_table("", [(change.event.replace("_", " "), change) for change in effect.changes]),
            _title("Items that flipped"),
            _item_changes(effect),
        ]
    if found.flipped is not None:
        parts += [_title("Items that went wrong"), _flipped_table(found.flipped)]
        if found.restored:
            parts += [_title("Replays of these trials in which an item came back, in percent"), _restored_table(found)]
    return Group(*parts, Padding(Text("\n".join(_flip_notes(found)), style="dim"), (0, 1, 1, 1)))


def _flipped_table(items: Sequence[FlippedItem]) -> RenderableType:
    if not items:
        return _sentence("None.")
    return Fitted(
        (
            names("item", [inert(one_line(each.item)) for each in items]),
            figures("became", [each.event.replace("_", " ") for each in items]),
            names("trial", [inert(f"{one_line(each.question)} {each.trial[:ID_CHARS]}") for each in items]),
            names("under", [inert(one_line(each.condition)) for each in items]),
            figures("text from", [_source(each) for each in items]),
            figures("came back", [_came_back(each) for each in items]),
        )
    )


def _source(each: FlippedItem) -> str:
    if each.source is None or each.source_share is None:
        return numbers.UNKNOWN
    return f"event {each.source} ({100 * each.source_share:.0f} %)"


def _came_back(each: FlippedItem) -> str:
    back, of = (sum(getattr(one, name) for one in each.replays) for name in ("restored", "replays"))
    return f"{back} of {of}" if of else numbers.UNKNOWN


def _restored_table(found: StoredChecklists) -> Fitted:
    rows = found.restored
    return Fitted(
        (
            names("replayed with", [inert(each.change) for each in rows]),
            names("under", [inert(f"{one_line(each.model)}, {one_line(each.condition)}") for each in rows]),
            figures("items", [f"{each.items:,}" for each in rows]),
            figures("replays", [f"{each.replays:,}" for each in rows]),
            figures("came back", [_percent(each.restored.value) for each in rows]),
            figures("95 % interval", [_interval(each.restored) for each in rows]),
            figures("beyond again", [_signed(each.beyond_again.value) for each in rows]),
            figures("interval", [_signed_interval(each.beyond_again) for each in rows], spare=1),
        )
    )


def _rule_table(effect: ChecklistEffect) -> Fitted:
    rules = effect.rules
    return Fitted(
        (
            names("F1, N/A rule", [rule.na for rule in rules]),
            figures(SAYS_NOTHING, [_percent(rule.silent) for rule in rules]),
            figures(one_line(effect.baseline), [_percent(rule.baseline) for rule in rules]),
            figures(one_line(effect.condition), [_percent(rule.condition) for rule in rules]),
            figures("difference", [_signed(rule.difference.value) for rule in rules]),
            figures("95 % interval", [_signed_interval(rule.difference) for rule in rules]),
        )
    )


def _change_table(title: str, rows: Sequence[tuple[str, ItemChange]]) -> Fitted:
    return Fitted(
        (
            names(title, [inert(name) for name, _ in rows]),
            figures("items", [f"{change.items:,}" for _, change in rows]),
            figures("share", [_percent(change.share) for _, change in rows]),
            figures("noise floor", [_percent(change.noise) for _, change in rows]),
            figures("beyond noise", [_signed(change.excess.value) for _, change in rows]),
            figures("95 % interval", [_signed_interval(change.excess) for _, change in rows]),
        )
    )


def _item_changes(effect: ChecklistEffect) -> RenderableType:
    rows = [
        (f"{one_line(item)}: {change.event.replace('_', ' ')}", change)
        for item, changes in effect.by_item.items()
        for change in changes
        if change.share
    ]
    return _change_table("item", rows) if rows else _sentence("None.")


def _sentence(text: str) -> RenderableType:
    return Padding(Text(text), (0, 1, 1, 1))


def _signed(value: float | None) -> str:
    return numbers.signed(None if value is None else 100 * value)


def _signed_interval(figure: Figure) -> str:
    bounds = figure.ci95
    return numbers.interval(None if bounds is None else (100 * bounds[0], 100 * bounds[1]))


def _points(figure: Figure) -> str:
    return f"{_signed(figure.value)} points ({_signed_interval(figure)})"


def _flip_notes(found: StoredChecklists) -> Iterator[str]:
    yield f"Judged by {one_line(found.scorer)}; in percent of items, between one run of each side."
    yield "gained, lost: right before or after alone; falsified: both fill it, and it is no more in the reference."
    yield "newly silent, newly filled: filled by one side alone; overfilled: the same of items that are N/A."
    yield "noise floor: the same between two runs of the baseline; beyond noise: the share less that."
    yield "95 % interval: from a bootstrap over clusters of questions (BCa); not corrected for the number of items."
    if any(effect.repeated < effect.questions for effect in found.effects):
        yield "Questions with one run of the baseline have no noise floor: repeats = 2 or more in the plan gives it."
    if found.flipped is not None:
        yield "text from: the tool result that holds half or more of what is new in the item's text; a hint, no proof."
        yield "came back: in replays that the store has; beyond again: less the share of those only sampled again."
    if found.without:
        yield f"{numbers.counted(found.without, 'trial')} without a scored checklist left out."


# How far scorers, mappers and people agree.


def agreement_view(report: AgreementReport) -> RenderableType:
    judged = [pair for pair in report.pairs if pair.judged]
    mapped = [pair for pair in report.pairs if not pair.judged]
    parts: list[RenderableType] = []
    if judged:
        rows = [(pair.scorers, on) for pair in judged for on in pair.judged]
        parts += [_title("Judges of the same mapped texts"), _kappa_table("judges", [
            (names, on.on, Agreed(on.items, on.agreement, on.kappa, on.kappa_ci95)) for names, on in rows
        ])]  # fmt: skip
    if mapped:
        shown = [(pair.scorers, "has a text", pair.filled) for pair in mapped if pair.filled is not None]
        parts += [_title("Scorers with mappings of their own"), _kappa_table("scorers", shown)]
        if any(pair.mapped for pair in mapped):
            parts += [
                _title("What the first extracted, against the second's as references, in percent"),
                _mapped_table(mapped),
            ]
    if report.pairs:
        parts += [_title("F1 of the same samples"), _correlation_table(report)]
    if report.people:
        rows_of = [(pair.names, "contains", pair.contains) for pair in report.people]
        rows_of += [(pair.names, "accuracy", pair.accuracy) for pair in report.people]
        parts += [_title("People"), _kappa_table("who", sorted(rows_of, key=lambda row: row[0]))]
    if not parts:
        parts = [_sentence("One scorer and no labels: nothing to compare. A second judge in the plan, --labels, or a"
                           " run with another judging.mapper gives it.")]  # fmt: skip
    return Group(*parts, Padding(Text("\n".join(_agreement_notes(report)), style="dim"), (0, 1, 1, 1)))


def _kappa_table(title: str, rows: Sequence[tuple[tuple[str, str], str, Agreed]]) -> Fitted:
    return Fitted(
        (
            names(title, [inert(" and ".join(map(_named, pair))) for pair, _, _ in rows]),
            figures("on", [on for _, on, _ in rows]),
            figures("count", [f"{found.count:,}" for _, _, found in rows]),
            figures("agree %", [_percent(found.agreement) for _, _, found in rows]),
            figures("kappa", [_plain(found.kappa) for _, _, found in rows]),
            figures("95 % interval", [_bounds(found.kappa_ci95, 1, 2) for _, _, found in rows]),
        )
    )


def _mapped_table(pairs: Sequence[ScorerPair]) -> Fitted:
    found = [(pair.scorers, pair.mapped) for pair in pairs if pair.mapped]
    return Fitted(
        (
            names("scorers", [inert(" against ".join(map(_named, scorers))) for scorers, _ in found]),
            figures("F1", [_percent(mapped["f1"].value) for _, mapped in found]),
            figures("95 % interval", [_interval(mapped["f1"]) for _, mapped in found]),
            figures("precision", [_percent(mapped["precision"].value) for _, mapped in found]),
            figures("recall", [_percent(mapped["recall"].value) for _, mapped in found]),
        )
    )


def _correlation_table(report: AgreementReport) -> Fitted:
    return Fitted(
        (
            names("scorers", [inert(" and ".join(map(_named, pair.scorers))) for pair in report.pairs]),
            figures("samples", [f"{pair.correlation.samples:,}" for pair in report.pairs]),
            figures("Pearson r", [_plain(pair.correlation.r) for pair in report.pairs]),
            figures("95 % interval", [_bounds(pair.correlation.ci95, 1, 2) for pair in report.pairs]),
        )
    )


def _named(scorer: str) -> str:
    """All are of checklists."""
    return one_line(scorer).removeprefix("checklist[").removesuffix("]")


def _plain(value: float | None) -> str:
    return numbers.UNKNOWN if value is None else f"{value:.2f}"


def _agreement_notes(report: AgreementReport) -> Iterator[str]:
    cells = numbers.counted(report.cells, "pair")
    yield f"{numbers.counted(report.samples, 'answer')}; {cells} of texts that a judge was asked about."
    if any(pair.judged for pair in report.pairs):
        yield "kappa of judges also counts items that none was asked about, as one side has nothing."
    if report.people:
        yield "contains: each of the two questions by itself; accuracy: whether both are answered with yes."
    if report.half:
        yield f"{numbers.counted(report.half, 'pair')} of texts answered by half left out."
    yield "95 % interval: from a bootstrap over clusters of questions (BCa, of jackknifed values)."
