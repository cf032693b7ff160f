"""What the table of probabilities, and what is said of where an answer stands, would contradict of a printed page."""

import re
from collections.abc import Iterator, Mapping, Sequence

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.reports.causes import CAUSES, counted_runs, ranked, sides
from toolablate.reports.changed_runs import Row
from toolablate.reports.happened import answers_of
from toolablate.reports.plain_why import WEIGHED
from toolablate.reports.weighing import ALONE, weighing
from toolablate.reports.why_against import named_shares
from toolablate.traces.records import Attribution, ToolCall

_COUNT = re.compile(r"\b(\d+) of (\d+)\b")
OTHERS = "all others"
Table = Sequence[tuple[str, ...]]


def weighed_otherwise(told: Explanation, attribution: Attribution, text: Mapping[str, str]) -> Iterator[str]:
    """Its columns add to 1, its probabilities are those of the sentences, its counts those of the rows, and where the
    runs alone favour another cause the verdict says so."""
    found = weighing(named_shares(told, attribution), told)
    table = found.table if found is not None else ()
    if not table:
        if "own runs favour" in text["Verdict"]:
            yield f"an order that was turned, without numbers: {text}"
        return
    if not all(row[-1] in text.get(WEIGHED, "") for row in table):
        yield f"a table that is not on the page: {text}"
    yield from _of_columns(table, text)
    yield from _of_direction(table)
    yield from _of_order(table, attribution, text["Verdict"])
    yield from _of_runs(table, told.explained.evidence)


def _columns(table: Table) -> tuple[dict[str, int], dict[str, int]]:
    """Hundredths by cause: the probabilities, and those by the runs alone, which are the same where none are told."""
    heads, *rows = table
    places = [heads.index(ALONE) if ALONE in heads else -1, -1]
    alone, shares = ({row[0]: round(100 * float(row[place])) for row in rows} for place in places)
    return shares, alone


def _of_columns(table: Table, text: Mapping[str, str]) -> Iterator[str]:
    shares, alone = _columns(table)
    for name, column in (("probabilities", shares), (ALONE, alone)):
        if sum(column.values()) != 100:
            yield f"{name} that add to {sum(column.values())}: {table}"
    if ALONE in table[0] and all(abs(shares[name] - alone[name]) <= 1 for name in shares):
        yield f"two columns that say the same: {table}"
    against = text["What speaks against it"]
    told_as = dict(re.findall(r"(?:It may be|Less likely) ([^(]*) \([^)]*\): (\d?\.\d+)", against))
    first = re.search(r"Probability (\d?\.\d+)", text["Verdict"])
    if first:
        told_as[table[1][0]] = first[1]
    for name, said in told_as.items():
        if name in shares and shares[name] != round(100 * float(said)):
            yield f"{name}: {said}, and in the table {shares[name]}"


def _of_direction(table: Table) -> Iterator[str]:
    """What is said of the store goes with how it moves the cause."""
    shares, alone = _columns(table)
    for name, *_, said, _ in table[1:]:
        moved = shares[name] - alone[name]
        if (moved <= 0 and "more than the" in said) or (moved >= 0 and "less than the" in said):
            yield f"{name}: {said}, and it moves by {moved}: {table}"
        if abs(moved) > 1 and ", as the ." in said:
            yield f"{name}: {said}, and it moves by {moved}: {table}"


def _of_order(table: Table, attribution: Attribution, verdict: str) -> Iterator[str]:
    _, alone = _columns(table)
    before = verdict.partition("This trial's own runs")[0].partition("Probability ")[0]
    named = [CAUSES[cause][0] for cause, _ in ranked(attribution)]
    first = [name for name in named if f"{name} (" in before and name in alone] or [table[1][0]]
    rivals = {name: share for name, share in alone.items() if name not in (*first, OTHERS)}
    favoured = max(rivals, key=lambda name: rivals[name], default="")
    turned = bool(favoured) and rivals[favoured] > max(alone[name] for name in first)
    if turned != ("own runs favour" in verdict):
        yield f"an order that is turned, or not: {table}: {verdict}"
    if turned and not any(f"favour {name} (" in verdict for name in rivals if rivals[name] == rivals[favoured]):
        yield f"they favour {favoured}: {verdict}"


def _of_runs(table: Table, evidence: Evidence) -> Iterator[str]:
    for name, runs, *_ in table[1:]:
        cause = next((each for each in CAUSES if CAUSES[each][0] == name), None)
        if cause is None or "mean " in runs:
            continue
        counts = [(int(right), int(of)) for right, of in _COUNT.findall(runs.partition(";")[0])]
        known = [_sum(each) for each in sides(cause, evidence) if each]
        if "whatever is changed" in runs:
            known = [_sum(counted_runs(cause, evidence))]
        if counts != known and ("without it" in runs or "whatever" in runs):
            yield f"{name}: {runs}, and its runs are {known}"


def _sum(rows: Sequence[Row]) -> tuple[int, int]:
    return int(sum(row.right for row in rows)), int(sum(row.runs for row in rows))


def sourced_otherwise(told: Explanation, whole: str) -> Iterator[str]:
    """A result that is said to have the answer has it, and none has it where none is said to."""
    outputs = {
        number: each.output.lower() for number, each in enumerate(told.conversation) if isinstance(each, ToolCall)
    }
    answers = [each.lower() for each in answers_of(told)]
    for event in re.findall(r"stands in the result of event (\d+)", whole.partition("Its answer, ")[2]):
        if not any(each in outputs.get(int(event), "") for each in answers):
            yield f"an answer that event {event} has not: {whole}"
    options = dict(zip("ABCDEFGH", told.question.choices, strict=False))
    for event, letter in re.findall(r"event (\d+) has (?:the right answer, )?([A-H]), ", whole):
        if options[letter].lower() not in outputs.get(int(event), ""):
            yield f"an option that event {event} has not: {whole}"
    if "No result has its answer" in whole and any(each in output for each in answers for output in outputs.values()):
        yield f"an answer that a result has: {whole}"
