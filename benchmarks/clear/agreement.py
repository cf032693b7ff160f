"""Agreement on checklists of a store: of judges, of mappers, and of judges with people, who label blind on a page."""

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from toolablate.analysis.checklist_agreement import (
    Contains,
    PeoplePair,
    ScorerPair,
    Verdicts,
    scorer_pairs,
    with_people,
)
from toolablate.analysis.checklist_measures import NaRule
from toolablate.analysis.checklists import Sample
from toolablate.analysis.from_store import chosen_run, observe
from toolablate.analysis.pairing import unit
from toolablate.benchmarks.clear.page import Asked, Cell, Part, html_page
from toolablate.benchmarks.clear.stored import counted_alike, is_judged
from toolablate.benchmarks.rows.row_errors import LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChecklistItem, ChecklistTarget, Question, digest_json
from toolablate.traces.store import Store

_SCORER = re.compile(r"@(?P<model>[0-9a-f]{8})(?P<options>(?:,[a-z]+=[^,\]]+)*)\]$")


def mapping_of(scorer: str) -> tuple[str, str, str]:
    """Which mapping a scorer judges, by its name: the mapper's digits, each or once, and of which round."""
    found = _SCORER.search(scorer)
    if found is None:
        return scorer, "", ""
    options = dict(each.split("=", 1) for each in found["options"].split(",") if each)
    return options.get("mapper", found["model"]), options.get("mapping", "each"), options.get("again", "0")


@dataclass(frozen=True, slots=True)
class CheckedCell:
    """Two texts for one item, of which `scorers` said whether they contain each other: the answer's the reference's,
    and the reference's the answer's. `unit` is the first answer's that has them."""

    id: str
    item: ChecklistItem
    mapped: str
    unit: object
    scorers: dict[str, tuple[bool, bool]]


@dataclass(frozen=True, slots=True)
class StoredAgreement:
    """`samples` have the tables of all scorers; `questions` are theirs by the sample's name; `cells` those of which a
    judge was asked, each pair of texts once."""

    samples: tuple[Sample, ...]
    questions: dict[str, Question]
    cells: tuple[CheckedCell, ...]


def read_agreement(path: Path, *, run: str = "latest") -> StoredAgreement:
    """All scorers of checklists of the trials that a run called for, also those of other runs; of those that count the
    same judgements by several rules one. Raises InputError where there are fewer than one."""
    with Store(path) as store, store.at_one_moment():
        chosen_run(store, run)
        named = [name for name in store.scorers() if name.startswith("checklist[")]
        by = set(counted_alike(named))
        if not by:
            hint = "Checklists are targets of kind 'checklist'."
            raise InputError(f"{path}: no checklist is scored", hint=hint, code="no_checklist")
        seen = {each.trial: each for each in observe(store, run=run) if each.outcome != "failed"}
        samples, questions, named_so = list[Sample](), dict[str, Question](), dict[str, Question]()
        for trial, scores in sorted(store.scores_of(seen).items()):
            # Of an answer without words nobody judged anything.
            judged = {
                each.scorer: each.items
                for each in sorted(scores, key=lambda each: each.scorer)
                if each.scorer in by and is_judged(each) and each.verdict != "unparsed"
            }
            if judged:
                samples.append(Sample(trial, judged, cluster="\n".join(unit(seen[trial]))))
                # A name stands for one question of a store: where two share it, each has the beginning of its id.
                name = seen[trial].question
                if name not in named_so:
                    named_so[name] = store.question(store.trace(trial).trial.question)
                questions[trial] = named_so[name]
    return StoredAgreement(tuple(samples), questions, tuple(_cells(samples, questions)))


def _cells(samples: Iterable[Sample], questions: dict[str, Question]) -> list[CheckedCell]:
    found: dict[str, CheckedCell] = {}
    for sample in samples:
        target = questions[sample.name].target
        items = {item.name: item for item in target.items} if isinstance(target, ChecklistTarget) else {}
        for scorer, table in sample.judged.items():
            for score in table:
                item = items.get(score.item)
                if item is None or item.literal or not (item.said and score.filled):
                    continue
                key = digest_json([item.name, item.definition, item.said, score.mapped])
                cell = found.setdefault(key, CheckedCell(key, item, score.mapped, sample.unit, {}))
                cell.scorers.setdefault(scorer, (score.recall, score.precision))
    return list(found.values())


# The page on which people say the same of the texts, told neither what a judge said nor which condition it was.


FIRST = Asked("model_contains_reference", "Does text 1 contain all that text 2 states?")
SECOND = Asked("reference_contains_model", "Does text 2 contain all that text 1 states?")
_INTRO = (
    "Each box has two texts for one item. Say of both whether one states all that the other states, in whatever words."
    " It does not matter which of them is right, or whether one says more.",
)


def labelling_page(cells: Sequence[CheckedCell], count: int, *, seed: int = 0, saved_as: str) -> str:
    """So many cells at random, in random order. HTML."""
    drawn = random.Random(seed).sample(list(cells), min(count, len(cells)))  # noqa: S311 - a draw, not a secret
    made = tuple(
        Cell(
            cell.item.name,
            {"cell": cell.id},
            about=cell.item.definition,
            texts=(("Text 1", cell.mapped), ("Text 2", cell.item.said)),
            asked=(FIRST, SECOND),
        )
        for cell in drawn
    )
    return html_page("Two texts for one item", _INTRO, [Part("", "", made)], saved_as=saved_as)


class _Label(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    cell: str
    model_contains_reference: bool | None = None
    reference_contains_model: bool | None = None
    person: str = ""


_KEYS = {
    "cell": "that of the page, a text",
    "model_contains_reference": "true or false",
    "reference_contains_model": "true or false",
    "person": "a name",
}


def read_labels(paths: Sequence[Path], cells: Sequence[CheckedCell]) -> tuple[list[Verdicts], int]:
    """What people said, of one cell and person the last; and how many cells they answered by half, which do not count.
    Who gave no name goes by the file's. Raises InputError for a cell that the store does not have."""
    known = {cell.id: cell for cell in cells}
    found: dict[tuple[str, str], Verdicts | None] = {}
    for path in paths:
        for place, line in typed_rows(path, _Label, _KEYS):
            if line.cell not in known:
                error = LineError(
                    f"the store has no two texts {shown(line.cell)}",
                    "Labels belong to the store, and to the --run, that the page was written of.",
                )
                raise at(place, error)
            one, other = line.model_contains_reference, line.reference_contains_model
            person = line.person.strip() or path.name
            whole = one is not None and other is not None
            found[person, line.cell] = (
                Verdicts(person, line.cell, known[line.cell].unit, bool(one), bool(other)) if whole else None
            )
    labels = [each for each in found.values() if each is not None]
    return labels, len(found) - len(labels)


def verdicts_of_judges(cells: Iterable[CheckedCell]) -> list[Verdicts]:
    return [Verdicts(scorer, cell.id, cell.unit, *said) for cell in cells for scorer, said in cell.scorers.items()]


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """`half` counts cells that people answered by half."""

    samples: int
    cells: int
    pairs: tuple[ScorerPair, ...]
    people: tuple[PeoplePair, ...]
    half: int


def agreement_report(
    found: StoredAgreement,
    na: NaRule,
    *,
    labels: Sequence[Path] = (),
    contains: Contains | None = None,
    seed: int = 0,
) -> AgreementReport:
    people, half = read_labels(labels, found.cells)
    pairs = scorer_pairs(found.samples, mapping_of, na, contains=contains, seed=seed)
    compared = with_people(verdicts_of_judges(found.cells), people, seed=seed) if people else []
    return AgreementReport(len(found.samples), len(found.cells), tuple(pairs), tuple(compared), half)


def agreement_json(report: AgreementReport) -> str:
    """The fields of the records; what is unknown is null."""
    content: dict[str, Any] = asdict(report)
    return json.dumps(content, ensure_ascii=False, indent=2)
