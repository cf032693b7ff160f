"""Why one trial went as it did: the verdict, how it is known, how sure it is, what speaks against it, what else it may
be, what would tell.

Rules, so that no sentence contradicts another, or the table of runs:

- Every sentence is made from the same rows, early answers and probabilities as the table; none from a recorded note.
- The cause that is named is the most probable one. What needs no tool counts together, as in tables of causes.
- Of one cause there is one probability, and those of a page add to 1.
- What early answers say against a cause stands with all else that speaks against it.
- What replays of the trial measured, and what is read from the trace, are named apart.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.replay_rules import RE_ASKED_PRIOR
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance
from toolablate.reports.numbers import counted as number_of
from toolablate.reports.why.against import against
from toolablate.reports.why.answer_source import course
from toolablate.reports.why.causes import (
    CAUSES,
    POSSIBLE,
    Shares,
    as_likely,
    counted_runs,
    defined,
    first_of,
    how_sure,
    hundred,
    name_of,
    quoted_name,
    ranked,
    tells_form,
    what_it_is,
    wrong_anyway_part,
)
from toolablate.reports.why.changed_runs import capital, replays_of
from toolablate.reports.why.happened import (
    Apart,
    Said,
    happened,
    last_reply,
)
from toolablate.reports.why.known import known
from toolablate.reports.why.named_causes import named_shares
from toolablate.reports.why.other_causes import others
from toolablate.reports.why.quoted import BARE_ANSWER, cut
from toolablate.reports.why.rests_on import WithoutRuns, column_of, rests_on, rests_on_them, what_it_marks
from toolablate.reports.why.rungs import Rung, at_other_steps, beside_its_line, rungs
from toolablate.reports.why.would_tell import would_tell
from toolablate.traces.records import Mechanism, ModelCall
from toolablate.traces.terminal_text import inert, one_line, plain_text


@dataclass(frozen=True, slots=True)
class WhyPart:
    """Sentences, the table of runs below them with the heads of its columns, and notes to it."""

    title: str
    lines: tuple[Said, ...]
    heads: tuple[str, ...] = ()
    rungs: tuple[Rung, ...] = ()
    notes: tuple[Said, ...] = ()


KNOWN, SURE = "How we know", "How sure"
AGAINST, AGAINST_EACH = "What speaks against it", "What speaks against each"


def why(told: Explanation) -> tuple[WhyPart, ...]:
    """The parts that have something to say."""
    attribution = told.explained.attribution
    shares = None if attribution is None else named_shares(told, attribution)
    weighed = shares is not None and shares.cause != "unknown" and has_starts(shares, told)
    rests = rests_on(told) if weighed else ()
    undecided = shares is not None and bool(as_likely(shares))
    verdict, *more = (
        WhyPart("Verdict", tuple(_verdict(told))),
        _known(told, shares, rests),
        WhyPart(SURE, tuple(_how_sure(told, rests))),
        WhyPart(AGAINST_EACH if undecided else AGAINST, tuple(against(told, rests))),
        WhyPart("What else it may be", tuple(others(told))),
        WhyPart("What would tell", tuple(would_tell(told))),
    )
    parts = tuple(part for part in (verdict, *more) if part.lines or part.rungs or part.notes)
    if attribution is None or attribution.method != "replay":
        return parts
    return tuple(_with_names(parts, told))


RUN_AGAIN, OTHER_TRIALS = "The question was run again with", "Other trials of the question have"
LEAD = "{} more and more taken away."
RULE = (
    " A cause is likely if answers are right more often from its line on than above it, and it was likely enough"
    " before: sampling noise if they are right with nothing taken away, or wrong at times whatever is; the model's own"
    " error if they stay wrong at every line."
)
RIGHT_RUNS, TAKEN_AWAY = "Right", "Taken away, more and more"
THE_CAUSE = "the cause, if answers turn right there"
FOR_IT = "For it"


def _known(told: Explanation, shares: Shares | None, rests: Sequence[WithoutRuns]) -> WhyPart:
    """Of a trial that is wrong with what its runs say of a cause."""
    marks = {} if shares is None else column_of(told, shares, rests)
    table, attribution = tuple(rungs(told, marks)), told.explained.attribution
    if attribution is None or shares is None or not table:
        return WhyPart(KNOWN, (), (RIGHT_RUNS, TAKEN_AWAY), table, tuple(known(told)))
    lead, heads = LEAD.format(OTHER_TRIALS if told.explained.evidence.all_runs is None else RUN_AGAIN), [RIGHT_RUNS]
    heads.append(f"{TAKEN_AWAY}: {THE_CAUSE}")
    if marks:
        heads.append(FOR_IT)
    if attribution.method != "replay":
        return WhyPart(KNOWN, (lead,), tuple(heads), table, tuple(known(told)))
    causes = (shares.cause, *(cause for cause, _ in as_likely(shares)))
    counts = dict.fromkeys(beside_its_line(cause, table, told) for cause in causes)
    said = f"{lead}{RULE}{f' {what_it_marks(shares)}' if marks else ''}"
    lines = (said, *filter(None, counts), *_wrong_anyway(told, shares))
    return WhyPart(KNOWN, lines, tuple(heads), table, tuple(known(told)))


def _wrong_anyway(told: Explanation, shares: Shares) -> Iterator[str]:
    """Why sampling noise stays likely where nothing taken away leaves answers wrong."""
    if part := wrong_anyway_part(told):
        whole = hundred({shares.cause: shares.hundredths, **dict(shares.others)}["sampling_noise"])
        of_it = f"the {whole} of {quoted_name('sampling_noise')}"
        how_much = f"All {of_it}" if chance(part) == whole else f"Of {of_it}, {chance(part)}"
        yield f"{how_much} is that this answer may have been wrong by chance whatever is taken away."


def _with_names(parts: Sequence[WhyPart], told: Explanation) -> Iterator[WhyPart]:
    """With what each cause of the table is that is not improbable, and that no sentence defines."""
    attribution = told.explained.attribution
    assert attribution is not None
    said = " ".join(str(line) for part in parts for line in (*part.lines, *part.notes))
    likely = [(name_of(each), what_it_is(each, told)) for each, share in ranked(attribution) if share >= LEAST_DEFINED]
    likely += [(name, what_it_is(each, told)) for each, (name, _) in CAUSES.items() if f"“{name}”" in said]
    unsaid = [f"“{name}”: {what}" for name, what in dict.fromkeys(likely) if f"{name} ({what}" not in said]
    for part in parts:
        notes = (*part.notes, f"Here, {'; '.join(unsaid)}.") if part.rungs and unsaid else part.notes
        yield replace(part, notes=notes)


LEAST_DEFINED = 0.05
"""Of the probability of a cause."""


def _how_sure(told: Explanation, rests: Sequence[WithoutRuns]) -> Iterator[str]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay" or first_of(attribution) == "unknown":
        return
    shares = named_shares(told, attribution)
    if has_starts(shares, told):
        yield from rests_on_them(told, shares, rests)
        yield _how(told)
    else:
        yield _of_form(sum(evidence.re_asked), len(evidence.re_asked))
        yield _how(told, of_others=True)


def _how(told: Explanation, *, of_others: bool = False) -> str:
    whose, known = " of these" if of_others else "", "is assumed to change answers in any store"
    if store := told.rates.store:
        trials = number_of(round(max(each.trials for each in store.values())), "replayed wrong trial")
        known = f"changed answers in {trials} of this store (and by a general guess, the more the fewer these are)"
    turn = ", and by where this trial's early answers turn wrong" if _has_early(told) else ""
    return (
        f"“Before”{whose} is the probability before the runs of the table: by how often taking a cause away"
        f" {known}{turn}. {HOW_WEIGHED}"
    )


HOW_WEIGHED = (
    "By Bayes' rule, the causes that fit all counts of the table best become likelier than before: each says from which"
    " line on answers should be right."
)


def _has_early(told: Explanation) -> bool:
    """Whether early answers tell more than their rows do."""
    evidence = told.explained.evidence
    return evidence.flip is not None or any(at_other_steps(evidence))


def has_starts(shares: Shares, told: Explanation) -> bool:
    """Whether probabilities before any run are told: what is asked once more for its form has a rule of its own."""
    attribution = told.explained.attribution
    assert attribution is not None
    return not (shares.cause == "format" and tells_form(attribution, told.explained.evidence))


def _of_form(right: float, asked: int) -> str:
    """The mean of a beta distribution whose parameters are `RE_ASKED_PRIOR` before anything is asked."""
    likely = (right + RE_ASKED_PRIOR) / (asked + 2 * RE_ASKED_PRIOR)
    return (
        f"{quoted_name('format')} is how likely its reply has the right answer in it: {chance(0.5)} before it is asked"
        " once more for this answer alone. Asked so, a model nearly always says what the reply said, so that few"
        f" answers tell much: {right:g} right ones of {asked} make it {chance(likely)}. Other causes share the rest."
    )


def in_short(told: Explanation) -> str:
    """The verdict in a few words."""
    attribution = told.explained.attribution
    if attribution is None or first_of(attribution) == "unknown":
        return str(next(_verdict(told)))
    shares = named_shares(told, attribution)
    sure, name = how_sure(shares.hundredths / 100), name_of(shares.cause)
    if as_likely(shares):
        return f"Undecided{_several(shares, name_of)}."
    return f"{f'{capital(sure)} ' if sure else NONE_LIKELY}{name}: probability {shares.probability}."


NONE_LIKELY = "No cause is more likely than not; the likeliest is "


def _several(shares: Shares, naming: Callable[[Mechanism], str]) -> str:
    """Those that are as likely, with their probabilities; the two that need no tool as one, where they are so
    together."""
    named = ((shares.cause, shares.hundredths), *as_likely(shares))
    if shares.together is not None:
        needless = " or ".join(naming(each) for each, _ in named if each in BY_CHANCE)
        others = "".join(f", or {naming(each)}: {hundred(share)}" for each, share in named if each not in BY_CHANCE)
        return f": {needless}, which need no tool, together: {hundred(shares.together)}{others}"
    *some, last = (f"{naming(cause)}: {hundred(share)}" for cause, share in named)
    return f" between {', '.join(some)}, and {last}"


def _less_likely(shares: Shares) -> str:
    """The other causes that the page speaks of."""
    several = (shares.cause, *(cause for cause, _ in as_likely(shares)))
    found = [each for each in shares.others if each[0] not in several and each[1] >= POSSIBLE]
    named = [f"{name_of(each)} ({hundred(share)})" for each, share in found]
    return f" Less likely: {', '.join(named)}." if named else ""


# What went wrong, and how sure that is.


def _verdict(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        right = evidence.score.value is not None and evidence.score.value >= RIGHT
        yield "The answer is right." if right else "The answer has no score, so no cause is looked for."
        yield from _gains(evidence)
        return
    shares = named_shares(told, attribution)
    basis = _basis(shares, told)
    if shares.cause == "unknown":
        yield (
            "The cause is not known. That it is something that the condition brings, and neither sampling noise nor the"
            f" model's own error: probability {shares.probability}{basis}."
        )
        return
    clause = happened(shares.cause, told).clause
    sure = how_sure(shares.hundredths / 100)
    if as_likely(shares):
        first = capital(clause) if shares.cause in BY_CHANCE else f"If it was {name_of(shares.cause)}: {clause}"
        named = _several(shares, lambda each: defined(each, told))
        yield f"Undecided{named}{basis}.{_less_likely(shares)} {first}."
    else:
        start = f"{capital(sure)} " if sure else NONE_LIKELY
        named, sure = defined(shares.cause, told), f"Probability {shares.probability}{basis}.{_less_likely(shares)}"
        # What needs no tool is not shown by what was called or found.
        rest = f". {sure} {capital(clause)}." if shares.cause in BY_CHANCE else f": {clause}. {sure}"
        yield f"{start}{named}{rest}"
    yield from course(told)
    yield from _in_its_own_words(told)
    if "prompt" in (shares.cause, *(cause for cause, _ in as_likely(shares))):
        yield from _words_of_the_condition(told)
    if "availability" in (shares.cause, *(cause for cause, _ in as_likely(shares))) and _offers(told):
        yield "The offer can act without a call: each request describes the tools to the model."


def _in_its_own_words(told: Explanation) -> Iterator[Said]:
    """The last reply without lines that give the answer alone; nothing where there is no more."""
    last = last_reply(told)
    event = None if last is None else told.conversation[last]
    if not isinstance(event, ModelCall):
        return
    lines = [each for each in plain_text(event.reply.message.content).splitlines() if each.strip()]
    said = one_line(" ".join(each for each in lines if not BARE_ANSWER.fullmatch(each.strip())), max_chars=OWN_WORDS)
    of_form = told.explained.attribution is not None and first_of(told.explained.attribution) == "format"
    if len(said) >= (1 if of_form else LEAST_WORDS):
        yield "Its last reply says:" if of_form else "Its last reply says, which need not be why:"
        yield Apart(f"event {last}: │ {said}")


OWN_WORDS, LEAST_WORDS = 300, 60
"""Characters. Less than the second gives no reason."""


def _offers(told: Explanation) -> bool:
    requests = [event.request for event in told.conversation if isinstance(event, ModelCall)]
    return bool(requests) and bool(requests[0].tools)


def _words_of_the_condition(told: Explanation) -> Iterator[Said]:
    """What its prompt adds to the question: the system message of its first request."""
    first = next((event for event in told.conversation if isinstance(event, ModelCall)), None)
    words = next((each.content for each in first.request.messages if each.role == "system"), "") if first else ""
    if told.explained.evidence.signals.prompted and words.strip():
        yield "The condition's prompt adds to the bare question:"
        yield Apart(f"│ {cut(inert(words).plain, 0)}")


def _basis(shares: Shares, told: Explanation) -> str:
    """What the probability rests on."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    assert attribution is not None
    replays = replays_of(evidence)
    several = f"{replays} replay{'' if replays == 1 else 's'}"
    if attribution.method != "replay":
        by = "by a judge" if attribution.method == "judge" else "from the trace"
        return f", a guess {by}: {f'its {several} do not test it' if replays else 'nothing was run again'}"
    form = len(evidence.re_asked) if tells_form(attribution, evidence) else 0
    if shares.cause == "format" and form:
        return f", from {form} answer{'' if form == 1 else 's'} that it was asked for once more"
    counted = sum(row.runs for row in counted_runs(evidence)) + form
    of_form = f" ({form} of them this reply, asked once more for its form)" if form and counted > form else ""
    return f", from the {counted:g} answers counted below{of_form}"


def _gains(evidence: Evidence) -> Iterator[str]:
    signals = evidence.inputs.replay.signals if evidence.inputs.replay else frozenset()
    gains = {
        "computed": "Its code computed what the model did not know.",
        "retrieved": "Its search found what the model did not know.",
        "answer_leak": "A search result had the answer beside the question.",
    }
    yield from (text for signal, text in gains.items() if signal in signals)
