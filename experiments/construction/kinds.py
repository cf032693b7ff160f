"""What is made: questions, as LPFQA's, or statements, as Encyclo-K's. Each has its items and its stages."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import get_args

from toolablate.benchmarks.rows.sources import rows_of
from toolablate.experiments.construction.audit import audit_in
from toolablate.experiments.construction.book_worlds import book_worlds
from toolablate.experiments.construction.duplicates import Deduplicate, Distinct
from toolablate.experiments.construction.languages import told_language
from toolablate.experiments.construction.pipeline import Pipeline, is_published, require_own_set
from toolablate.experiments.construction.prompts import prompts_of
from toolablate.experiments.construction.question_checks import (
    MOST_OPTIONS,
    MOST_POINTS,
    Check,
    faults_of,
    personal_faults,
)
from toolablate.experiments.construction.question_items import load_question_items
from toolablate.experiments.construction.question_stages import (
    CLARITY,
    Assess,
    Convert,
    Filter,
    QuestionKind,
    label_faults,
)
from toolablate.experiments.construction.reading import Read
from toolablate.experiments.construction.region_reading import ReadRegion
from toolablate.experiments.construction.review import Review, Reviewed
from toolablate.experiments.construction.sources.captures import load_capture_items, load_capture_plan
from toolablate.experiments.construction.sources.cut_regions import load_region_items
from toolablate.experiments.construction.sources.forum_plan import load_forums
from toolablate.experiments.construction.sources.proposals import ProposedForum
from toolablate.experiments.construction.stages import Content, Kept, Stage, going_on
from toolablate.experiments.construction.statement_stages import (
    STRATEGIES,
    CheckTwin,
    DropRepeats,
    Falsify,
    Specify,
    StandsAlone,
    cannot_stand_alone,
    load_statement_items,
    twin_faults,
)
from toolablate.experiments.construction.workbench import Workbench
from toolablate.experiments.plans.written import plan_content, plan_text
from toolablate.traces.errors import InputError
from toolablate.traces.new_files import require_own_folder


def load_items(pipeline: Pipeline) -> dict[str, Content]:
    """The pipeline's items by id. Raises InputError."""
    if pipeline.of_forums:
        return _proposals(Path(pipeline.items))
    if pipeline.reads:
        load = load_capture_items if pipeline.kind == "questions" else load_region_items
        return load(pipeline.items)
    return load_question_items(pipeline.items) if pipeline.kind == "questions" else load_statement_items(pipeline.items)


def _proposals(path: Path) -> dict[str, Content]:
    found = {each.proposal_id: each.proposal for each in forums_in(path) if each.proposer}
    if not found:
        raise InputError(
            f"{path}: no forum has a `proposer`, so that nobody is asked", hint="fetch at once", code="no_review"
        )
    return found


def forums_in(path: Path) -> Sequence[ProposedForum]:
    """Of a file for `build threads`, where each forum has a kind, or for `build capture`."""
    forums = plan_content(plan_text(path, "file"), path).get("forums")
    threads = isinstance(forums, list) and any("kind" in each for each in forums if isinstance(each, dict))
    return load_forums(path).forums if threads else load_capture_plan(path).forums


def rows_in(pipeline: Pipeline) -> int:
    """Of `items`; of equal rows each counts. A region has a row for each change, and is one."""
    if pipeline.reads and pipeline.kind == "statements":
        return len(load_items(pipeline))
    return sum(1 for _ in rows_of(pipeline.items))


def require(pipeline: Pipeline) -> dict[str, Content]:
    """What is read, and what is needed later, is looked for before anything is made or paid. Returns the items. Raises
    InputError."""
    items = load_items(pipeline)
    prompts_of(pipeline)
    told_language("")
    if pipeline.kind == "questions":
        Deduplicate(pipeline.duplicates, pipeline.asks).context({})
    elif pipeline.worlds.pages:
        book_worlds(pipeline.worlds.pages, {})
    audit_in(pipeline, {}, {})
    folder = Path(pipeline.output)
    require_own_folder(folder, is_published, "output")
    require_own_set(pipeline, _canary_of(Path(pipeline.workbench)))
    above = next(each for each in folder.resolve().parents if each.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"output: cannot write {folder}", hint="name another folder", code="unwritable")
    return items


def _canary_of(workbench: Path) -> str:
    """ "" of one that is not there, or of which nothing was published."""
    if not workbench.exists():
        return ""
    with Workbench(workbench, write=False) as bench:
        return bench.canary()


def reviewed(pipeline: Pipeline) -> Reviewed:
    if pipeline.kind == "statements":
        return _STATEMENTS
    return _reviewed_questions(pipeline.filter.domains)


@cache
def _reviewed_questions(domains: tuple[str, ...]) -> Reviewed:
    """One for all stages with these domains: it knows which mends have no faults."""
    return replace(
        _QUESTIONS,
        faults=lambda content: [*faults_of(content, content["asked"]), *label_faults(content, domains)],
        choices={**_QUESTIONS.choices, **({"domain": domains} if domains else {})},
    )


_QUESTIONS = Reviewed(
    "asked",
    ("title", "question", "answer", "explanation", "replies", "url", "forum", "licence", "maybe_names", "tiles"),
    lambda content: faults_of(content, content["asked"]),
    fields={"correct_answer": "right"},
    reasons=(
        "can be read in several ways",
        "the answer is wrong",
        "another answer is right too",
        "too easy",
        "not clear",
        "the source does not say so",
    ),
    choices={"kind": get_args(QuestionKind), "clarity": tuple(map(str, CLARITY))},
    most={"options": MOST_OPTIONS, "points": MOST_POINTS, "wrong_replies": 3},
    labels=("domain", "kind", "clarity", "wrong_replies"),
)


def _faults_of_twin(content: Content) -> list[str]:
    false = content["false"]
    faults = twin_faults(content["text"], false["text"])
    if not false["reason"].strip():
        faults.append("incorrect_reason: is blank")
    for key, text in (("transformed_content", false["text"]), ("incorrect_reason", false["reason"])):
        faults += personal_faults(key, text, content["text"])
    if false["strategy"] not in STRATEGIES:
        faults.append(f"strategy: one of {', '.join(STRATEGIES)}")
    return faults


def _faults_of_statement(content: Content) -> list[str]:
    if not content["text"].strip():
        return ["text: is blank"]
    return [f"text: {reason}: {said}" for reason, said in filter(None, [cannot_stand_alone(content["text"])])]


_PROOFREAD = Reviewed(
    "",
    ("text", "book", "page", "licence"),
    _faults_of_statement,
    reasons=("cut off", "parts of two statements", "signs or formulas are damaged", "no statement"),
    labels=("text",),
    names={"text": "Statement"},
    told="Proofreading: is each statement whole, and written as it should be? Whether it is true is not asked.",
)
_STATEMENTS = Reviewed(
    "false",
    ("text", "book", "page", "section", "licence", "tiles"),
    _faults_of_twin,
    fields={"transformed_content": "text", "incorrect_reason": "reason"},
    reasons=("it is true", "true or false by one's view", "anyone can tell", "not clear", "the correct one is wrong"),
    choices={"strategy": STRATEGIES},
)


_FORUMS = Reviewed(
    "",
    ("name", "address", "domain", "permission", "terms", "proposer", "samples"),
    lambda _: (),
    reasons=("no permission", "not of this domain", "not by people who know", "threads are too easy", "cannot be read"),
    by="proposer",
    told="Forums: is there permission, and do the sample threads have what a benchmark of this domain needs?",
)


def _ever_read(bench: Workbench) -> dict[str, Content]:
    """All statements that were ever read off regions, also by another model or off what was changed since."""
    read = (each for each in bench.steps(ReadRegion.name).values() if isinstance(each, Kept))
    return {part: content for each in read for part, content in going_on("", each.content)}


def stages_of(pipeline: Pipeline, bench: Workbench) -> tuple[Stage, ...]:
    """Raises InputError where a prompt of the pipeline's own cannot be used."""
    if pipeline.of_forums:
        return (Review(_FORUMS, pipeline.review.reviewers, bench.decisions),)
    asks, prompts = pipeline.asks, prompts_of(pipeline)
    if pipeline.kind == "statements":
        correct = partial(_ever_read, bench) if pipeline.reads else partial(load_statement_items, pipeline.items)
        return (
            *([ReadRegion(asks, Path(pipeline.items).parent, prompts["read_region"])] if pipeline.reads else []),
            StandsAlone(),
            Specify(asks, prompts["specify"]),
            *_proofreading(pipeline, bench),
            DropRepeats(),
            Falsify(asks, prompts["falsify"]),
            CheckTwin(correct),
            _review(pipeline, bench),
            CheckTwin(correct, "distinct"),
        )
    strict = pipeline.filter
    return (
        *([Read(asks, Path(pipeline.items).parent, prompts["read"])] if pipeline.reads else []),
        Assess(asks, prompts["assess"]),
        # Compared is what was found good: of two alike, the one that was not must not take the other with it.
        Filter(asks, prompts["filter"], strict.domains, strict.clarity, strict.difficulty),
        Deduplicate(pipeline.duplicates, asks, prompts["deduplicate"]),
        Convert(asks, prompts["convert_options"], prompts["convert_short_answer"], pipeline.seed),
        Check(),
        _review(pipeline, bench),
        Distinct(pipeline.duplicates, asks, prompts["deduplicate"]),
    )


def _proofreading(pipeline: Pipeline, bench: Workbench) -> list[Review]:
    """Of correct statements, before anything is paid for their twins."""
    people = pipeline.review.proofreaders
    return [Review(_PROOFREAD, people, bench.decisions, "proofread")] if people else []


def _review(pipeline: Pipeline, bench: Workbench) -> Review:
    return Review(reviewed(pipeline), pipeline.review.reviewers, bench.decisions)
