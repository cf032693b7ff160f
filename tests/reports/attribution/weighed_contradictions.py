"""What the probabilities of the table, and what is said of where an answer stands, would contradict of a printed page."""

import re
from collections.abc import Iterator, Mapping, Sequence

from tests.reports.attribution.samples import chances_of

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.replay_rules import due_to
from toolablate.analysis.attribution.signals.answers import numbers_of
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.reports.why.causes import CAUSES, FIRST_REPLY, WRONG_ANYWAY, lacking, ranked, what_it_is
from toolablate.reports.why.changed_runs import BEFORE, Row
from toolablate.reports.why.happened import answers_of
from toolablate.reports.why.page import AGAINST
from toolablate.reports.why.rests_on import WithoutRuns, rests_on
from toolablate.reports.why.rungs import NO_RUNS, ROUNDED, Rung
from toolablate.traces.records import Attribution, Mechanism, ToolCall


def weighed_otherwise(
    told: Explanation, rungs: tuple[Rung, ...], attribution: Attribution, text: Mapping[str, str]
) -> Iterator[str]:
    """Probabilities of the table add to 1, are those of the sentences, and stand where runs take their cause away."""
    chances = chances_of(told)
    if not chances:
        return
    now, before = ({name: _hundredths(each[at]) for name, each in chances.items()} for at in (0, 1))
    if sum(now.values()) != 100 or sum(before.values()) not in (0, 100):
        yield f"probabilities that add to {sum(now.values())}, before {sum(before.values())}: {rungs}"
    unlisted = [each for each, share in ranked(attribution) if share >= 0.006 and CAUSES[each][0] not in now]
    if ROUNDED in now and unlisted:
        yield f"{unlisted} lost by rounding: {rungs}"
    said = dict(re.findall(r"It may be ([^(]*) \([^)]*\): (\d?\.\d+)", text.get("What else it may be", "")))
    first = re.search(r"Probability (\d?\.\d+)", text["Verdict"])
    if first and not text["Verdict"].startswith("Undecided"):
        said[CAUSES[ranked(attribution)[0][0]][0]] = first[1]
    for name, share in said.items():
        if now.get(name) != round(100 * float(share)):
            yield f"{name}: {share}, and in the table {now}"
    for rung in rungs:
        for cause, taken in _AT.items():
            if CAUSES[cause][0] in rung.cause and taken not in rung.taken and rung.taken != NO_RUNS:
                yield f"{cause} where it is not taken away: {rung}"


_AT: Mapping[Mechanism, str] = {
    "budget": "its limit",
    "tool_fault": "the failure of its tool",
    "retrieval_distraction": "what its search and pages gave",
    "volume": "the length of its results",
    "availability": "the offer of tools",
    "prompt": "the condition's prompt",
    "format": "the form of its answer",
    "own_error": "all runs together",
}
"""Where it is taken away, of causes that have one place."""


def _hundredths(share: str) -> int:
    return {"under .01": 0, "over .99": 100, "": 0}.get(share) or (
        0 if "under" in share else round(100 * float(share or 0))
    )


def rests_otherwise(told: Explanation, rungs: tuple[Rung, ...], lead: str, text: Mapping[str, str]) -> Iterator[str]:
    """Beside each kind of run that is weighed stands whether it speaks for the likeliest cause, those that speak against
    it are told so, and what a verdict is said to rest on turns it."""
    attribution = told.explained.attribution
    assert attribution is not None
    sure, against = text.get("How sure", ""), text.get(AGAINST, "")
    shown = {row.name: row.mark or rung.mark for rung in rungs for row in rung.rows}
    named = re.search(r"The last column marks runs by whose counts “([^”]*)” is likelier", lead)
    found = rests_on(told)
    if named is None:
        yield from [f"a column without a cause: {shown}"] if any(shown.values()) else []
    by_name = {name: cause for cause, (name, _) in CAUSES.items()}
    now = dict(ranked(attribution))
    first = next(iter(now))
    if first == "unknown" or (first == "format" and any(rung.taken == "the form of its answer" for rung in rungs)):
        # Answers for the form have a rule of their own.
        yield from [f"a column of what is not weighed: {shown}"] if any(shown.values()) else []
        return
    undecided = text["Verdict"].startswith("Undecided")
    if undecided and any(shown.values()):
        yield f"marks of an undecided verdict: {shown}"
    cause = by_name[named[1]] if named else first
    if now[cause] < now[first]:
        yield f"a column of {cause}, and likeliest is {first}: {lead}"
    yield from _marked_otherwise(cause, told, shown, against, undecided=undecided)
    for row, other, share, own, kept in re.findall(
        r"on the runs (.*?)(?:, by what they say of other causes)?: without these “([^”]*)” would have (\.\d+), and “([^”]*)” ((?:under )?\.\d+)\.",
        sure,
    ):
        left = next((each.shares for each in found if each.row.name == row), {})
        told_of = {by_name[other]: share, by_name[own]: kept}
        if any(abs(left.get(cause, 0.0) - _hundredths(said) / 100) > 0.011 for cause, said in told_of.items()):
            yield f"{row}: {told_of}, and without these {left}"
    turned = [each for each in found if _shown(max(each.shares.values())) > _shown(each.shares.get(cause, 0.0))]
    more = re.search(r"So it does on (\d+) more", sure)
    yield from _between_otherwise(cause, told, found, text)
    many = sure.count("It rests on the runs") + (int(more[1]) if more else 0)
    if found and not undecided and (many != len(turned) or ("is still the likeliest" in sure) == bool(turned)):
        yield f"rests on {many}, and {len(turned)} turn it: {[each.shares for each in found]}: {sure}"


def _between_otherwise(
    cause: Mechanism, told: Explanation, found: Sequence[WithoutRuns], text: Mapping[str, str]
) -> Iterator[str]:
    """The least and most that a cause has without a kind of run; and what sampling noise has of its own."""
    sure = text.get("How sure", "")
    kept = sorted({_shown(each.shares.get(cause, 0.0)) for each in found})
    if found and (between := re.search(r"(?:likeliest, with|” has) ((?:under )?\.\d+)(?: to (\.\d+))?\.", sure)):
        told_of = [_hundredths(each) for each in between.groups() if each]
        if told_of != [*dict.fromkeys((kept[0], kept[-1]))]:
            yield f"without a kind of run {told_of}, and {kept}"
    anyway = re.search(r"(?:Of|All) the (\.\d+) of “sampling noise”(?:, (\.\d+))? is that", text["How we know"])
    attribution = told.explained.attribution
    assert attribution is not None
    noise = dict(ranked(attribution)).get("sampling_noise", 0.0)
    part = noise * due_to("anyway", "sampling_noise", told.explained.evidence, told.rates)
    wanted = [round(100 * part), _shown(noise)] if part >= 0.1 and attribution.method == "replay" else []
    said = [_hundredths(anyway[2] or anyway[1]), _hundredths(anyway[1])] if anyway else []
    if any(abs(one - other) > 1 for one, other in zip(said, wanted, strict=False)) or len(said) != len(wanted):
        yield f"{anyway and anyway[0]}, and wanted is {wanted}"


def _marked_otherwise(
    cause: Mechanism, told: Explanation, shown: Mapping[str, str], against: str, *, undecided: bool
) -> Iterator[str]:
    """Of runs beside which another mark stands than the probabilities without them give."""
    assert told.explained.attribution is not None
    now = dict(ranked(told.explained.attribution))
    for each in rests_on(told):
        wanted = _shown(now[cause]) - _shown(each.shares.get(cause, 0.0))
        said = next((mark for name, mark in shown.items() if name.startswith(each.row.name) and mark), "")
        mark = _mark(cause, wanted, each.row, told)
        if said != mark and not undecided:
            yield f"runs {each.row.name} add {wanted}, and the table has {said!r}: {shown}"
        # Of early answers before any call it is said where those are told; their counts are checked there.
        told_there = each.row.told in against or (each.row.changed == BEFORE and "efore any call" in against)
        if mark.startswith("−") and not told_there:
            yield f"silent on runs {each.row.name}, {wanted}: {against}"


def _mark(cause: Mechanism, added: int, row: Row, told: Explanation) -> str:
    """None but where right runs speak for a cause that is gone in them or is chance, and wrong ones for one that is
    there."""
    evidence = told.explained.evidence
    kinds: Mapping[str, Mechanism] = {"search": "retrieval_distraction", "code": "lock_in", "other": "other_results"}
    causes = [kinds[each] for each in evidence.inputs.tools] if cause == "interaction" else [cause]
    lack = [row in lacking(each, evidence) for each in causes if lacking(each, evidence)]
    gone = cause == "sampling_noise" or (bool(lack) and all(lack))
    for_it, against_it = row.share > 0.5, row.share < 0.5
    if not gone:
        for_it, against_it = against_it, for_it or (cause == "own_error" and row.share == 0.5)
    chance = what_it_is(cause, told) if cause == "sampling_noise" else ""
    first = chance == WRONG_ANYWAY or (chance == FIRST_REPLY and row.keeps_first_reply)
    tells = bool(lack) or cause in BY_CHANCE
    if first or not tells or row.name == "asked at once after other events":
        for_it = against_it = False
    sign = ("+" if added > 0 else "−") * ((abs(added) >= 5) + (abs(added) >= 20))
    return sign if (for_it if added > 0 else against_it) else ""


def counted_otherwise(rungs: tuple[Rung, ...], lead: str) -> Iterator[str]:
    """Counts on a cause's line and above it are those of the table."""
    counted = [rung for rung in rungs if rung.whole is not None]
    whole = re.search(r"at all lines(?: but those asked for its form)? (\d+ of \d+)", lead)
    if whole is not None:
        sums = [sum(each) for each in zip(*(map(int, rung.came.split(" of ")) for rung in counted), strict=True)]
        if whole[1] != " of ".join(map(str, sums)):
            yield f"at all lines {whole[1]}, and the table has {sums}: {lead}"
    said = r"Without “([^”]*)” \(from the line “([^”]*)” on\) (\d+ of \d+) are right, with it (\d+ of \d+)"
    for name, line, below, above in re.findall(said, lead):
        at = next((place for place, rung in enumerate(counted) if rung.taken == line and name in rung.cause), None)
        if at is None:
            yield f"counts of a cause without a line, {name}: {lead}"
            continue
        gone = [rung for rung in counted[at:] if rung is counted[at] or not rung.taken.endswith(", alone")]
        for count, some in ((below, gone), (above, [rung for rung in counted if rung not in gone])):
            sums = [sum(each) for each in zip(*(map(int, rung.came.split(" of ")) for rung in some), strict=True)]
            if count != " of ".join(map(str, sums)):
                yield f"{name}: {count}, and the table has {sums}: {lead}"


def _shown(share: float) -> int:
    """In hundredths, what is less likely than not never as one half."""
    return min(49 if share < 0.5 else 99, round(100 * share))


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
