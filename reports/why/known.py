"""How the likeliest cause of a wrong trial is known, beside the table of its runs: by its trace, its early answers, and
the event that shows it."""

from collections.abc import Iterator

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import WITHOUT_TOOLS
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance, distraction_name
from toolablate.reports.why.answer_source import answer_source, in_no_result
from toolablate.reports.why.causes import (
    as_likely,
    computing_part,
    first_of,
    first_reply_part,
    pair_of,
    quoted_name,
    ranked,
    restores,
    unchanged,
    without_tools,
)
from toolablate.reports.why.changed_runs import IGNORING, Row, capital, of_scores, total
from toolablate.reports.why.early_answers_against import likely_turn_at, turn_against
from toolablate.reports.why.happened import (
    Said,
    events_named,
    happened,
    last_reply,
    never_without_tools,
    noted,
    same_without_tools,
    sign_in,
)
from toolablate.reports.why.named_causes import named_shares
from toolablate.reports.why.other_causes import raised
from toolablate.reports.why.quoted import quoted
from toolablate.reports.why.turn import AT_CALLS, Turn, asked_at, right_until, turn_of
from toolablate.traces.records import Diagnosis, Mechanism
from toolablate.traces.terminal_text import one_line


def known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    cause, by_replay = first_of(attribution), attribution.method == "replay"
    yield from _beside_its_runs(cause, told) if by_replay else _read(cause, evidence)
    if cause in AT_CALLS:
        yield from _where_it_turns(cause, told)
        if never := never_without_tools(evidence):
            yield f"{never}."
    yield from _quotes(cause, told)
    if not by_replay:
        yield from (raised(each, told) for each, _ in as_likely(named_shares(told, attribution)))
    yield from _of_form(cause, told)
    for diagnosis in evidence.diagnoses:
        yield from _read_by(diagnosis)


def _of_form(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """Of a reply without a readable answer, what came of asking once more, and of drawing it again."""
    evidence = told.explained.evidence
    if evidence.score.verdict != "unparsed":
        return
    runs, asked, right = evidence.all_runs, len(evidence.re_asked), sum(evidence.re_asked)
    if cause != "format" and asked and right < RIGHT * asked:
        yield (
            f"Asked once more for its answer alone it was right in {right:g} of {asked}: its form alone did not cost it"
            " the right answer."
        )
    if cause == "format" and runs is not None and runs.last_reply:
        readable = len(runs.last_reply) - runs.unread
        same = ": drawing it again does not mend its form" if 2 * readable < len(runs.last_reply) else ""
        yield f"Its last reply, drawn again, was readable at once in {readable} of {len(runs.last_reply)}{same}."
    if asked:
        yield "A reply without a readable answer was asked for it once more, and counts by that in all counts."


def _beside_its_runs(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """What the table of runs does not say of a cause by itself."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    whole = dict(ranked(attribution)).get(cause, 0.0)
    if cause == "lock_in" and (part := computing_part(told)):
        ignoring = of_scores(IGNORING, evidence.ignore_tools, evidence).told
        yield (
            f"{chance(part)} of the {chance(whole)} is for turning to its code at all, whatever this gave. It counts as"
            f" {quoted_name('lock_in')}, since the answer comes back where this is set aside: {ignoring}."
        )
    if cause == "sampling_noise" and (part := first_reply_part(told)):
        kept = total(unchanged(evidence))
        came = f" ({kept.bare})" if kept.runs else ""
        yield (
            f"{chance(part)} of the {chance(whole)} is chance in its first reply: its own replays keep that"
            f" reply{came}, and other trials of its question draw it anew."
        )
    if cause in BY_CHANCE and (same := same_without_tools(evidence, NOTABLE if cause == "sampling_noise" else RIGHT)):
        yield f"{same}{': that needs no tool' if cause == 'sampling_noise' else ''}."


NOTABLE = 1 / 3
"""Of answers without tools, from which share on it is told that they are wrong in the same way."""


def _where_it_turns(cause: Mechanism, told: Explanation) -> Iterator[str]:
    """By its early answers, where these do not speak against the cause."""
    evidence = told.explained.evidence
    turn = turn_of(evidence)
    if turn is not None and not any(turn_against(cause, told)):
        beside = _other_answers(turn, evidence)
        yield f"Asked at once after its steps, this trial turns wrong {turn.where}: {turn.counts}{beside}."
    elif near := likely_turn_at(cause, told):
        if not any(turn_against(cause, told)):
            yield f"Asked at once after its steps, this trial turns wrong, likeliest {near.where}: {near.counts}."
    elif still := right_until(happened(cause, told).event, evidence):
        yield f"{capital(still)}."


def _quotes(cause: Mechanism, told: Explanation) -> Iterator[Said]:
    """The event that shows it, and where its answer stands. What needs no tool has no such event: what a result gave is
    a sign of other causes."""
    event = happened(cause, told).event if cause != "unknown" else last_reply(told)
    # What it says tells nothing of how long it is; and its last reply stands under the verdict.
    shown = None if cause == "volume" or event == last_reply(told) else event
    if cause in BY_CHANCE:
        yield from in_no_result(told)
        return
    yield from quoted(shown, told)
    if cause not in ("volume", "unknown"):
        yield from answer_source(cause, told, quoted=shown)


def _other_answers(turn: Turn, evidence: Evidence) -> str:
    """Where early answers after it are wrong in another way than the final one."""
    own = ", ".join(evidence.score.extracted)
    after = [each for each in asked_at(evidence) if evidence.steps[each.step] >= turn.end]
    never = own and not any(own in each.options and each.options[own].mean > 0 for each in after)
    return f", none of these {one_line(own, max_chars=60)}" if never else ""


def _read(cause: Mechanism, evidence: Evidence) -> Iterator[str]:
    """Of what was not tested: the strongest fact, and other trials where they fit it."""
    same, bare = same_without_tools(evidence), without_tools(evidence)
    if cause in BY_CHANCE:
        if bare is not None and not (same and cause == "own_error"):
            yield f"{capital(bare.told)}{': it can answer the question' if bare.share > RIGHT else ''}."
        if same and cause == "own_error":
            yield f"{same}."
        if cause == "sampling_noise" and (again := unchanged(evidence)):
            yield f"{capital('; '.join(row.told for row in again))}."
        return
    sign = sign_in(evidence)
    yield f"{capital(noted(sign))}." if sign is not None and sign[0] == cause else "Nothing in the trace shows it."
    rows = pair_of(cause, evidence)
    if len(rows) > 1 and cause != "unknown" and restores(rows):
        whole = " These differ in all that tools bring, not in this alone." if rows[0].changed == WITHOUT_TOOLS else ""
        yield f"{_side_by_side(*rows)}.{whole}"


def _side_by_side(undone: Row, before: Row) -> str:
    return f"{capital(undone.told)}. With the cause still there ({before.name}): {before.came}"


def _read_by(diagnosis: Diagnosis) -> Iterator[str]:
    judge = one_line(diagnosis.judge)
    if diagnosis.error_type is None:
        yield f"Judge {judge} gave no label: {one_line(diagnosis.reason)}"
        return
    at = f" ({events_named(diagnosis.evidence)})" if diagnosis.evidence else ""
    error = diagnosis.error_type.replace("_", " ")
    yield f"Judge {judge}: {error}{at}, a hypothesis: {one_line(diagnosis.reason)}"
    if diagnosis.distraction:
        at = f" ({events_named(diagnosis.distraction_evidence)})" if diagnosis.distraction_evidence else ""
        reason = one_line(diagnosis.distraction_reason)
        yield f"Distraction: {distraction_name(diagnosis.distraction)}{at}, a hypothesis: {reason}"
