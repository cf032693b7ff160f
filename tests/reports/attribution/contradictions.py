"""What the printed page of a trial says that its own table, probabilities or command line contradict."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from tests.reports.attribution.samples import page

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.statistics.intervals import wilson_interval
from toolablate.cli import group
from toolablate.experiments.attribution.explained import explained
from toolablate.reports.causes import CAUSES, WORDS, ranked
from toolablate.reports.changed_runs import OWNERS, levels_of
from toolablate.reports.terminal.explanation import MOST_LINES, STEPS, explanation_view, runs_table, step_lines
from toolablate.reports.turn import asked_at, turn_of
from toolablate.traces.records import Attribution
from toolablate.traces.store import Store

PARTS = ("Verdict", "How we know", "What speaks against it", "What would tell")
_COUNT = re.compile(r"\b(\d+) of (\d+)\b")
_RIGHT = re.compile(r"\b(\d+) of (\d+) right\b")
_PROBABILITY = re.compile(r"(?<![\d.])(1\.0|\.\d\d)(?=[.,]? |[.,]?$)")


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
    text, table = sections(shown), page(runs_table(told, 300), 300)
    return [*_of_sentences(told, text, table), *_of_commands(shown)]


def _of_sentences(told: Explanation, text: dict[str, str], table: str) -> Iterator[str]:
    attribution, whole = told.explained.attribution, " ".join(text.get(part, "") for part in PARTS)
    yield from _of_events(told, whole, table)
    if attribution is None:
        yield from (f"a cause of what is not wrong: {whole}" for word in ("Probability", "It may be") if word in whole)
        return
    yield from _of_the_verdict(attribution, text["Verdict"])
    yield from _of_probabilities(text)
    yield from _of_counts(told, whole, _rows_of(table))
    yield from _of_sums(whole, _rows_of(table))
    yield from _of_intervals(text["How we know"])
    yield from _of_replays(told, attribution, text["Verdict"], _rows_of(table))
    yield from _of_early_answers(told, text["Verdict"])
    yield from _of_rivals(attribution, text["What speaks against it"])
    yield from _of_definitions(whole)


# Rows of the table, as they are printed.


Printed = tuple[str, str, int, int, str]
"""Under which title, what was changed, how many are right, of how many, and `there`, `gone`, `-` or nothing."""


def _rows_of(table: str) -> list[Printed]:
    found: list[Printed] = []
    title = STEPS
    for line in table.splitlines():
        titled = next((each for each in OWNERS.values() if line.strip() == each), None)
        title = titled or title
        row = re.match(r" *(?:\d+ )?(\S.*?) +(\d+) of (\d+)(?: +.*?)??(?: +(there|gone|counts|-))? *$", line)
        if row and not titled and "↓" not in line:
            found.append((title, row[1].partition(" (not counted")[0], int(row[2]), int(row[3]), row[4] or ""))
    return found


def _of_counts(told: Explanation, whole: str, rows: list[Printed]) -> Iterator[str]:
    """Counts of sentences are those of the table: of a row, or of the row here and in other repeats; or sums."""
    known = {(right, runs) for _, _, right, runs, _ in rows}
    evidence = told.explained.evidence
    known.add((int(evidence.at_outset[1]), evidence.at_outset[0]))
    known |= {(sum(right), len(right)) for right in ((evidence.inputs.score, *evidence.repeats),)}
    if "Over all rows that count" in whole:
        levels = levels_of(evidence)
        known.add((int(sum(row.right for row in levels)), int(sum(row.runs for row in levels))))
    turn = turn_of(evidence)
    known |= {(each.right, each.asked) for each in (turn.before, turn.after)} if turn else set()
    if _graded(told):
        return
    again = re.search(r"With nothing changed, (\d+) of (\d+) right", whole)
    for found in _RIGHT.findall(whole):
        pair = int(found[0]), int(found[1])
        if pair not in known and not (again and found == again.groups()) and not _is_sum(found, whole):
            yield f"{found} is not in the table, {sorted(known)}: {whole}"


_SUMS = re.compile(r"Over all rows (\d+) of (\d+) right with the cause gone, (\d+) of (\d+) right with it there")


def _is_sum(found: tuple[str, str], whole: str) -> bool:
    sums = _SUMS.search(whole)
    return sums is not None and found in (sums.groups()[:2], sums.groups()[2:])


def _of_sums(whole: str, rows: list[Printed]) -> Iterator[str]:
    """Of all rows that are marked so in the table."""
    sums = _SUMS.search(whole)
    if sums is None:
        return
    for side, told in (("gone", sums.groups()[:2]), ("there", sums.groups()[2:])):
        found = [sum(row[place] for row in rows if row[4] == side) for place in (2, 3)]
        if found != [*map(int, told)]:
            yield f"{side}: {told}, and the table has {found}: {rows}"


def _of_replays(told: Explanation, attribution: Attribution, verdict: str, rows: list[Printed]) -> Iterator[str]:
    """So many as the rows that count have; measured, or not."""
    mine = sum(row[3] for row in rows if row[4] in ("there", "gone", "counts"))
    said = re.search(r"the (\d+) answers below that count", verdict)
    if said and int(said[1]) != mine and len(list(step_lines(told))) <= MOST_LINES and not _graded(told):
        yield f"{said[0]}, and the table has {mine}: {rows}"
    measured = "measured by" in verdict or "weighed from" in verdict
    if measured != (attribution.method == "replay"):
        yield f"measured, or not: {verdict}"


def _graded(told: Explanation) -> bool:
    return "mean " in page(explanation_view(told))


# Probabilities.


def _of_the_verdict(attribution: Attribution, verdict: str) -> Iterator[str]:
    """The most probable cause, with its probability, and a word that this bears."""
    shares = dict(ranked(attribution))
    together = sum(shares.get(each, 0.0) for each in BY_CHANCE)
    names = max(shares, key=lambda each: shares[each])
    most = shares[names]
    if attribution.mechanism in BY_CHANCE and most <= together and shares.get(attribution.mechanism, 0.0) < most:
        most, names = together, attribution.mechanism
    elif attribution.mechanism in BY_CHANCE and together >= most:
        names, most = attribution.mechanism, shares[attribution.mechanism]
    first = verdict.partition("robability ")[0]
    named = "The cause is not known" if names == "unknown" else CAUSES[names][0]
    likeliest = [CAUSES[each][0] for each, share in shares.items() if share == shares.get(names)]
    if named not in first and not any(each in first for each in likeliest):
        yield f"not the most probable cause, of {shares}: {verdict}"
    said = re.search(r"robability (\d?\.\d+)", verdict)
    if said is None or abs(float(said[1]) - most) > 0.011:
        yield f"another probability than {most}: {verdict}"
    for least, word in WORDS:
        if verdict.lower().startswith(word) and most < least - 0.006:
            yield f"{word!r} at {most}: {verdict}"
    if (most < 0.5) != ("No cause is more likely than not" in verdict) and names != "unknown":
        yield f"a word for how sure, or none, at {most}: {verdict}"


def _of_probabilities(text: dict[str, str]) -> Iterator[str]:
    """They add to 1, and no cause has two."""
    said = [*re.findall(r"robability (\d?\.\d+)", text["Verdict"])]
    said += re.findall(r"(?:It may be|Less likely) [^(]*\([^)]*\): (\d?\.\d+)", text["What speaks against it"])
    said += re.findall(r"together: (\d?\.\d+)", text["What speaks against it"])
    if round(sum(map(float, said)), 2) != 1:
        yield f"probabilities that add to {sum(map(float, said))}: {text}"
    named = re.findall(r"(?:It may be|Less likely) ([^(]*) \(", text["What speaks against it"])
    if len(named) != len(set(named)):
        yield f"two probabilities of a cause: {named}"


def _of_rivals(attribution: Attribution, against: str) -> Iterator[str]:
    """All that are likely enough are named; nothing is found only where nothing is."""
    for cause, share in ranked(attribution)[1:]:
        if share >= 0.105 and CAUSES[cause][0] not in against and cause not in BY_CHANCE:
            yield f"silent on {cause}, {share}: {against}"
    if "Nothing found" in against and re.search("It may be|Less likely|do not fit|same wrong answer", against):
        yield f"nothing, and something: {against}"
    if not against.strip():
        yield "silent on what speaks against it"


def _of_definitions(whole: str) -> Iterator[str]:
    """Each cause is said to be what it is once."""
    for name, what in CAUSES.values():
        if whole.count(f"{name} ({what})") > 1:
            yield f"{name}, defined twice: {whole}"


# Intervals, early answers, events.


def _of_intervals(known: str) -> Iterator[str]:
    """The 95 % intervals of the two rows before them overlap, or not."""
    if "95 % intervals" not in known:
        return
    counts = _COUNT.findall(re.sub(r"\([^)]*\)", "", known.partition("95 % intervals")[0]))[-2:]
    (low, _), (_, high) = (wilson_interval(int(a) / int(b), int(b), confidence=0.95) for a, b in counts)
    if ("do not overlap" in known) != (low > high):
        yield f"intervals that overlap, or not: {known}"
    if int(counts[0][0]) * int(counts[1][1]) <= int(counts[1][0]) * int(counts[0][1]):
        yield f"it restores nothing: {known}"


def _of_early_answers(told: Explanation, verdict: str) -> Iterator[str]:
    """What they say against a cause is said in the verdict, by their counts."""
    asked, right = told.explained.evidence.at_outset
    said = re.search(r"before any call (\d+) of (\d+) early answers", verdict)
    if said and (int(said[1]), int(said[2])) != (int(right), asked):
        yield f"other early answers than {right} of {asked}: {verdict}"
    needs_call = not re.search(r"chance|own error|offer of tools|condition", verdict.partition(":")[0])
    if needs_call and 2 * right < asked and said is None:
        yield f"silent on early answers, {right} of {asked}: {verdict}"
    turn = turn_of(told.explained.evidence)
    worse = re.search(
        r"get worse at events? (\d+).*?\((\d+) of (\d+) right before it, (\d+) of (\d+) after it", verdict
    )
    if worse and turn:
        steps, sums = told.explained.evidence.steps, [[0, 0], [0, 0]]
        for each in asked_at(told.explained.evidence):
            of = sums[steps[each.step] > int(worse[1])]
            of[0], of[1] = of[0] + round(each.right.mean * each.samples), of[1] + each.samples
        if [*map(int, worse.groups()[1:])] != [*sums[0], *sums[1]]:
            yield f"a turn by {sums}: {verdict}"
    if worse and turn is None:
        yield f"a turn that early answers do not have: {verdict}"


def _of_events(told: Explanation, whole: str, table: str) -> Iterator[str]:
    """Events that are named have a row of the page, where it shows all."""
    if len(list(step_lines(told))) > MOST_LINES:
        return
    shown = {int(number) for number in re.findall(r"^ {1,7}(\d+) (?=\S)", table, re.MULTILINE)}
    for several in re.findall(r"\bevents? (\d+(?:(?:, | and | to )\d+)*)", whole):
        away = [int(event) for event in re.findall(r"\d+", several) if int(event) not in shown]
        if away:
            yield f"an event that the page has not: {several} of {shown}: {whole}"


def _of_commands(shown: str) -> Iterator[str]:
    """At most one, whole, as a shell takes it from the page and the command line parses it."""
    lines = [line for line in shown.replace("\\\n", " ").splitlines() if line.strip().startswith("toolablate ")]
    if len(lines) > 1 or re.search(r"\b(NAME|PLAN|STORE|TRIAL)\b", " ".join(lines)):
        yield f"not one whole command: {lines}"
    for line in lines:
        yield from _of_a_command(shlex.split(line)[1:])


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
