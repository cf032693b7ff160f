"""The table of runs of one trial: with more and more taken away, each rung names the cause that it tests. A cause is
likely where answers are right more often from its rung on, if it was likely enough before."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from toolablate.analysis.attribution.change_rates import Part
from toolablate.analysis.attribution.decomposition import ToolKind
from toolablate.analysis.attribution.evidence import KINDS, Evidence, Explanation
from toolablate.analysis.attribution.levels import (
    LAST_REPLY,
    OFFERED,
    REPEATED,
    SHAM,
    WITHOUT_TOOLS,
    Level,
    told_levels,
)
from toolablate.analysis.attribution.replay_rules import OTHER_ANSWERS, before_runs, blamed_at, calls_are_lock_in
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, lacks_packages
from toolablate.reports.cause_wording import chance, without_tools
from toolablate.reports.numbers import counted as number_of
from toolablate.reports.why.causes import (
    FIRST_REPLY,
    computing_part,
    first_of,
    first_reply_part,
    lacking,
    name_of,
    quoted_name,
    ranked,
    tells_form,
    told_hundredths,
    what_it_is,
)
from toolablate.reports.why.changed_runs import (
    AFTER_FIRST,
    AS_WAS,
    EARLY,
    RE_ASKED,
    REPEATS,
    Row,
    levels_of,
    of_scores,
    row_of,
    total,
    uncounted,
)
from toolablate.reports.why.happened import failed_for_a_time
from toolablate.reports.why.named_causes import named_shares
from toolablate.reports.why.turn import MOST_SAID, NO_ANSWER, asked_at, count, redrawn_answers, turn_of
from toolablate.traces.records import Mechanism
from toolablate.traces.terminal_text import one_line


class RunLine(NamedTuple):
    """A kind of run, how many are right, and whether these speak for the likeliest cause, or each of two; both are
    empty where its rung counts, and has no other kind."""

    name: str
    came: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Rung:
    """What is taken away at it, beside what the rungs before it took (of two kinds of tools the results of each alone,
    then both), how many runs are right then, and the causes that it tests with their probabilities. `rows` are its
    kinds of run, and `whole` their sum where they count; of one kind alone `mark` is that of its runs. `tested` are
    causes that its runs are without; `alone` says that it takes away results of one kind of tools of two."""

    taken: str
    came: str
    cause: str
    rows: tuple[RunLine, ...] = ()
    mark: str = ""
    whole: Row | None = None
    tested: tuple[Mechanism, ...] = ()
    alone: bool = False


@dataclass(slots=True)
class _Draft:
    """A rung of runs, to which those are added that take away nothing which is a cause of its own."""

    taken: str
    cause: str
    levels: dict[Row, Level]
    tested: tuple[Mechanism, ...]
    alone: bool

    def rung(self, evidence: Evidence, marks: Mapping[Row, str]) -> Rung:
        whole = total(list(self.levels))
        of_one = marks.get(next(iter(self.levels)), "") if len(self.levels) == 1 else ""
        rows = _lines(self.levels, evidence, marks)
        return Rung(self.taken, whole.count, self.cause, rows, of_one, whole, self.tested, self.alone)


NOT_COUNTED, OF_THE_TURN = "Not counted", "Counted in “before” alone, by where it turns wrong"
ALL_RUNS, NO_RUNS, THE_REST = "all runs together", "no run tests it", "causes not listed"
ROUNDED = "rounded off"

TAKEN: Mapping[Part, str] = {
    "again": "nothing",
    "budget": "its limit",
    "tool_fault": "the failure of its tool",
    "search": "what its search and pages gave",
    "code": "what its code gave",
    "other": "what its other tools gave",
    "volume": "the length of its results",
    "first_reply": "its own first reply",
    "calling": "its calls",
    "availability": "the offer of tools",
    "prompt": "the condition's prompt",
}
"""What a rung is called, by what was at work."""
ANY_RESULT = "any result of its calls"
FORM = "the form of its answer"
BUT_OF_FORM = " but those asked for its form"
ALONE = ", alone"
AS_ABOVE, IN_OTHERS = ", as above", " in other trials, whose first reply is another"


def rungs(told: Explanation, marks: Mapping[Row, str]) -> Iterator[Rung]:
    """From the trial as it was to the question without tools; then causes that no rung tests, and what does not
    count."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    chances = _Chances.of(told)
    of_form = attribution is not None and tells_form(attribution, evidence)
    if of_form:
        row = of_scores(RE_ASKED, evidence.re_asked, evidence)
        yield Rung(FORM, row.count, chances.told(["format"]), (RunLine(row.name, ""),))
    left = [row for row in uncounted(evidence) if not (of_form and row.changed == RE_ASKED)]
    if evidence.all_runs is None:
        # Nothing was run again: what nothing was taken away from are its other repeats.
        yield from (
            Rung(TAKEN["again"], row.count, chances.told(["sampling_noise"]), (RunLine(row.name, ""),))
            for row in left
            if row.changed == REPEATS
        )
        left = [row for row in left if row.changed != REPEATS]
    yield from (each.rung(evidence, marks) for each in _drafts(chances, told))
    yield from _untested(chances, told, f"{ALL_RUNS}{BUT_OF_FORM if of_form else ''}")
    for title, others in ((NOT_COUNTED, left), (OF_THE_TURN, at_other_steps(evidence))):
        if lines := tuple(_line(row, evidence, marks) for row in others):
            yield Rung(title, "", "", lines)


def _drafts(chances: "_Chances", told: Explanation) -> list[_Draft]:
    evidence, gone, found = told.explained.evidence, set[Part](), list[_Draft]()
    for (parts, placebos, empty), levels in groupby(_levels(evidence), key=lambda each: _tested(each, evidence)):
        # What is gone already is named again only where nothing else is taken away.
        new = tuple(each for each in parts if each not in gone) or parts
        rows = {row_of(each, evidence): each for each in levels}
        causes: tuple[Mechanism, ...] = ("interaction",) if len(placebos) > 1 else (*_causes_at(new, rows, evidence),)
        # Code that is blamed whatever it gave is called still.
        by_calls = "code" in new and not causes and calls_are_lock_in(evidence)
        named: tuple[Mechanism, ...] = ("lock_in",) if by_calls else causes
        noise = 0.0 if new != ("first_reply",) or "sampling_noise" in chances.parts else first_reply_part(told)
        of_none = empty or new == ("first_reply",)
        if found and (not named or (of_none and not noise and chances.said.issuperset(named))):
            found[-1].levels |= rows
        else:
            taken = _taken(new, placebos, empty, evidence, first=not gone, again=_drawn(list(rows)))
            if new == ("first_reply",):
                said = chances.of_part("sampling_noise", noise)
            elif "calling" in new and named == ("lock_in",):
                said = chances.of_part("lock_in", computing_part(told))
            else:
                said = chances.told(named)
            found.append(_Draft(taken, said, rows, causes, len(placebos) == 1))
        gone |= {*new} - ({"calling"} if empty else set())
    return found


def beside_its_line(cause: Mechanism, table: Sequence[Rung], told: Explanation) -> str:
    """What the counts say of a cause: right answers from its line on, without it, and above it; of what needs no tool
    those at all lines. Empty of what has no line, or is graded."""
    counted = [rung for rung in table if rung.whole is not None]
    whole = [rung.whole for rung in counted if rung.whole is not None]
    if not whole or total(whole).graded:
        return ""
    if cause in BY_CHANCE:
        anew = next((place for place, rung in enumerate(counted) if rung.taken.endswith(IN_OTHERS)), None)
        if anew and what_it_is(cause, told) == FIRST_REPLY:
            line = f"From the line “{counted[anew].taken}” on {total(whole[anew:]).count} are right"
            return f"{line}, above it {total(whole[:anew]).count}."
        again = f"with nothing taken away {whole[0].count}, " if counted[0].taken.startswith(TAKEN["again"]) else ""
        form = BUT_OF_FORM if table[0].taken == FORM else ""
        return f"Right answers: {again}at all lines{form} {total(whole).count}."
    at = next((place for place, rung in enumerate(counted) if cause in rung.tested), None)
    if at is None:
        return ""
    # Where another kind of results alone is taken away the cause is there still.
    gone = [rung for rung in counted[at:] if rung is counted[at] or not rung.alone]
    without, beside = (
        total([rung.whole for rung in counted if rung.whole is not None and (rung in gone) == side])
        for side in (True, False)
    )
    with_it = f"with it {beside.count}" if beside.runs else "with it this trial is wrong"
    line = f"from the line “{counted[at].taken}” on"
    return f"Without {quoted_name(cause)} ({line}) {without.count} are right, {with_it}."


def _causes_at(parts: Sequence[Part], rows: Collection[Row], evidence: Evidence) -> Iterator[Mechanism]:
    """Without those that are there still: calls in runs whose calls find nothing."""
    for cause in blamed_at(parts, evidence):
        gone = lacking(cause, evidence)
        if not gone or any(row in gone for row in rows):
            yield cause


def _levels(evidence: Evidence) -> list[Level]:
    """Of two orders of kinds of tools the levels of both: without the results of each alone, then without both."""
    first, *others = told_levels(evidence)
    found = list(first)
    for levels in others:
        known = [each.what for each in found]
        new = [each for each in levels if each.what not in known]
        joint = (
            next((each.what for each in levels[levels.index(new[-1]) + 1 :] if each.what in known), "") if new else ""
        )
        place = known.index(joint) if joint else len(found)
        found[place:place] = new
    return [each for each in found if each.what != REPEATED]


def _tested(level: Level, evidence: Evidence) -> tuple[tuple[Part, ...], tuple[ToolKind, ...], bool]:
    """What is taken away at a level; of replays with other results the kinds of tools that these are of, where the
    results of each kind are taken away alone too; and whether calls are there still, and find nothing."""
    placebos = level.purpose.placebos if level.purpose is not None and level.purpose.kind == "rollout" else ()
    lacking = lacks_packages(evidence.signals, "code")
    apart = len(told_levels(evidence)) > 1 or (lacking and level.part == "again")
    gone: set[Part] = {level.part, *level.also}
    if evidence.all_runs is None and "search" in gone:
        # No arm tells kinds of results apart.
        gone = (gone - {"search"}) | (evidence.inputs.tools or {"search"})
    parts = tuple(part for part in TAKEN if part in gone)
    return parts, placebos if apart and not (lacking and len(placebos) > 1) else (), level.what == SHAM


def _taken(
    parts: Sequence[Part],
    placebos: Sequence[ToolKind],
    empty: bool,
    evidence: Evidence,
    *,
    first: bool,
    again: str,
) -> str:
    """`what its code gave, alone`; of two kinds of tools, each taken away alone before, `both`."""
    if parts == ("first_reply",):
        return f"{TAKEN['again'] if first else 'the same'}{IN_OTHERS}"
    if parts == ("again",):
        why = "its code fails there too" if placebos else again
        return f"{TAKEN['again']}{'' if first else ' more'} ({why})"
    named = {**TAKEN, **_gave_nothing(evidence)}
    if placebos:
        return f"{named[placebos[0]]}{ALONE}" if len(placebos) == 1 else "both of these"
    if empty:
        named["calling"] = ANY_RESULT
    *some, last = (named[each] for each in parts if each != "again")
    return f"{', '.join(some)} and {last}" if some else last


def _drawn(rows: Sequence[Row]) -> str:
    """How runs differ in which nothing is taken away."""
    # Early answers beside replays are draws of the answer as well.
    found = [_BARRED if row.changed == OFFERED else "drawn again" for row in rows if not row.is_early]
    return " or ".join(sorted({*found})) if found else "asked at once"


_BARRED = "forbidden the calls that it did not make"


def _gave_nothing(evidence: Evidence) -> dict[Part, str]:
    """Of kinds of tools of which no call gave anything, so that a result is what runs with other results add."""
    calls = evidence.signals.calls
    gave, called = {KINDS[call.form] for call in calls if call.gave}, {KINDS[call.form] for call in calls}
    of: dict[Part, str] = {"search": "its search", "code": "its code", "other": "its other tools"}
    return {part: f"that {tool} gave nothing" for part, tool in of.items() if part in called - gave}


def _lines(rows: Mapping[Row, Level], evidence: Evidence, marks: Mapping[Row, str]) -> tuple[RunLine, ...]:
    lines = [_line(row, evidence, marks, _answers(level, evidence)) for row, level in rows.items()]
    return tuple(lines) if len(lines) > 1 else tuple(RunLine(each.name, "") for each in lines)


def _answers(level: Level, evidence: Evidence) -> str:
    """What these replays answered: `: D (2), A`; empty where not all of its runs are such."""
    found = evidence.answered.get(level.purpose, ()) if level.purpose is not None else ()
    if not found or len(found) != level.tally.runs:
        return ""
    said = Counter(one_line(each, max_chars=MOST_CHARS) or NO_ANSWER for each in found).most_common()
    shown = [f"{each} ({times})" if times > 1 else each for each, times in said[:MOST_SAID]]
    if more := sum(times for _, times in said[MOST_SAID:]):
        shown.append(f"others ({more})")
    return f": {', '.join(shown)}"


MOST_CHARS = 40


def _line(row: Row, evidence: Evidence, marks: Mapping[Row, str], answered: str = "") -> RunLine:
    """What was changed, with what trials without tools answered, whose runs these are, and why they do not count."""
    if row.changed == WITHOUT_TOOLS:
        answered = f": {next(without_tools(evidence)).partition(': ')[2]}"
    drawn, came = redrawn_answers(evidence) if row.changed == LAST_REPLY else (0, "")
    if came and drawn == row.runs:
        answered = f": {came}"
    # With runs from the one result at which it turned the row has more than these.
    if row.changed.startswith(AFTER_FIRST) and evidence.pivotal is None:
        answered += _came_again(row, evidence)
    elsewhere = f" ({row.asked_where})" if row.elsewhere else ""
    own = number_of(round(row.runs - row.run_again), "trial")
    again = f" ({own}, {number_of(row.run_again, 'more run')})" if row.run_again else ""
    return RunLine(
        f"{row.name}{answered}{elsewhere}{again}{f' ({row.aside})' if row.aside else ''}",
        row.count,
        marks.get(row, ""),
    )


def _came_again(row: Row, evidence: Evidence) -> str:
    """In how many of the runs that go on from the first result a later one came again, that has its answer, or at which
    early answers turn wrong: these draw the calls for it again too."""
    later, adopted, turn = evidence.came_again, evidence.signals.adoption, turn_of(evidence)
    at = [adopted.event] if adopted is not None else [call for call in later if turn is not None and turn.holds(call)]
    event = next((each for each in at if each in later), None)
    return "" if event is None else f" (event {event}'s result came again in {later[event]} of {row.runs:g})"


def at_other_steps(evidence: Evidence) -> Iterator[Row]:
    """Early answers that stand at no rung: they count by where they turn wrong alone."""
    counted = {row.changed for row in levels_of(evidence)}
    steps = [each for each in asked_at(evidence) if each.step and _row_at(evidence.steps[each.step]) not in counted]
    if steps:
        found = count(steps)
        yield Row("asked at once after other events", found.asked, found.right, level=OTHER_ANSWERS)


def _row_at(event: int) -> str:
    return f"{EARLY} {event - 1}"


# The probabilities of causes, each told at the first rung that tests it.


@dataclass(frozen=True, slots=True)
class _Chances:
    """In hundredths: of each cause, and before any run was counted; both empty where no runs are weighed. `rest` is
    what no cause has by name; `said` are those that a rung has named, `parts` those of which one told a part."""

    now: Mapping[Mechanism, int] = field(default_factory=dict)
    before: Mapping[Mechanism, int] = field(default_factory=dict)
    rest: int = 0
    said: set[Mechanism] = field(default_factory=set)
    parts: set[Mechanism] = field(default_factory=set)

    @classmethod
    def of(cls, told: Explanation) -> "_Chances":
        attribution = told.explained.attribution
        if attribution is None or attribution.method != "replay" or first_of(attribution) == "unknown":
            return cls()
        shares = named_shares(told, attribution)
        now = {shares.cause: shares.hundredths, **dict(shares.others)}
        left = 100 - sum(now.values())
        for cause, share in ranked(attribution):
            if cause not in now:
                now[cause] = min(left, round(100 * share))
                left -= now[cause]
        return cls(now, in_hundredths(before_runs(told.explained.evidence, told.rates)), left)

    def told(self, causes: Iterable[Mechanism]) -> str:
        """`computational lock-in .75 (before: .30)`; without a probability where none is weighed."""
        return "; ".join(self._one(each) for each in dict.fromkeys(causes))

    def of_part(self, cause: Mechanism, part: float) -> str:
        """`sampling noise, .68 of its .88`, where a part of a probability that is told above is known, and once."""
        if not part or cause not in self.said or cause in self.parts:
            return self.told([cause])
        self.parts.add(cause)
        return f"{name_of(cause)}, {chance(part)} of its {told_hundredths(self.now.get(cause, 0))}"

    def _one(self, cause: Mechanism) -> str:
        if not self.now:
            return name_of(cause)
        if cause in self.said:
            return f"{name_of(cause)}{AS_ABOVE}"
        self.said.add(cause)
        before = self.before.get(cause, 0) if self.before else None
        return f"{name_of(cause)} {_with_before(self.now.get(cause, 0), before)}"


def _with_before(now: int, before: int | None) -> str:
    return told_hundredths(now) if before is None else f"{told_hundredths(now)} (before: {told_hundredths(before)})"


def in_hundredths(shares: Mapping[Mechanism, float]) -> dict[Mechanism, int]:
    """That add to 100, by largest remainders."""
    found = {each: int(100 * share) for each, share in shares.items()}
    short = 100 - sum(found.values()) if found else 0
    for each in sorted(shares, key=lambda each: found[each] - 100 * shares[each])[:short]:
        found[each] += 1
    return found


def _untested(chances: _Chances, told: Explanation, all_runs: str) -> Iterator[Rung]:
    """What is left where nothing makes it right, and causes that no run takes away."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    if attribution is None:
        return
    failed: tuple[Mechanism, ...] = ("tool_fault",) if failed_for_a_time(evidence) and chances.now else ()
    causes = dict.fromkeys((*chances.now, *chances.before, *failed))
    first = next(iter(chances.now), None)
    rows = [row for row in levels_of(evidence) if row.changed != AS_WAS]
    if "own_error" in causes:
        yield Rung(all_runs, total(rows).count if rows else "", chances.told(["own_error"]))
    for cause in causes:
        likely = cause in (first, *failed) or chances.now.get(cause) or chances.before.get(cause, 0) >= LIKELY_BEFORE
        if likely and cause not in chances.said:
            why = ": it failed for a time, and worked again" if cause in failed else ""
            yield Rung(NO_RUNS, "", f"{chances.told([cause])}{why}")
    before = sum(share for cause, share in chances.before.items() if cause not in chances.said)
    if chances.rest or before:
        unlisted = any(share >= UNLISTED and cause not in chances.said for cause, share in ranked(attribution))
        title = THE_REST if before or unlisted else ROUNDED
        yield Rung(title, "", _with_before(chances.rest, before if before else None))


UNLISTED = 0.005
"""Of a probability that is a hundredth."""
LIKELY_BEFORE = 5
"""Hundredths before any run from which on a cause that no run tests is named, however improbable it is."""
