"""The funnel of a construction: what came to each stage, what became of it and why, what it cost."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolablate.experiments.construction.audit import Audit, audit_in, audit_told
from toolablate.experiments.construction.building import Built, LostRepeat, lost_repeats, paid_for
from toolablate.experiments.construction.kinds import rows_in
from toolablate.experiments.construction.pipeline import Pipeline
from toolablate.experiments.construction.question_checks import SetChecks, checks_of
from toolablate.experiments.construction.review import (
    STATISTICS,
    Agreement,
    Review,
    agreement,
    seen_of,
    still_kept,
    words_of,
)
from toolablate.experiments.construction.reviewers import ReviewerFigures, Reviewers, institutions_of, reviewer_figures
from toolablate.experiments.construction.sources.forum_reading import LeftOut
from toolablate.experiments.construction.sources.forum_threads import left_out_of
from toolablate.experiments.construction.stages import ID_DIGITS, REFUSED, UNREAD, Content, Dropped, Waiting
from toolablate.experiments.construction.style_guess import StyleGuess, groups_of, p_told, style_guess, style_told
from toolablate.experiments.construction.workbench import Decision, Paid, Workbench


@dataclass(frozen=True, slots=True)
class PaperFunnel:
    """What a paper says of its own construction: items in and out of the stages of which it says so, of the `first`
    stage whichever that is; `told` is all of it in words."""

    name: str
    first: str
    stages: Mapping[str, str]
    told: str


PAPERS = {
    "questions": PaperFunnel(
        "LPFQA",
        "> 2,000",
        {"review": "~ 1,000 → 430"},
        "LPFQA's paper: over 2,000 threads of over 50 forums; review about 1,000 candidates → 430 questions",
    ),
    "statements": PaperFunnel(
        "Encyclo-K",
        "",
        {"filter": "25,563 → 21,525", "falsify": "21,525 → 21,494"},
        "Encyclo-K's paper: filter 25,563 → 21,525 statements (3,269 with figures, 642 with references, 127 not clear);"
        " falsify 21,525 → 21,494",
    ),
}


@dataclass(frozen=True, slots=True)
class StageFigures:
    """Items: `came` = `kept` + `dropped` + `waiting` + `missing`, where `missing` are those whose model could not be
    asked; but of regions that are read `kept` counts the statements that were. `unread` counts what was wrong with the
    last reply of those that wait for one that can be used, the commonest first. Requests, US dollars (None where one is
    unknown) and seconds are those of these items' steps as they are now. `paper` is what the paper had in and out
    there, "" where it does not say.
    """

    stage: str
    came: int
    kept: int
    dropped: Mapping[str, int]
    waiting: Mapping[str, int]
    unread: Mapping[str, int]
    missing: int
    requests: int
    cost_usd: float | None
    seconds: float
    paper: str


@dataclass(frozen=True, slots=True)
class SourceFigures:
    """Of one forum or book, the items that came and those that are at the end."""

    came: int
    kept: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """`rows` are those of `items`, `repeated` how many of them are the same as an earlier one, and so no item of their
    own. `left_out` are threads that `build threads` could not read. `lost_repeats` are duplicates of what did not pass.
    `paid_before` is what was paid for steps that the
    pipeline no longer has, since it or its items changed. `sources` are forums or books, those with most items first;
    `domains` counts what is at the end; `checks` and `style` are over these; `audit` is None without one; `reviewers`
    have no names, and have decided in all reviews; `institutions` counts them by group; `proofreading` is the
    agreement on correct statements, None where nobody is asked. `paper` names the paper whose figures stand beside, and
    `paper_funnel` is its funnel in words."""

    rows: int
    repeated: int
    left_out: tuple[LeftOut, ...]
    stages: tuple[StageFigures, ...]
    lost_repeats: tuple[LostRepeat, ...]
    paid_before: Paid
    sources: Mapping[str, SourceFigures]
    domains: Mapping[str, int]
    checks: SetChecks
    style: StyleGuess
    audit: Audit | None
    agreement: Agreement
    proofreading: Agreement | None
    reviewers: tuple[ReviewerFigures, ...]
    institutions: Mapping[str, int]
    paper: str
    paper_funnel: str


def funnel_of(pipeline: Pipeline, built: Built, bench: Workbench) -> Funnel:
    paid, before = bench.paid(), Paid()
    paper, stages = PAPERS[pipeline.kind], list[StageFigures]()
    for found in built.stages:
        spent = Paid()
        for item, step in found.steps.items():
            if (all_of_it := paid.pop(step.asked, None)) is None:
                continue
            if all_of_it.requests > 1 or item not in found.outcomes:
                now, earlier = paid_for(step, bench.timed_calls(step.asked))
                spent += now
                before += earlier
            else:
                # What has an outcome was asked for in the words of now.
                spent += all_of_it
        outcomes = found.outcomes.values()
        stages.append(
            StageFigures(
                stage=found.stage.name,
                came=len(found.steps),
                kept=len(found.kept),
                dropped=_counted(each.reason for each in outcomes if isinstance(each, Dropped)),
                waiting=_counted(each.reason for each in outcomes if isinstance(each, Waiting)),
                unread=_faults(each.note for each in found.waiting.values() if each.reason == UNREAD),
                missing=len(found.lacking),
                requests=spent.requests,
                cost_usd=spent.cost_usd,
                seconds=spent.seconds,
                paper=paper.stages.get(found.stage.name, "" if stages else paper.first),
            )
        )
    contents = (built.published or {}).values()
    known = Reviewers(Path(pipeline.workbench)).known()
    takes_apart = pipeline.reads and pipeline.kind == "statements"
    rows = rows_in(pipeline)
    decisions = bench.decisions()
    agreed: dict[str, Agreement] = {}
    words: dict[str, list[Decision]] = {}
    for found in built.reviews:
        if isinstance(found.stage, Review):
            seen = seen_of(found.contents)
            kept = still_kept(decisions, found.contents, seen, found.stage.reviewed)
            agreed[found.stage.name] = agreement(kept, seen, found.stage.reviewers)
            words |= {f"{found.stage.name} {item}": said for item, said in words_of(kept, seen).items()}
    return Funnel(
        rows=rows,
        repeated=rows - len(built.stages[0].steps),
        left_out=tuple(left_out_of(Path(pipeline.items))),
        stages=tuple(stages),
        lost_repeats=tuple(lost_repeats(built.stages)),
        paid_before=sum(paid.values(), before),
        # A region may hold several statements, and they are what is counted at the end.
        sources=_sources(built.stages[takes_apart].contents.values(), contents),
        domains=_counted(each["domain" if pipeline.kind == "questions" else "discipline"] for each in contents),
        checks=checks_of(each["asked"] for each in contents if "asked" in each),
        style=style_guess(groups_of(contents)),
        audit=audit_in(pipeline, built.published or {}, bench.texts(built.stages[-1].stage.name)),
        paper=paper.name,
        paper_funnel=paper.told,
        agreement=agreed[built.review.stage.name],
        proofreading=agreed.get("proofread"),
        reviewers=tuple(reviewer_figures(words, known)),
        institutions=institutions_of(words, known),
    )


def _counted(reasons: Iterable[str]) -> dict[str, int]:
    return dict(Counter(reasons).most_common())


def _sources(came: Iterable[Content], kept: Iterable[Content]) -> dict[str, SourceFigures]:
    out = Counter(map(source_of, kept))
    return {name: SourceFigures(count, out[name]) for name, count in Counter(map(source_of, came)).most_common()}


def source_of(content: Content) -> str:
    """The forum or book that an item is of."""
    return content.get("forum") or content.get("book") or "unnamed"


def _faults(faults: Iterable[str]) -> dict[str, int]:
    """Those that differ in numbers or quoted texts are one: under the first of them, without texts that differ."""
    kinds: dict[str, list[str]] = {}
    for each in faults:
        kinds.setdefault(_NUMBER.sub("", _QUOTED.sub(_SOME, each)), []).append(each)
    told = {found[0] if len(set(found)) == 1 else _QUOTED.sub(_SOME, found[0]): len(found) for found in kinds.values()}
    return dict(Counter(told).most_common())


_NUMBER = re.compile(r"\d+")
# No apostrophe is a quote's end or beginning: "a person's address". Several texts are one.
_TEXT = r"(?:(?<!\w)'(?:[^'\\]|\\.)*'|(?<!\w)\"(?:[^\"\\]|\\.)*\")"
_QUOTED = re.compile(rf"{_TEXT}(?:, {_TEXT})*(?: and \d+ more)?")
_SOME = "'…'"


def funnel_json(funnel: Funnel) -> dict[str, Any]:
    """The fields of the records; what is unknown is null."""
    return asdict(funnel)


def funnel_lines(funnel: Funnel) -> Iterator[str]:
    """What the table does not show, as sentences."""
    from toolablate.reports.numbers import counted, dollars

    if funnel.repeated:
        yield rows_told(funnel)
    yield from _left_out_told(funnel.left_out)
    yield from _lost_told(funnel.lost_repeats)
    if funnel.paid_before.requests:
        cost = funnel.paid_before.cost_usd
        told = "cost unknown" if cost is None else dollars(cost)
        yield f"Paid before, for steps that changed since: {counted(funnel.paid_before.requests, 'request')}, {told}"
    yield from _unread_told(funnel.stages)
    shown = list(funnel.sources.items())[:SOURCES_SHOWN]
    others = f" and {len(funnel.sources) - len(shown)} others" if len(funnel.sources) > len(shown) else ""
    yield f"Sources: {', '.join(f'{name} {each.kept} of {each.came}' for name, each in shown)}{others}"
    if funnel.domains:
        yield "Domains: " + ", ".join(f"{name} {count}" for name, count in funnel.domains.items())
    checks = funnel.checks
    if checks.questions:
        letters = ", ".join(f"{letter} {count}" for letter, count in checks.letters.items())
        yield f"Right options: {letters}{p_told(checks.letters_p, 'uneven')}"
        yield (
            f"Right option the longest: {checks.longest} of {checks.longest_of} with a single longest one,"
            f" by chance {checks.longest_expected:.1f}{p_told(checks.longest_p, 'not by chance')}"
        )
    if told := style_told(funnel.style, "questions" if checks.questions else "statements"):
        yield told
    if funnel.audit is not None:
        yield from audit_told(funnel.audit)
    if funnel.proofreading is not None:
        yield from agreement_told(funnel.proofreading, "Proofreading")
    yield from agreement_told(funnel.agreement)
    yield f"Beside it, {funnel.paper_funnel}."


def rows_told(funnel: Funnel) -> str:
    from toolablate.reports.numbers import counted

    return f"Rows of `items`: {funnel.rows}, less {counted(funnel.repeated, 'row')} the same as an earlier one"


def _left_out_told(left_out: Sequence[LeftOut]) -> Iterator[str]:
    from toolablate.reports.numbers import counted
    from toolablate.traces.terminal_text import one_line

    if left_out:
        told = "; ".join(one_line(each.reason, max_chars=300) for each in left_out[:FAULTS_SHOWN])
        more = f"; others ({len(left_out) - FAULTS_SHOWN})" if len(left_out) > FAULTS_SHOWN else ""
        yield f"Left out by `build threads`: {counted(len(left_out), 'thread')}: {told}{more}"


def _lost_told(lost: Sequence[LostRepeat]) -> Iterator[str]:
    from toolablate.reports.numbers import counted

    if lost:
        told = "; ".join(
            f"{each.item[:ID_DIGITS]} repeats {each.repeats[:ID_DIGITS]}"
            f" ({each.stage} {'waits' if each.waits else 'dropped'}: {each.reason})"
            for each in lost[:LOST_SHOWN]
        )
        more = f"; others ({len(lost) - LOST_SHOWN})" if len(lost) > LOST_SHOWN else ""
        yield (
            f"Duplicates of what did not pass: {counted(len(lost), 'item')}: {told}{more}."
            " Where the row of what was dropped is taken out of `items`, a build goes on with its duplicate"
        )


SOURCES_SHOWN = 20
LOST_SHOWN = 10
FAULTS_SHOWN = 3


def _unread_told(stages: Sequence[StageFigures]) -> Iterator[str]:
    from toolablate.reports.numbers import counted
    from toolablate.traces.terminal_text import one_line

    found = [each for each in stages if each.unread]
    for each in found:
        shown = list(each.unread.items())[:FAULTS_SHOWN]
        told = [f"{one_line(fault, max_chars=200)} ({count})" for fault, count in shown]
        others = sum(each.unread.values()) - sum(count for _, count in shown)
        more = f"; others ({others})" if others else ""
        yield f"{each.stage}, {UNREAD}, the last fault: {'; '.join(told)}{more}"
    if found:
        items = counted(sum(sum(each.unread.values()) for each in found), "item")
        yield (
            f"`build PIPELINE --again` asks anew for {items} with {UNREAD}, once the model or its endpoint is mended;"
            " a larger `asks` goes on from the last fault"
        )
    if refused := sum(each.waiting.get(REFUSED, 0) for each in stages):
        yield (
            f"`build PIPELINE --again` asks anew for {counted(refused, 'item')} with {REFUSED};"
            " `build status --list` has the endpoint's words"
        )


def agreement_told(said: Agreement, what: str = "Review") -> Iterator[str]:
    from toolablate.reports.numbers import counted

    if said.items:
        value = "undefined" if said.beyond_chance is None else f"{said.beyond_chance:.2f}"
        interval = f" ({said.ci95[0]:.2f} to {said.ci95[1]:.2f})" if said.ci95 else ""
        yield (
            f"{what}: {said.people} people on {counted(said.items, 'item')}, the same verdict on"
            f" {said.same_verdict:.0%}, {STATISTICS[said.statistic]} {value}{interval}"
        )
    if said.median_seconds is not None:
        yield f"{what}: median {said.median_seconds:.0f} s per item and person"
