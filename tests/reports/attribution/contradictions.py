"""What the printed page of a trial says that its own table, probabilities or command line contradict."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from tests.reports.attribution.samples import page

from toolablate.analysis.attribution.belief import EarlyAnswers
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.levels import (
    AGAIN,
    BEFORE_CALLS,
    LAST_REPLY,
    OFFERED,
    OUTSET,
    REPEATED,
    SCAFFOLD,
    WITHOUT_TOOLS,
)
from toolablate.analysis.attribution.replay_rules import levels_without, taken_together
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, sign_of
from toolablate.analysis.statistics.intervals import wilson_interval
from toolablate.cli import group
from toolablate.experiments.attribution.explained import explained
from toolablate.reports.causes import deciding_rows, named, ranked
from toolablate.reports.changed_runs import REDRAWN, Row, levels_of, row_of, rows
from toolablate.reports.terminal.explanation import MOST_LINES, explanation_view, steps_table
from toolablate.reports.turn import AT_CALLS, turn_of
from toolablate.traces.records import Attribution, Mechanism
from toolablate.traces.store import Store

_OWN = "the model's own error"
_COUNT = re.compile(r"\b(\d+) of (\d+)\b")


PARTS = ("What went wrong", "In short", "How this is known", "What speaks against it", "What is not known")


def sections(shown: str) -> dict[str, str]:
    """What a printed page has below each title, on one line."""
    found: dict[str, str] = {}
    title = ""
    for line in shown.splitlines():
        if line and not line.startswith(" "):
            title = line.strip()
        else:
            found[title] = f"{found.get(title, '')} {line.strip()}".strip()
    return found


def contradictions(told: Explanation) -> list[str]:
    shown = page(explanation_view(told))
    return [*_of_sentences(told, sections(shown)), *(said for each in _commands(shown) for said in _of_a_command(each))]


def _of_sentences(told: Explanation, text: dict[str, str]) -> Iterator[str]:
    attribution = told.explained.attribution
    whole = " ".join(text.get(part, "") for part in PARTS)
    yield from _of_early_answers(told, whole)
    yield from _of_counts(whole, told, text)
    yield from _of_sums(told, whole)
    yield from _of_intervals(text.get("How this is known", ""))
    yield from _of_few_runs(whole)
    yield from _of_the_same_answer(told, whole)
    yield from _of_places(told, whole)
    yield from _of_advice(told, f"{whole} {text.get('Runs to compare with', '')}")
    yield from _of_the_turn(told, f"{whole} {text['Where the answers turn']}")
    if re.search(r"\d points", f"{whole} {text.get('Runs to compare with', '')}"):
        yield f"points, which no counts of the page give: {whole}"
    if attribution is None:
        yield from (f"a cause of what is not wrong: {whole}" for word in ("because of", "probability") if word in whole)
        return
    shares: dict[Mechanism, float] = dict(attribution.shares) or {attribution.mechanism: attribution.confidence}
    headline = text["What went wrong"]
    together = sum(shares.get(each, 0.0) for each in BY_CHANCE)
    if attribution.mechanism in BY_CHANCE and shares.get(attribution.mechanism, 0.0) < max(shares.values()) <= together:
        # One hypothesis under two names, which outweighs the most probable cause.
        shares = {**shares, attribution.mechanism: together}
    yield from _of_the_headline(headline, shares)
    yield from _of_two_probabilities(whole)
    yield from _of_low_rows(told, headline, whole)
    yield from _of_other_trials_wrong(headline, told, whole)
    yield from _of_alone(attribution, told, headline)
    yield from _of_rows_with_it(told, whole)
    yield from _of_an_earlier_turn(told, headline, whole)
    known = "The cause is not known" not in headline
    if attribution.method != "replay" and ("because of" in headline or (known and "hypothesis" not in headline)):
        yield f"certain of what no replay has tested: {headline}"
    if (attribution.method == "replay") != ("Measured by replays" in headline):
        yield f"measured, or not: {whole}"
    by_chance = re.match(
        r"(Almost certainly|Very likely|Probably|More likely than not) (chance|the model's own error)", headline
    )
    if by_chance and "No single kind of run decides it" not in text["How this is known"]:
        yield from _of_chance(headline, text["How this is known"])
    if attribution.method != "replay":
        yield from _of_silence(attribution.mechanism, told, whole)
    if "because of" in headline:
        yield from _of_restoring(text["How this is known"])
    yield from _of_late_signs(told, text.get("How this is known", ""))


def _of_the_headline(headline: str, shares: dict[Mechanism, float]) -> Iterator[str]:
    """The most probable cause, with its probability, and a word that this bears."""
    most = max(shares.values())
    first = headline.split(", then ")[0]
    if not any(_is_named(each, first) for each, share in shares.items() if share == most):
        yield f"not the most probable cause, of {shares}: {headline}"
    for word, least in (("almost certainly", 0.95), ("very likely", 0.8), ("probably", 0.6), ("because of", 0.5)):
        if word in headline.lower() and most < least:
            yield f"{word!r} at {most}: {headline}"
    named_so = re.match(r"Almost|Very|Probably|More", headline) is not None
    if (most >= 0.5) != named_so and " together. " not in headline and "not known" not in headline:
        yield f"a word for how sure, or none, at {most}: {headline}"
    if most >= 0.5 and "No cause is more likely than not" in headline:
        yield f"none is likely at {most}"
    told = re.search(r"probability[^.]*?: ?(?:over |under )?(\d?\.\d+)|probability (?:over |under )?(\d?\.\d+)", first)
    if most < 0.5 and re.search(r"probability \.50", first):
        yield f"one half, and none is more likely than not: {headline}"
    if told is None or abs(float(told[1] or told[2]) - most) > 0.0101:
        yield f"another probability than {most}: {headline}"


def _is_named(cause: Mechanism, first: str) -> bool:
    if cause == "unknown":
        return "not known" in first
    return f"({mechanism_name(cause)})" in first or (cause == "own_error" and _OWN in first)


def _of_early_answers(told: Explanation, whole: str) -> Iterator[str]:
    """Wrong or right before any tool, as the counts beside it are."""
    at_first = [each for each in _beliefs(told) if each.step == 0]
    others = told.explained.evidence.outset
    asked = [each.samples + len(others) for each in at_first]
    right = [round(each.right.mean * each.samples) + round(sum(others)) for each in at_first]
    said = re.findall(r"([Mm]ostly )?([Ww]rong|[Rr]ight) before any tool: (\d+) of (\d+)", whole)
    expected = [(some, of) for some, of in zip(right, asked, strict=True) if 2 * some != of]
    if len(said) != len(expected):
        yield f"wrong or right before any tool, or not: {expected}: {whole}"
    for (mostly, word, *counts), found in zip(said, expected, strict=False):
        share = found[0] / found[1]
        if tuple(map(int, counts)) != found:
            yield f"other early answers than {found}: {whole}"
        if (word.lower() == "wrong") != (share < 0.5) or bool(mostly) != (0 < share < 1):
            yield f"{mostly}{word} before any tool at {found}"


def _beliefs(told: Explanation) -> tuple[EarlyAnswers, ...]:
    trajectory = told.explained.evidence.trajectory
    return trajectory.beliefs if trajectory else ()


_ROW = re.compile(r"\(((?:with|from|asked|told|as it|in its|without)[^();]*)\), (\d+) of (\d+)")
_TURN = re.compile(
    r"worse most likely (?:at event|in events) (\d+)[^:]*: before it (\d+) of (\d+) are right, after it (\d+) of (\d+)"
)


def _of_counts(whole: str, told: Explanation, text: dict[str, str]) -> Iterator[str]:
    """Counts of sentences are those of the table: of the row that is named beside them, where one is; but for those of
    a turn, which are sums of steps."""
    table = {changed: (right, runs) for group in rows(told.explained.evidence) for right, runs, changed in _told(group)}
    for changed, *count in _ROW.findall(whole):
        if table.get(changed) != tuple(count):
            yield f"{changed}: {count}, and the table has {table.get(changed)}: {whole}"
    known = {*table.values(), *_COUNT.findall(text.get("Runs to compare with", ""))}
    steps = [(str(round(each.right.mean * each.samples)), str(each.samples)) for each in _beliefs(told)]
    for sums in _TURN.findall(whole):
        steps += [(sums[1], sums[2]), (sums[3], sums[4])]
    steps += re.findall(r"(\d+) of (\d+) early answers after it", whole)
    steps += _SUMS_TOLD.findall(whole)
    steps += [both[2:] for both in _SUMS.findall(whole)] + [both[:2] for both in _SUMS.findall(whole)]
    for count in _COUNT.findall(re.sub(r"\d+ of 100 random draws", "", whole)):
        if count not in known | set(steps):
            yield f"{count} is not in the table: {sorted(known)}: {whole}"


_SUMS_TOLD = re.compile(r"With nothing taken away, (\d+) of (\d+) answers")
_SUMS = re.compile(r"all runs with it (\d+) of (\d+) are right, of all without it (\d+) of (\d+)")


def _of_sums(told: Explanation, whole: str) -> Iterator[str]:
    """What runs come to together: all of them, with and without the cause, or those in which nothing is taken away."""
    levels = levels_of(told.explained.evidence)
    again = [row for row in levels if row.changed in (AGAIN, LAST_REPLY, REDRAWN, REPEATED)]
    found = [(count, again) for count in _SUMS_TOLD.findall(whole)]
    found += [((right, runs), levels) for runs, right in re.findall(r"together: of all (\d+), (\d+) are right", whole)]
    found += [((int(a) + int(c), int(b) + int(d)), levels) for a, b, c, d in _SUMS.findall(whole)]
    for count, of in found:
        if tuple(map(int, count)) != (sum(row.right for row in of), sum(row.runs for row in of)):
            yield f"together {count} of {of}: {whole}"


def _told(group: tuple[str, tuple[Row, ...]]) -> Iterator[tuple[str, str, str]]:
    yield from ((f"{row.right:g}", f"{row.runs:g}", row.changed) for row in group[1] if not row.graded)


_SPREAD = re.compile(r"(\d?\.\d+) to (\d?\.\d+)")


def _of_intervals(known: str) -> Iterator[str]:
    """The 95 % intervals are those of the counts before them, and overlap where they say so; nothing is decided by runs
    whose intervals overlap."""
    said = re.search(r"95 % intervals?[,:] .*?[a-z\d](?=\. [A-Z]|\.?$)", known)
    if said is None:
        return
    ends = [(float(low), float(high)) for low, high in _SPREAD.findall(said[0])]
    of = [wilson_interval(int(right) / int(runs), int(runs), confidence=0.95) for right, runs in _COUNT.findall(known)]
    for low, high in ends:
        if not any(max(abs(each[0] - low), abs(each[1] - high)) <= 0.0051 for each in of):
            yield f"an interval of no count, {low} to {high}: {known}"
    if "overlap" in said[0] and ("do not overlap" in said[0]) != (ends[0][0] > ends[1][1]):
        yield f"intervals that overlap, or not: {known}"
    if re.search(r"[Tt]hey decide it|support it most", known):
        yield f"decided by runs: {known}"


def _of_few_runs(whole: str) -> Iterator[str]:
    """Said once, of the runs just counted, where some are few; and then the page has what would tell more."""
    said = re.findall(r"Few runs: (\d+)(?: and \d+)*(?: without it, (\d+) with it)?\.", whole)
    if len(said) > 1 or (said and said[0][1] and min(map(int, said[0])) >= 8):
        yield f"few runs, {said}: {whole}"
    before = _COUNT.findall(whole.partition("Few runs:")[0])
    if said and said[0][1] and [runs for _, runs in before[-2:]] != list(said[0]):
        yield f"few runs of others than {before[-2:]}: {whole}"
    if said and not re.search(
        r"few tell it roughly|recordings|cannot be asked|not been run again|in the last sample", whole
    ):
        yield f"few runs, and nothing that would tell more: {whole}"


def _of_the_same_answer(told: Explanation, whole: str) -> Iterator[str]:
    """Whether a trial without tools is wrong in the same way."""
    own = told.explained.evidence.score.extracted
    others = [each.score for each in told.explained.evidence.no_tools]
    same = any(own and each.extracted == own and each.value is not None and each.value < 0.5 for each in others)
    if same != ("the same wrong answer" in whole):
        yield f"the same wrong answer without tools, or not: {own}: {whole}"


def _of_places(told: Explanation, whole: str) -> Iterator[str]:
    """Events to look at have a line on the page; none is named where early answers show no place."""
    shown = [int(number) for number in re.findall(r"^ {1,6}(\d+) (?! )", page(steps_table(told, 78)), re.MULTILINE)]
    if len(shown) > MOST_LINES - 8:
        return
    for events in re.findall(r"Look at events? ([\d, ]+)", whole):
        away = [event for event in re.findall(r"\d+", events) if int(event) not in shown]
        if away or "early answers show no place" in whole:
            yield f"a place to look at that the page has not: {events} of {shown}: {whole}"


def _of_advice(told: Explanation, whole: str) -> Iterator[str]:
    """No line takes back what another advises, and a trial is no other trial."""
    if told.provider == "scripted" and "toolablate run" in whole:
        yield f"run a script again, whose replies never change: {whole}"
    if re.search(r"do not bear it out(?!\. Without it)", whole):
        yield f"not borne out, without the runs that say so: {whole}"
    if re.search(r"Nothing (was found|speaks) against", whole):
        yield f"nothing against it, beside all other causes: {whole}"
    if not told.explained.evidence.repeats and REPEATED in whole:
        yield f"a trial alone supports itself: {whole}"


def _of_other_trials_wrong(headline: str, told: Explanation, whole: str) -> Iterator[str]:
    """Chance alone brings the right answer back at times: where no repeat is right, the page says so."""
    row = next((row for group in rows(told.explained.evidence) for row in group[1] if row.changed == REPEATED), None)
    if "chance (sampling noise): probability" in headline and row and not row.right and row.sentence not in whole:
        yield f"chance, and silent on {row}: {whole}"


def _of_low_rows(told: Explanation, headline: str, whole: str) -> Iterator[str]:
    """Runs without the cause of which none is right are named, be they three kinds or fewer."""
    if "because of" not in headline:
        return
    cause = ranked(told.explained.attribution)[0][0] if told.explained.attribution else "unknown"
    lacking = {row_of(level, told.explained.evidence) for level in levels_without(cause, told.explained.evidence)}
    low = {row.changed for row in lacking if not row.right and BEFORE_CALLS not in row.changed}
    if any(changed not in whole for changed in low) and " more kind" not in whole:
        yield f"silent on runs without it that are never right, {low}: {whole}"


def _of_two_probabilities(whole: str) -> Iterator[str]:
    """Of one cause there is one, or it is said what the other was before."""
    found: dict[str, set[str]] = {}
    for sentence in re.split(r"(?<=[a-z\d])\. (?=[A-Z])", whole):
        if "the replays leave it" in sentence or "A judge points" in sentence:
            continue
        for name, probability in re.findall(
            r"\(([a-z -]+)\): probability (?:over |under )?(\d?\.\d+)(?! together)", sentence
        ):
            found.setdefault(name, set()).add(probability)
    yield from (f"two probabilities of {name}: {each}: {whole}" for name, each in found.items() if len(each) > 1)


def _of_alone(attribution: Attribution, told: Explanation, headline: str) -> Iterator[str]:
    """No cause is named alone where no run tells it from what is there before any call."""
    cause = next((each for each in _BEFORE_CALLS if f"({mechanism_name(each)})" in headline.partition(":")[0]), None)
    if cause is None or "No cause is more likely" in headline:
        return
    for other in taken_together(cause, told.explained.evidence):
        if other in _BEFORE_CALLS and f"({mechanism_name(other)})" not in headline:
            yield f"{cause} alone, and no run tells it from {other}: {headline}"


_BEFORE_CALLS: tuple[Mechanism, ...] = ("availability", "prompt")


_WITH_IT = re.compile(r"with it \(((?:[^();]|\([^)]*\))*)\)")
_NAMED = re.compile(r"(?:It may instead be|Other trials fit|has a sign of) (.*?\))")


def _of_rows_with_it(told: Explanation, whole: str) -> Iterator[str]:
    """Runs "with" a cause still have it: nothing of what lacks a call has what calls do, and so on. No such runs are
    right more often."""
    order = {changed: place for place, changed in enumerate(_LACKING)}
    of = {named(each): place for each, place in _FIRST_WITHOUT.items()}
    for found in _WITH_IT.finditer(whole):
        changed, before = found[1], whole[: found.start()]
        # Of the cause of the headline, or of the one that was named last.
        what = _NAMED.findall(before)[-1:] if before.rfind("Without it (") > before.rfind("Without this cause") else []
        cause = of.get(what[0]) if what else of.get(_first_cause(told))
        start = next((order[each] for each in order if changed.startswith(each)), None)
        if cause is not None and start is not None and start >= cause:
            yield f"runs with it that lack it: {changed}: {whole}"


_LACKING = (BEFORE_CALLS, OUTSET, OFFERED, SCAFFOLD, WITHOUT_TOOLS)
"""What runs lack that are named so: the calls, and from the scaffold on the tools, and then the prompt."""
_FIRST_WITHOUT: dict[Mechanism, int] = {
    **dict.fromkeys(("retrieval_distraction", "lock_in", "other_results", "volume", "calling", "tool_fault"), 0),
    "availability": 3,
    "prompt": 4,
}


def _first_cause(told: Explanation) -> str:
    attribution = told.explained.attribution
    return "" if attribution is None else named(ranked(attribution)[0][0])


def _of_an_earlier_turn(told: Explanation, headline: str, whole: str) -> Iterator[str]:
    """Where early answers surely get worse, a page that blames no call says so."""
    turn, attribution = turn_of(told.explained.evidence), told.explained.attribution
    if turn is None or not turn.sure or attribution is None or "not known" in headline:
        return
    if "(tool fault)" in headline.partition(":")[0] and attribution.evidence:
        at = any(turn.start <= event < turn.end for event in attribution.evidence)
        if at == ("not where the tool failed" in whole):
            yield f"a tool that failed, and early answers that get worse {turn.where}: {whole}"
    there = [call for call in told.explained.evidence.signals.calls if turn.start <= call.event < turn.end]
    of_results = re.search(r"\((retrieval distraction|computational lock-in)\)", headline.partition(":")[0])
    if of_results and there and not any(call.gave for call in there) and "the call gave nothing" not in whole:
        yield f"results that did it, where there were none: {whole}"
    if ranked(attribution)[0][0] in AT_CALLS or turn.start >= min(attribution.evidence, default=turn.start + 1):
        return
    if "worse most likely" not in whole:
        yield f"silent on early answers that get worse {turn.where}: {whole}"


def _of_the_turn(told: Explanation, text: str) -> Iterator[str]:
    """Its counts are sums of the steps before and after it, and the page says what it is inferred from."""
    evidence = told.explained.evidence
    for event, *counts in _TURN.findall(text):
        sums = [[0, 0], [0, 0]]
        for each in _beliefs(told):
            of = sums[evidence.steps[each.step] > int(event)]
            of[0], of[1] = of[0] + round(each.right.mean * each.samples), of[1] + each.samples
        if [*map(int, counts)] != [*sums[0], *sums[1]]:
            yield f"a turn at {event} by {sums}: {text}"
        if "inferred from" not in text:
            yield f"a turn that nobody says is inferred: {text}"


def _of_silence(cause: Mechanism, told: Explanation, whole: str) -> Iterator[str]:
    """Where all other trials with another cause are wrong, and all without it right, the page names it."""
    evidence = told.explained.evidence
    others: tuple[Mechanism, ...] = ("calling", "availability", "prompt")
    for other in others:
        undone, before = deciding_rows(other, evidence) or (None, None)
        elsewhere = other not in (cause, *taken_together(cause, evidence))
        elsewhere = elsewhere and (before is None or before.changed != REPEATED)
        if elsewhere and undone and before and undone.share == 1 and not before.share and named(other) not in whole:
            yield f"silent on {other}: {undone}, {before}"


def _of_chance(headline: str, known: str) -> Iterator[str]:
    """Own error: something is mostly wrong whatever is taken away. Chance: something is right with nothing taken away,
    or without tools."""
    if "own error" in headline.partition(":")[0]:
        pairs = re.findall(r"(?:Mostly wrong|Wrong) (?!before)[^.]*?(\d+) of (\d+) answers are right", known)
        if not any(2 * int(right) < int(runs) for right, runs in pairs):
            yield f"an error of the model's own that no row shows: {known}"
    elif not any(int(right) for right, _ in _COUNT.findall(known)) and "mean score" not in known:
        yield f"chance, where nothing is right: {known}"


def _of_late_signs(told: Explanation, known: str) -> Iterator[str]:
    """No sign supports a cause at a call if it lies after the place where early answers got worse."""
    evidence, place = (
        told.explained.evidence,
        re.search(r"worse most likely (?:at event|in events (?:\d+) to) (\d+)", known),
    )
    sign = sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)
    if place and sign and "The trace has a sign of it:" in known and min(sign[1], default=-1) > int(place[1]):
        yield f"a sign after the turn supports it: {sign}: {known}"


def _of_restoring(known: str) -> Iterator[str]:
    """The runs without the cause are right more often than those with it."""
    if "with it, this trial is wrong" in known or "Without one kind of results" in known:
        return
    found = re.search(
        r"Without this cause(?: and all else that tools bring)? \([^;]*?\), (\d+) of (\d+) answers are right; at best with it \([^;]*?\), (\d+) of (\d+)\.",
        known,
    )
    if found is None:
        yield f"nothing decides it: {known}"
        return
    undone, before = int(found[1]) / int(found[2]), int(found[3]) / int(found[4])
    if undone <= before:
        yield f"it restores nothing: {known}"


def _commands(shown: str) -> Iterator[list[str]]:
    """As a shell takes them from the page: a line that ends in a backslash goes on."""
    for line in shown.replace("\\\n", " ").splitlines():
        words = shlex.split(line) if line.strip().startswith("toolablate ") else []
        if words:
            yield words[1:]


def _of_a_command(arguments: list[str]) -> Iterator[str]:
    """Parsed as the command line parses it, and not run."""
    command: Any = group
    try:
        context = click.Context(group)
        while isinstance(command, click.Group):
            name, command, arguments = command.resolve_command(context, arguments)
            context = click.Context(command, parent=context, info_name=name)
        command.make_context(context.info_name, list(arguments), parent=context.parent, resilient_parsing=False)
    except click.ClickException as error:
        yield f"{arguments}: {error.format_message()}"


def contradictions_of(store: Path) -> dict[str, list[str]]:
    """Of every trial of a store that can be explained, by trial; those without any among them."""
    gathered = explained(store)
    found: dict[str, list[str]] = {}
    with Store(store) as opened:
        for each in gathered.explained:
            trial = each.evidence.inputs.trial
            trace = opened.trace(trial)
            found[trial] = contradictions(
                Explanation(
                    explained=each,
                    question=opened.question(trace.trial.question),
                    conversation=trace.events,
                    outcome=trace.outcome,
                    repeat=trace.trial.repeat,
                    store=str(store),
                    provider=opened.model(trace.trial.model).provider,
                    design=gathered.design,
                )
            )
    return found
