"""Why tools changed scores, for a whole store: effect decompositions, wrong trials, judges."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import get_args

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolablate.analysis.attribution.decomposition import Account, Decomposition
from toolablate.analysis.attribution.evidence import Outlined
from toolablate.analysis.attribution.identified import DesignReach
from toolablate.analysis.attribution.judge_labels import (
    DISTRACTIONS,
    ErrorRow,
    ErrorTypes,
    JudgedDistraction,
    LabelShare,
    confusion_of,
)
from toolablate.analysis.attribution.report import FORM_NAMES, AttributionReport, ResultLengths, mechanism_name
from toolablate.analysis.calibration import LEAST_LABELS, LEAST_QUESTIONS, Calibration
from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.flips import Floor
from toolablate.analysis.labels.error_types import ERROR_TYPES
from toolablate.reports import numbers
from toolablate.reports.cause_wording import (
    attributed,
    chance,
    distraction_name,
    reach_lines,
    smallest_effects_told,
)
from toolablate.reports.tables import Blocks, Column, Fitted, figures, names, simulated_banner, words
from toolablate.reports.waterfall_bars import GAIN, LOSS, accounts_of, decomposition_bars, style_of, text_bars
from toolablate.reports.why.turn import as_told
from toolablate.traces.records import Attribution, Distraction, DistractionLabel, JudgeMatrix, ReplayDesign
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line, plain_text

MOST_BAR, LEAST_NAME, WHOLE_NAME, NARROW = 40, 13, 22, 72
NO_TOOLS = "no tools"
TRACE, ARMS, REPLAYS = "trace", "arms", "replays"
_BY_ARMS = frozenset({"calling", "availability", "prompt"})


def decomposition_view(
    decomposition: Decomposition,
    floor: Floor | None,
    design: ReplayDesign | None,
    room: int,
    *,
    simulated: bool,
    lengths: Sequence[ResultLengths] = (),
) -> Iterator[RenderableType]:
    """One model and condition: flips beside those of chance, the waterfall, and on what it rests."""
    against = " against no tools" + (f" ({one_line(floor.baseline)})" if floor else "")
    yield Text.assemble(
        *(" ", (one_line(decomposition.model), "bold"), "  ", (one_line(decomposition.condition), "bold"), against),
        f"  over {numbers.counted(decomposition.questions, 'question')}",
    )
    if simulated:
        yield simulated_banner()
    if floor is not None:
        yield Padding(Text(_flips(floor)), (0, 1, 0, 1))
    yield _decomposition_table(decomposition, room)
    yield Padding(Text("\n".join((*_remarks(decomposition, design), *_lengths(lengths)))), (0, 1, 1, 1))


def unresolved_view(
    decompositions: Sequence[Decomposition], floors: Sequence[Floor | None], marked: Set[str]
) -> Iterator[RenderableType]:
    """Conditions of which nothing but the effect is known, as no trial was replayed: a row for each."""
    baselines = {floor.baseline for floor in floors if floor is not None}
    against = f" ({one_line(baselines.pop())})" if len(baselines) == 1 else ""
    yield Text(f" Effects against no tools{against}, unresolved: no trial was replayed", style="bold")
    if {each.model for each in decompositions} <= marked:
        yield simulated_banner()
        marked = frozenset()
    noise = [floor.chance.noise_flips if floor else None for floor in floors]
    yield Fitted(
        (
            names("model", [_model(each.model, marked) for each in decompositions], common=True),
            names("condition", [_name(each.condition) for each in decompositions]),
            figures("points", [numbers.signed(each.effect.points) for each in decompositions]),
            figures(
                "95 % interval",
                [numbers.interval(each.effect.ci95, small=each.effect.small) for each in decompositions],
            ),
            figures(
                "90 % interval",
                [numbers.interval(each.effect.ci90, small=each.effect.small) for each in decompositions],
                spare=1,
            ),
            figures("flips", [_ways(floor) for floor in floors], spare=3),
            figures("by chance", [numbers.UNKNOWN if each is None else _flips_of(each) for each in noise], spare=3),
            figures("questions", [f"{each.questions:,}" for each in decompositions], common=True, spare=2),
            figures("trials", [f"{each.trials:,}" for each in decompositions], common=True, spare=2),
        )
    )
    told = "Flips: questions that go right to wrong / wrong to right between single runs; by chance: either way."
    yield Padding(Text(told, style="dim"), (0, 1, 1, 1))


def _ways(floor: Floor | None) -> str:
    if floor is None:
        return numbers.UNKNOWN
    return f"{_flips_of(floor.chance.flips_right_to_wrong)} / {_flips_of(floor.chance.flips_wrong_to_right)}"


def _unresolved(decompositions: Sequence[Decomposition]) -> list[Decomposition]:
    """Those of whose effect nothing is known: without replays, and without other arms or lost answers. One alone has
    room for its words."""
    found = [
        each
        for each in decompositions
        if not each.replayed and [account.name for account in accounts_of(each)] == ["unresolved"]
    ]
    return found if len(found) > 1 else []


def rests_on(name: str, decomposition: Decomposition) -> str:
    """Whether a mechanism is known by other arms of the ladder, by replays, or from traces alone."""
    # Without replays, what is known of the tools' use is the difference of two arms.
    if name in _BY_ARMS or (name == "use" and not decomposition.replayed):
        return ARMS
    if name == "unresolved":
        return ""
    return REPLAYS if decomposition.replayed else TRACE


def _flips(floor: Floor) -> str:
    chance = floor.chance
    harmed, helped = _flips_of(chance.flips_right_to_wrong), _flips_of(chance.flips_wrong_to_right)
    ways = f"{harmed} right to wrong, {helped} wrong to right"
    noise = (
        "what chance alone gives is not known without repeats of 2 or more"
        if chance.noise_flips is None
        else f"by chance alone {_flips_of(chance.noise_flips)} either way"
    )
    return f"Questions that flip between single runs: {ways}; {noise}."


def _flips_of(flips: float) -> str:
    """Of single runs a whole number, of several what is to be expected of one."""
    return f"{round(flips, 1):g}"


def _decomposition_table(decomposition: Decomposition, room: int) -> Fitted:
    accounts = accounts_of(decomposition)
    rows, bars = (*accounts, decomposition.effect), decomposition_bars(decomposition).bars
    least = LEAST_NAME if room < NARROW else WHOLE_NAME
    columns = (
        Column("", (Text(NO_TOOLS), *(inert(bar.name) for bar in bars)), least=least),
        figures("points", ["", *(Text(numbers.signed(bar.points), style=style_of(bar)) for bar in bars)]),
        figures("95 % interval", ["", *(numbers.interval(each.ci95, small=each.small) for each in rows)]),
        figures("90 % interval", ["", *(numbers.interval(each.ci90, small=each.small) for each in rows)], spare=1),
        figures("p", ["", *(numbers.p_value(each.p_value) for each in rows)], spare=2),
        figures("p Holm", ["", *(numbers.p_value(each.p_holm) for each in rows)], spare=4),
        words("rests on", ["", *(rests_on(each.name, decomposition) for each in accounts), ""]),
    )
    taken = sum(column.width + 2 for column in columns) + 3
    shown = text_bars(bars, min(MOST_BAR, max(room // 6, room - taken)))
    return Fitted((*columns, words("", shown)), ("", *("" for _ in accounts), "bold"))


def _remarks(decomposition: Decomposition, design: ReplayDesign | None) -> Iterator[str]:
    yield f"The mechanisms sum to the effect. {_replayed(decomposition, design)}"
    shown = {each.name for each in accounts_of(decomposition)}
    if nothing := [_of_nothing(each.name) for each in decomposition.mechanisms if each.name not in shown]:
        yield f"0 in every trial: {', '.join(nothing)}."
    if decomposition.clusters != decomposition.questions:
        clusters = numbers.counted(decomposition.clusters, "cluster")
        yield f"Intervals and p-values use {clusters} of questions that share a source."


def _lengths(lengths: Sequence[ResultLengths]) -> Iterator[str]:
    if lengths:
        told = (f"{FORM_NAMES[each.form]} {each.real:,.0f} / {each.placebo:,.0f}" for each in lengths)
        yield f"Characters of a result on average, real / placebo: {', '.join(told)}."


def _of_nothing(name: str) -> str:
    return mechanism_name(name) + (" (unreadable answers)" if name == "format_loss" else "")


def _replayed(decomposition: Decomposition, design: ReplayDesign | None) -> str:
    trials = numbers.counted(decomposition.trials, "trial")
    if not decomposition.replayed or design is None:
        return f"None of {trials} was replayed; what needs replays is unresolved."
    shares = f"{100 * design.failures:g} % of the wrong, {100 * design.successes:g} % of the right"
    weighed = "" if decomposition.replayed == decomposition.trials else "; they stand for all of their share"
    return f"{decomposition.replayed:,} of {trials} were replayed, a random sample ({shares}){weighed}."


# The trials that are wrong, and what each is attributed to.


SHOWN_EVENTS = 6
MECHANISM_CELLS = 21
_NO_TOOLS = ("sampling_noise", "own_error", "unknown")
"""What no tool did."""

Found = tuple[Outlined, Attribution]


def attributed_trials(explained: Sequence[Outlined]) -> list[Found]:
    """Those that have an attribution: what is measured before what is guessed, what a tool did first, the surest of
    it before the others."""
    return sorted(((each, each.attribution) for each in explained if each.attribution is not None), key=_rank)


def _rank(found: Found) -> tuple[bool, bool, float]:
    _, attribution = found
    return attribution.method != "replay", attribution.mechanism in _NO_TOOLS, -attribution.confidence


def trials_view(
    explained: Sequence[Outlined], most: int | None, simulated: Set[str] = frozenset()
) -> Iterator[RenderableType]:
    """How many wrong trials each mechanism has, then the trials; of more than `most` the first of them. Names in
    `simulated` are those of stand-ins."""
    found = attributed_trials(explained)
    if not found:
        return
    yield Text(f" Wrong trials with tools: {len(found):,}", style="bold")
    if simulated and {each.evidence.model for each in explained} <= simulated:
        yield simulated_banner()
        simulated = frozenset()
    yield Padding(Text(_counted(found)), (0, 1, 0, 1))
    shown = found if most is None else found[:most]
    yield _trials_table(shown, simulated)
    if len(shown) < len(found):
        yield Padding(Text(f"{len(found) - len(shown):,} more: --list", style="dim"), (0, 1, 1, 1))


def _trials_table(found: Sequence[Found], marked: Set[str]) -> RenderableType:
    return Fitted(
        (
            words("trial", [each.evidence.inputs.trial[:ID_CHARS] for each, _ in found]),
            names("question", [_name(each.evidence.question) for each, _ in found], cut=True),
            names("model", [_model(each.evidence.model, marked) for each, _ in found], common=True),
            names("condition", [_name(each.evidence.condition) for each, _ in found], common=True),
            Column("mechanism", tuple(Text(attributed(why)) for _, why in found), least=MECHANISM_CELLS),
            words("method", [why.method for _, why in found], common=True),
            figures("conf.", [chance(why.confidence) for _, why in found]),
            figures("turned at", [_event(as_told(why, each.evidence).turned_at) for each, why in found], spare=2),
            names("evidence", [_events(why.evidence) for _, why in found]),
        )
    )


def _counted(found: Sequence[Found]) -> str:
    """By replay, and by trace alone: the one is measured, the other a hypothesis."""
    lines = []
    for method, told in (("replay", "By replay"), ("trace", "By trace alone"), ("judge", "By judge alone")):
        counts = Counter(each.mechanism for _, each in found if each.method == method)
        if counts:
            listed = ", ".join(f"{mechanism_name(name)} {count:,}" for name, count in counts.most_common())
            lines.append(f"{told}: {listed}.")
    return "\n".join(lines)


def _name(text: str) -> Text:
    return inert(one_line(text))


def _model(name: str, marked: Set[str]) -> Text:
    return Text.assemble(_name(name), " (simulated)") if name in marked else _name(name)


def _event(number: int | None) -> str:
    return numbers.UNKNOWN if number is None else str(number)


def _events(events: Sequence[int]) -> str:
    more = ", ..." if len(events) > SHOWN_EVENTS else ""
    return ", ".join(map(str, events[:SHOWN_EVENTS])) + more


# What judges read in wrong trials: hypotheses, kept apart from what was measured.


_SHORT: Mapping[DistractionLabel, str] = {
    "misleading_adoption": "misled",
    "existence_as_norm": "norm",
    "over_engineering": "over-eng.",
    "none": "none",
}


def judged_view(judged: Sequence[JudgedDistraction]) -> Iterator[RenderableType]:
    """The measured points of retrieval distraction, as judges share them out, with the shares of trials and their
    intervals."""
    for each in judged:
        whose = f"{one_line(each.model)} {one_line(each.condition)}"
        parts = [
            f"{distraction_name(kind)} {numbers.signed(each.points[kind])} ({_share(each.shares.by_label[kind])})"
            for kind in get_args(Distraction)
            if kind in each.points
        ]
        told = ", ".join(parts) or "no label but none"
        trials = numbers.counted(each.shares.trials, "trial")
        why = each.shares.uncorrected
        how = f"Not corrected for the judge's errors: {why}" if why else "Corrected for its errors on planted trials"
        said = f"Retrieval distraction of {whose}, as {one_line(each.judge)} reads {trials}: {told}. {how}."
        yield Padding(Text(said), (0, 1, 1, 1))


def matrices_view(matrices: Sequence[JudgeMatrix]) -> Iterator[RenderableType]:
    """What each judge says of planted trials, beside what was planted."""
    for each in matrices:
        found = confusion_of(each)
        whose = (one_line(each.judge), "bold")
        yield Text.assemble(
            " What ", whose, f" (wording {each.wording}) says (across) of planted trials (down)", overflow="fold"
        )
        unlabelled = figures("no label", [str(found.unlabelled[true] or "") for true in DISTRACTIONS])
        yield Fitted(
            (
                names("true", [Text(_label_name(true)) for true in DISTRACTIONS]),
                *(
                    figures(_SHORT[said], [_trials(found.counts[true][said], true == said) for true in DISTRACTIONS])
                    for said in DISTRACTIONS
                ),
                *([unlabelled] if any(found.unlabelled.values()) else []),
            )
        )
        right = found.right
        told = f"{right.count} of {numbers.counted(right.of, 'label')} right"
        share = right.share
        # Wilson's, of trials one by one: repeats of a question make it too narrow.
        between = (
            f", {100 * share.low:.0f}-{100 * share.high:.0f} % (95 % interval of independent trials)" if share else ""
        )
        yield Padding(Text(f"{told}{between}.", style="dim"), (0, 1, 1, 1))


def errors_view(errors: Sequence[ErrorTypes]) -> Iterator[RenderableType]:
    """The seven types of error by domain, a table for each judge."""
    for each in errors:
        yield Text.assemble(
            " Errors as ", (one_line(each.judge), "bold"), " reads them, in % of labelled wrong trials (95 % interval)"
        )
        rows = (*each.by_domain, each.overall) if len(each.by_domain) > 1 else (each.overall,)
        yield Blocks(
            names("domain", [*(inert(one_line(row.domain) or "(none)") for row in rows[:-1]), "all"]),
            (
                figures("trials", [str(row.labelled) for row in rows]),
                *(
                    figures(name.replace("_", " "), [_percent(row, place) for row in rows])
                    for place, name in enumerate(ERROR_TYPES)
                ),
            ),
        )
        if each.overall.unlabelled:
            unlabelled = numbers.counted(each.overall.unlabelled, "trial")
            yield Padding(Text(f"{unlabelled} got no label.", style="dim"), (0, 1, 1, 1))


def _share(share: LabelShare) -> str:
    """Of all trials that were labelled, those with `none` among them."""
    between = "" if share.ci95 is None else f", {100 * share.ci95[0]:.0f} to {100 * share.ci95[1]:.0f}"
    return f"{100 * share.share:.0f} %{between}"


def _percent(row: ErrorRow, place: int) -> str:
    share = row.types[ERROR_TYPES[place]].share
    if share is None:
        return numbers.UNKNOWN
    return f"{100 * share.mean:.0f} ({100 * share.low:.0f}-{100 * share.high:.0f})"


def _label_name(label: DistractionLabel) -> str:
    return "none" if label == "none" else distraction_name(label)


def _trials(trials: int, agrees: bool) -> Text:
    return Text(str(trials) if trials else "", style="bold" if agrees else "")


# All that a store says of why its tools changed scores.


SHOWN_TRIALS = 10
_NOTHING = (
    "No trial with tools has a trial without tools of the same question to compare with. "
    "Run a plan with conditions of both kinds, such"
    " as 'none' and 'python', whose answers are scored."
)
HARMS = ("retrieval_distraction", "computation_misled", "computational_lock_in")


def reach_view(reach: DesignReach) -> Iterator[RenderableType]:
    """What the store's design can tell apart, before anything is spent: a line for each way to tell."""
    if not reach.mechanisms:
        return
    wrong = numbers.counted(reach.wrong_trials, "wrong trial")
    yield Text.assemble(" What this design can tell apart", f", with tools and {wrong}")
    lines = Table.grid(padding=(0, 2))
    for told_by, said in reach_lines(reach):
        lines.add_row(Text(_TOLD_BY[told_by], style="yellow" if told_by == "nothing" else ""), inert(said))
    yield Padding(lines, (0, 1, 0, 1))
    yield Padding(Text(smallest_effects_told(reach), style="dim"), (0, 1, 1, 1))


_TOLD_BY = {"arms": "by arms", "replays": "by replays", "trace": "by trace only", "nothing": "not told"}


def attribution_view(report: AttributionReport, *, all_trials: bool = False, reach: bool = True) -> RenderableType:
    """What the design can tell, unless `reach` is off; decomposition by decomposition; then the wrong trials: the first
    of them, unless `all_trials`."""
    return _Report(report, all_trials, reach)


@dataclass(frozen=True, slots=True)
class _Report:
    report: AttributionReport
    all_trials: bool
    reach: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report = self.report
        if self.reach:
            yield from reach_view(report.reach)
        unresolved = _unresolved(report.decompositions)
        for decomposition in report.decompositions:
            if decomposition in unresolved:
                continue
            yield from decomposition_view(
                decomposition,
                report.floor(decomposition),
                report.design,
                options.max_width,
                simulated=decomposition.model in report.simulated,
                lengths=report.lengths_of(decomposition),
            )
        if unresolved:
            yield from unresolved_view(unresolved, [report.floor(each) for each in unresolved], report.simulated)
        if not report.decompositions:
            yield Text(_NOTHING, style="yellow")
        yield from judged_view(report.judged)
        yield from matrices_view(report.matrices)
        yield from errors_view(report.errors)
        yield from trials_view(report.explained, None if self.all_trials else SHOWN_TRIALS, report.simulated)
        notes = [*map(plain_text, report.notes), *map(_calibrated, report.calibrations), *_footnotes(report)]
        yield Padding(Text("\n".join(notes), style="dim"), (0, 1, 1, 1))


def _calibrated(each: Calibration) -> str:
    """What people's labels made of the confidences by one method."""
    questions = numbers.counted(each.questions, "question")
    by = f"{numbers.counted(each.labels, 'trial')} that people decided (of {questions})"
    if not each.enough or each.ece_before is None or each.ece_after is None:
        least = f"{LEAST_LABELS} trials of {LEAST_QUESTIONS} questions are needed"
        return f"Confidences by {each.method} are not calibrated: {by}; {least}."
    errors = f"calibration error {chance(each.ece_before)}, and {chance(each.ece_after)} after, out of fold"
    if each.applied:
        return f"Confidences by {each.method} are calibrated by {by}: {errors}."
    return f"Confidences by {each.method} stay as they are: {by} do not show that they are off ({errors})."


def _footnotes(report: AttributionReport) -> Iterator[str]:
    if report.unreplayed:
        yield "Missing replays: run attribute --replay with the same shares and numbers of runs."
    if report.decompositions:
        yield from _of_decompositions(report.decompositions)
    if any(found.method != "replay" for _, found in attributed_trials(report.explained)):
        yield "Attributions by trace or judge are hypotheses; only a replay tests them."
    yield "What each figure means: docs/attribution.md."


def _of_decompositions(decompositions: Sequence[Decomposition]) -> Iterator[str]:
    # Also those of rows that are left out, since they are 0 in every trial.
    tested = sum(each.p_value is not None for decomposition in decompositions for each in decomposition.mechanisms)
    corrected = f"; in colour: p Holm < {SIGNIFICANT:g}, corrected for {numbers.counted(tested, 'test')}"
    if len(_unresolved(decompositions)) < len(decompositions):
        yield f"{GAIN} gain, {LOSS} loss{corrected if tested else ''}."
    yield "points: percentage points of score. Sampling noise and unresolved points are not tested."
    if any(
        each.points > 0 and each.name in HARMS for decomposition in decompositions for each in decomposition.mechanisms
    ):
        yield (
            "A mechanism that is named for a harm can have points above 0. It counts all of a tool's effect that"
            " nothing divides further: the trials that the tool helped, and those that it harmed."
        )
    if any(
        each.points and each.name == "computation_misled"
        for decomposition in decompositions
        for each in decomposition.mechanisms
    ):
        yield (
            "Other content of code: harm or gain in trials in which telling the model to set the computation aside did"
            " not bring the right answer back. Single trials of it are labelled computational lock-in."
        )
    if any(each.small and each.ci95 for decomposition in decompositions for each in _all(decomposition)):
        yield numbers.small_note("in which it is not 0")


def _all(decomposition: Decomposition) -> tuple[Account, ...]:
    return (decomposition.effect, *decomposition.mechanisms)
