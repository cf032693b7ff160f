"""What the table of probabilities, and what is said of where an answer stands, would contradict of a printed page."""

import re
from collections.abc import Iterator, Mapping, Sequence

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.signals.answers import numbers_of
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.statistics.intervals import wilson_interval
from toolablate.reports.causes import CAUSES, counted_runs, sides
from toolablate.reports.changed_runs import Row
from toolablate.reports.happened import answers_of
from toolablate.reports.named_causes import named_shares
from toolablate.reports.plain_why import WEIGHED, Why
from toolablate.reports.run_groups import WITHOUT
from toolablate.traces.records import Attribution, Mechanism, ToolCall

_COUNT = re.compile(r"\b(\d+) of (\d+)\b")
Table = Sequence[tuple[str, ...]]


def weighed_otherwise(
    told: Explanation, found: Why, attribution: Attribution, text: Mapping[str, str]
) -> Iterator[str]:
    """Its probabilities add to 1 and are those of the sentences, its counts those of the rows and of their groups."""
    table = next((part.table for part in found.parts if part.title == WEIGHED), ())
    if not table:
        return
    if not all(row[1] in text.get(WEIGHED, "") for row in table):
        yield f"a table that is not on the page: {text}"
    yield from _of_probabilities(table, text)
    yield from _of_runs(table, told.explained.evidence, named_shares(told, attribution).cause)
    yield from _of_printed_rows(table, found)
    names = {row[0] for row in table}
    for cause, (name, _) in CAUSES.items():
        tested = sides(cause, told.explained.evidence)[0] or cause in BY_CHANCE
        if tested and name not in names and any(f"“{name}”" in text.get(part, "") for part in text if part != WEIGHED):
            yield f"{name}, named without its counts: {table}"


def _of_probabilities(table: Table, text: Mapping[str, str]) -> Iterator[str]:
    shares = {row[0]: 0 if row[1] == "under .01" else round(100 * float(row[1])) for row in table[1:]}
    if sum(shares.values()) != 100:
        yield f"probabilities that add to {sum(shares.values())}: {table}"
    told_as = dict(re.findall(r"It may be ([^(]*) \([^)]*\): (\d?\.\d+)", text.get("What else it may be", "")))
    first = re.search(r"Probability (\d?\.\d+)", text["Verdict"])
    if first:
        told_as[table[1][0]] = first[1]
    for name, said in told_as.items():
        if shares.get(name) != round(100 * float(said)):
            yield f"{name}: {said}, and in the table {shares}"


def _counts(table: Table) -> Iterator[tuple[str, list[str]]]:
    """Of each cause its runs without it, and with it."""
    first = next(place for place, head in enumerate(table[0]) if head.startswith("Right"))
    return ((row[0], list(row[first:])) for row in table[1:])


def _of_runs(table: Table, evidence: Evidence, first: Mechanism) -> Iterator[str]:
    for name, counts in _counts(table):
        cause = next((each for each in CAUSES if CAUSES[each][0] == name), None)
        said = " ".join(counts)
        if cause is None or "mean " in said or "both results" in said or "asked once more" in said:
            continue
        known = [_sum(each) for each in sides(cause, evidence) if each]
        if "whatever is changed" in said:
            known = [_sum(counted_runs(first, evidence))]
        if [(int(right), int(of)) for right, of in _COUNT.findall(said)] != known:
            yield f"{name}: {said}, and its runs are {known}"
        bounds = [wilson_interval(right / of, of, confidence=0.95) for right, of in known]
        if re.findall(r"(\d+) to (\d+) %", said) != [(f"{100 * low:.0f}", f"{100 * high:.0f}") for low, high in bounds]:
            yield f"{name}: {said}, and its intervals are {bounds}"


def _of_printed_rows(table: Table, found: Why) -> Iterator[str]:
    """Whoever adds up the rows of the page that are without a cause has the count of its line."""
    groups = found.groups
    if any("mean " in came for group in groups for _, came, _ in group.rows):
        return
    for name, counts in _counts(table):
        said = _COUNT.match(counts[0])
        if said is None or "whatever" in counts[0] or "both results" in counts[0] or "asked once more" in counts[0]:
            continue
        without = [
            tuple(map(int, came.split(" of ")))
            for group in groups
            for row, came, _ in group.rows
            if group.title.startswith(f"{WITHOUT} “{name}”")
            or name in row.partition("; without ")[2].partition(";")[0].split(" and ")
        ]
        added = sum(right for right, _ in without), sum(runs for _, runs in without)
        if added != (int(said[1]), int(said[2])):
            yield f"{name}: {counts}, and its rows add to {added}: {groups}"


def weights_otherwise(found: Why, whole: str) -> Iterator[str]:
    """What a verdict is said to rest on is what its column has."""
    cells = [row.without for group in found.groups for row in group.rows if row.without]
    turning = [each for each in cells if ";" in each]
    undecided = re.search(r"It rests on runs [^.]* would be undecided \([^.]* ((?:under )?\.\d+);", whole)
    if undecided and undecided[1] not in [each.partition(";")[0] for each in cells]:
        yield f"undecided with {undecided[1]}, and {cells}"
    named = whole.count("It rests on runs ") - bool(undecided)
    if named > len(turning) or (re.search("It rests (on no single kind|mostly)", whole) and turning):
        yield f"{named} kinds that it rests on, and {cells}"
    least = re.search(r"be the likeliest, with ((?:under )?\.\d+)", whole)
    alone = [each.partition(";")[0] for each in cells]
    if least and least[1] != min(alone, key=lambda each: float(each.removeprefix("under ")), default=""):
        yield f"at least {least[1]}, and {cells}"
    for other, share in re.findall(r"likelier \((\.\d+); [^.]*? ((?:under )?\.\d+)\)", whole):
        if not any(each.startswith(f"{share};") and each.endswith(other) for each in cells):
            yield f"{other} in place of {share}, and {cells}"


def _sum(rows: Sequence[Row]) -> tuple[int, int]:
    return int(sum(row.right for row in rows)), int(sum(row.runs for row in rows))


def sourced_otherwise(told: Explanation, whole: str) -> Iterator[str]:
    """A result that is said to have the answer has it, and none has it where none is said to."""
    outputs = {
        number: each.output.lower() for number, each in enumerate(told.conversation) if isinstance(each, ToolCall)
    }
    answers = [each.lower() for each in answers_of(told)]
    for event in re.findall(r"Its answer, .{1,99}?, stands in the result of event (\d+)", whole):
        if not any(_has(outputs.get(int(event), ""), each, told) for each in answers):
            yield f"an answer that event {event} has not: {whole}"
    options = dict(zip("ABCDEFGH", told.question.choices, strict=False))
    alone = r"gave one option alone, (?:the right answer, )?([A-H]), .{1,70}? \(event (\d+)\)"
    for letter, event in re.findall(alone, whole):
        if not _has(outputs.get(int(event), ""), options[letter], told):
            yield f"an option that event {event} has not: {whole}"
    right = re.search(r"The result of event (\d+) has the right answer, ([^;]*);", whole)
    if right and not _has(outputs.get(int(right[1]), ""), right[2], told):
        yield f"a right answer that event {right[1]} has not: {whole}"
    if "No result names its answer" in whole and any(
        _has(output, each, told) for each in answers for output in outputs.values()
    ):
        yield f"an answer that a result has: {whole}"


def _has(output: str, text: str, told: Explanation) -> bool:
    """Of an option with a unit its number is enough."""
    choices = tuple(each.lower() for each in told.question.choices)
    numbers = dict(zip(choices, numbers_of(choices), strict=False))
    number = numbers.get(text.lower())
    alone = number and re.search(rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)", output)
    return bool(alone) or text.lower() in output
