"""What else a wrong trial may be: causes that are less likely than the first, and what speaks for each."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import EXTENDED, WITHOUT_CALLS, told_levels
from toolablate.analysis.attribution.replay_rules import due_to
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, outside_signs, ran_out, unrecovered
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance
from toolablate.reports.why.causes import (
    FEW,
    POSSIBLE,
    Shares,
    against_chance,
    are_few,
    as_likely,
    bears_difference,
    counted_runs,
    defined,
    first_of,
    hundred,
    kinds_wrong,
    name_of,
    pair_of,
    quoted_name,
    ranked,
    same_rows,
    sides,
    unchanged,
    without_tools,
)
from toolablate.reports.why.changed_runs import RE_ASKED, Row, capital, levels_of, of_scores, total
from toolablate.reports.why.early_answers_against import turn_against
from toolablate.reports.why.happened import (
    OF_FORMS,
    Said,
    failed_for_a_time,
    gave_nothing,
    happened,
    same_without_tools,
    sign_in,
)
from toolablate.reports.why.named_causes import LEAST_LEFT, named_shares, spoken_of
from toolablate.reports.why.turn import AT_CALLS, right_until
from toolablate.traces.records import Attribution, Mechanism

WHAT_IS_LEFT = "it is what the other causes leave"
LEAST_TOLD = 0.01
"""Of the probability of a cause."""


def others(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    shares = named_shares(told, attribution)
    undecided = [cause for cause, _ in as_likely(shares)]
    # Those that are less likely have their line in the table of runs.
    least = POSSIBLE if attribution.method == "replay" else 0
    for cause, hundredths in shares.others:
        if cause not in undecided and hundredths >= least:
            turned = "".join(f" But {each[:1].lower()}{each[1:]}" for each in turn_against(cause, told))
            yield f"It may be {defined(cause, told)}: {hundred(hundredths)}.{_raised_by(cause, told)}{turned}"
    if shares.rest and (attribution.method != "replay" or shares.cause == "unknown"):
        # Elsewhere it is a line of the table of runs.
        yield f"{capital(all_others(attribution, shares.named, shares.rest, evidence))}: {hundred(shares.rest)}."
    if signs := list(_signs_of_others(told, attribution, shares)):
        yield f"The trace has signs of causes that are less likely: {'; and '.join(signs)}."
    fault = attribution.shares.get("tool_fault", 0.0)
    passing = failed_for_a_time(evidence) if not unrecovered(evidence.signals.troubles) else ""
    if attribution.method == "replay" and fault < LEAST_TOLD and passing:
        hardly = f"has a probability under {chance(LEAST_TOLD)} as the cause{_at_once(evidence)}"
        yield f"That {passing} and worked again {hardly}."
    yield from _on_the_same_rows(shares, evidence)


def all_others(attribution: Attribution, named: Sequence[Mechanism], rest: int, evidence: Evidence) -> str:
    """With those of them that are likely enough; together they have `rest` hundredths."""
    if 200 * attribution.shares.get("unknown", 0.0) > rest and "unknown" not in named:
        return f"{ALL_OTHERS}, mostly of which there is no sign"
    # That what was found misled it is no name for what acts where nothing was found.
    left = [
        f"{name_of(each)} {chance(share)}"
        for each, share in ranked(attribution)
        if each not in named and share >= LEAST_LEFT and not gave_nothing(each, evidence)
    ]
    return f"{ALL_OTHERS} ({', '.join(left)})" if left else ALL_OTHERS


ALL_OTHERS = "all others"


def _at_once(evidence: Evidence) -> str:
    """Where it was mostly wrong before any tool failed."""
    asked, right = evidence.at_outset
    return f": before any call {right:g} of {asked} early answers are right" if 2 * right < asked else ""


def raised(cause: Mechanism, told: Explanation) -> str:
    """What speaks for one that is about as likely as the first."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    again, bare = unchanged(evidence), without_tools(evidence)
    drawn = cause == "sampling_noise" and again and total(again).share < RIGHT
    if drawn or (cause == "own_error" and (bare is None or bare.share >= RIGHT)):
        return _left_over(cause, attribution, evidence)
    return f"For {quoted_name(cause)}:{_raised_by(cause, told, capitals=False)}"


def _left_over(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> str:
    levels = counted_runs(cause, evidence)
    if cause == "own_error" and levels and total(levels).share < RIGHT:
        return f"For {quoted_name(cause)}: of the counted answers {total(levels).came}.{kinds_wrong(levels)}"
    left = "" if cause == "own_error" else _wrong_without(attribution, evidence)
    reason = left or WHAT_IS_LEFT
    return f"For {quoted_name(cause)}: nothing shows it by itself; {reason}."


def _on_the_same_rows(shares: Shares, evidence: Evidence) -> Iterator[str]:
    """Causes of the page that the same runs take away."""
    for one, other in combinations(shares.named, 2):
        if same_rows(one, other, evidence):
            both = f"{quoted_name(one)} and {quoted_name(other)}"
            yield f"{both} rest on the same rows. Only how common each is in this store tells them apart."


def _signs_of_others(told: Explanation, attribution: Attribution, shares: Shares) -> Iterator[str]:
    """What stands in the trace of causes of which no sentence of the page speaks."""
    evidence, by_replay = told.explained.evidence, attribution.method == "replay"
    adopted = evidence.signals.adoption
    # By trace each that is named has a line of its own, however improbable.
    known = spoken_of(shares) if by_replay else list(shares.named)

    def sign(cause: Mechanism, what: str, *more: str) -> str:
        likely = f": {told_chance(attribution.shares.get(cause, 0.0))}" if by_replay else ""
        return "; ".join((f"of {defined(cause, told)}{likely}, as {what}", *more))

    # What a reply without a readable answer took up may be right.
    if adopted is not None and adopted.is_new and evidence.score.verdict != "unparsed":
        cause = OF_FORMS[adopted.form]
        if cause not in known and "interaction" not in known:
            yield sign(cause, happened(cause, told).clause, *side_by_side(cause, evidence))
    if "tool_fault" not in known:
        left = unrecovered(evidence.signals.troubles)
        # Less is told in a sentence of its own.
        told_here = not by_replay or attribution.shares.get("tool_fault", 0.0) >= LEAST_TOLD
        for_a_time = failed_for_a_time(evidence) if told_here else ""
        if failed := happened("tool_fault", told).clause if left else for_a_time:
            yield sign("tool_fault", failed, *(side_by_side("tool_fault", evidence) if left else ["it worked again"]))
    if "budget" not in known and ran_out(evidence.signals):
        more = [row.told for row in levels_of(evidence) if row.changed == EXTENDED]
        yield sign("budget", happened("budget", told).clause, *more)


def told_chance(share: float) -> str:
    return chance(share) if share >= LEAST_TOLD else f"under {chance(LEAST_TOLD)}"


def _raised_by(cause: Mechanism, told: Explanation, *, capitals: bool = True) -> str:
    """The rows and signs for it, as a sentence or as the rest of one."""
    evidence = told.explained.evidence
    said: list[str] = []
    sign = sign_in(evidence)
    if cause == "sampling_noise":
        said += _of_chance(told)
    elif cause == "own_error":
        bare, same = without_tools(evidence), same_without_tools(evidence)
        if same or bare is not None:
            said.append(same or (_of_bare(bare) if bare else ""))
    else:
        said += side_by_side(cause, evidence)
        adopted = evidence.signals.adoption
        gave = adopted is not None and adopted.is_new and OF_FORMS[adopted.form] == cause
        shown = cause in outside_signs(evidence.signals, evidence.score) or (sign is not None and sign[0] == cause)
        if shown or gave:
            said.append(happened(cause, told).clause)
        if cause == "format" and evidence.re_asked:
            said.append(of_scores(RE_ASKED, evidence.re_asked, evidence).told)
        if cause in AT_CALLS and (still := right_until(happened(cause, told).event, evidence)):
            said.append(still)
    listed = "; ".join(said) or (WHAT_IS_LEFT if cause in BY_CHANCE else "no row tests it apart")
    return f" {capital(listed) if capitals else listed[:1].lower() + listed[1:]}."


def _of_bare(bare: Row) -> str:
    """What trials without tools say of the model's own error."""
    if bare.share == RIGHT:
        return f"{bare.told}, which points neither way"
    return f"though {bare.told}" if bare.share > RIGHT else bare.told


def side_by_side(cause: Mechanism, evidence: Evidence, rows: Sequence[Row] = ()) -> Iterator[str]:
    """The clearest pair, or these `rows`, and the sums of all runs where they are few."""
    rows = rows or pair_of(cause, evidence)
    if len(rows) > 1:
        gone, with_it = sides(cause, evidence)
        if RIGHT < rows[1].share >= rows[0].share and gone and with_it and total(gone).share > total(with_it).share:
            sums = f"of all its runs without it {total(gone).count}, with it {total(with_it).count}"
            yield f"{sums}; but right with it too are {rows[1].count} ({rows[1].name})"
            return
        without, there = (f"{row.count} right ({row.name})" for row in rows)
        few = ", though these are few" if are_few(rows) else ""
        shown = few if bears_difference(rows) else TOO_FEW if rows[0].share > rows[1].share else NOT_SHOWN
        whole = f"; of all its runs without it {total(gone).count}, with it {total(with_it).count}" if few else ""
        yield f"without it {without}, with it {there}{shown}{whole if gone and with_it else ''}"


def _of_chance(told: Explanation) -> Iterator[str]:
    """What draws again say against it stands with what is known of the likeliest cause."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    again, bare = unchanged(evidence), without_tools(evidence)
    if again and total(again).share >= RIGHT:
        yield f"{drawn_again(again)}{', which points neither way' if total(again).share == RIGHT else ''}"
    elif again and attribution is not None and as_likely(named_shares(told, attribution)):
        yield f"{drawn_again(again)}, which {'speaks against it' if against_chance(again) else 'says little'}"
    elif attribution is not None and (left := _wrong_without(attribution, evidence)):
        yield left
    elif again and attribution is not None and attribution.method == "replay":
        yield f"{WHAT_IS_LEFT}, though {drawn_again(again)}"
    elif bare is not None and bare.share > RIGHT:
        yield f"{bare.told}, so it can answer the question"


def first_reply_part(told: Explanation) -> float:
    """Of the probability of sampling noise that of a first reply, which all its replays keep; 0 of little, or where no
    other trial that called tools tells it from calls."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay":
        return 0.0
    anew = [level for levels in told_levels(evidence) for level in levels if level.part == "first_reply"]
    if all(level.what in WITHOUT_CALLS for level in anew):
        return 0.0
    whole = dict(ranked(attribution)).get("sampling_noise", 0.0)
    part = whole * due_to("first_reply", "sampling_noise", evidence, told.rates)
    return part if part >= LEAST_PART else 0.0


LEAST_PART = 0.1
"""Of probability, from which on it is told."""


def computing_part(told: Explanation) -> float:
    """Of the probability of a lock-in that of calling its code at all, whatever this gave; 0 of little."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay":
        return 0.0
    part = dict(ranked(attribution)).get("lock_in", 0.0) * due_to("calling", "lock_in", evidence, told.rates)
    return part if part >= LEAST_PART else 0.0


def _wrong_without(attribution: Attribution, evidence: Evidence) -> str:
    """What leaves room for chance beside the likeliest cause: wrong ones without it too, or few runs; else empty."""
    cause = first_of(attribution)
    gone, there = (total(side) for side in sides(cause, evidence))
    if attribution.method != "replay" or gone.graded or not gone.runs:
        return ""
    if wrong := gone.runs - gone.right:
        are = "is" if wrong == 1 else "are"
        return f"without {quoted_name(cause)} {wrong:g} of {gone.runs:g} {are} wrong too: this one might have been"
    if gone.runs >= FEW or (there.runs and bears_difference([gone, there])):
        return ""
    return f"without {quoted_name(cause)} {gone.came}; so few do not rule chance out"


NOT_SHOWN, TOO_FEW = ", which does not show it", ", too few to show it"


def drawn_again(rows: list[Row]) -> str:
    """`with its last reply drawn again: 2 of 8 right`, or the sum of such rows."""
    return rows[0].told if len(rows) == 1 else f"drawn again, all such rows together: {total(rows).came}"
