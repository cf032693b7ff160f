"""What a store's design can tell apart before anything is replayed, and what would tell the rest."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Literal, get_args

from toolablate.analysis.arms import ArmKind
from toolablate.analysis.attribution.decomposition import ToolKind
from toolablate.analysis.pairing import RIGHT, counts
from toolablate.analysis.power import Aim, measured_variances, paired_design, power_table
from toolablate.traces.records import Mechanism
from toolablate.traces.store import TrialSummary

ToldBy = Literal["arms", "replays", "trace", "nothing"]
TOLD_BY: tuple[ToldBy, ...] = get_args(ToldBy)

CONTENT: Mapping[ToolKind, Mechanism] = {
    "search": "retrieval_distraction",
    "code": "lock_in",
    "other": "other_results",
}


@dataclass(frozen=True, slots=True)
class ConditionDesign:
    """One condition with tools.

    prompted         whether it has words of its own
    arms             those of its ladder that were run, `none` and `real` among them
    repeats          of each question, the median over questions with and without tools
    kinds            of tools that it has
    without_placebo  those of these of which nothing is kept under a question that is another one
    of_provider      kinds of tools that the provider runs within a reply, whose results nobody can exchange
    asked_again      whether a model can be asked again: it is neither scripted nor imported
    """

    condition: str
    prompted: bool
    arms: frozenset[ArmKind]
    repeats: int
    kinds: frozenset[ToolKind]
    without_placebo: frozenset[ToolKind] = frozenset()
    asked_again: bool = True
    of_provider: frozenset[ToolKind] = frozenset()


@dataclass(frozen=True, slots=True)
class Identified:
    """Whether one mechanism is told apart under these `conditions`: by arms of the ladder, by replays, or from traces
    alone, which are hypotheses. Where by nothing, it is one sum with those that it is `not_apart_from`, and `add` says
    what would part them."""

    mechanism: str
    conditions: tuple[str, ...]
    told_by: ToldBy
    not_apart_from: tuple[str, ...] = ()
    add: str = ""


@dataclass(frozen=True, slots=True)
class SmallestEffect:
    """The smallest effect of a condition against no tools that the questions show with probability .8 in a two-sided
    test at level .05, in percentage points; None where nothing tells, and `unknown` says why."""

    model: str
    condition: str
    questions: int
    points: float | None
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class DesignReach:
    """What a store's design can tell: of each mechanism, of how many wrong trials with tools, and of what size."""

    mechanisms: tuple[Identified, ...] = ()
    wrong_trials: int = 0
    smallest_effects: tuple[SmallestEffect, ...] = field(default=())


def identified(designs: Sequence[ConditionDesign]) -> tuple[Identified, ...]:
    """Of all conditions, those of which the same is so together, in the order of the mechanisms.

    The steps are those of the decomposition (`decomposition.terms`): a term is known where the levels at both of its
    ends are, and where an arm is lacking between two terms only their sum is.
    """
    found: dict[tuple[str, ToldBy, tuple[str, ...], str], list[str]] = defaultdict(list)
    for design in designs:
        for mechanism, (told_by, not_apart_from, add) in _of(design):
            found[mechanism, told_by, not_apart_from, add].append(design.condition)
    order = {mechanism: place for place, mechanism in enumerate(_ORDER)}
    return tuple(
        Identified(mechanism, tuple(conditions), told_by, not_apart_from, add)
        for (mechanism, told_by, not_apart_from, add), conditions in sorted(
            found.items(), key=lambda each: (order[each[0][0]], TOLD_BY.index(each[0][1]))
        )
    )


_ORDER = (
    *("retrieval_distraction", "lock_in", "other_results", "volume", "use", "calling"),
    *("availability", "prompt"),
    *("budget", "tool_fault", "format", "sampling_noise", "own_error"),
)
_Told = tuple[ToldBy, tuple[str, ...], str]
_BY_ARMS: _Told = ("arms", (), "")
PLACEBO = "results of the tool for a second question, or [placebo] store"
OURS = "a tool of ours that does the same, whose results can be exchanged"
REPEATS = "repeats = 2 or more"


def _of(design: ConditionDesign) -> Iterator[tuple[str, _Told]]:
    again: _Told = ("replays" if design.asked_again else "trace", (), "")
    for kind in sorted(design.kinds):
        lacking = design.asked_again and kind in design.without_placebo
        yield CONTENT[kind], ("nothing", ("use",), PLACEBO) if lacking else again
    if design.of_provider:
        yield from _of_provider(design)
    else:
        yield from _of_use(design)
    yield from (("budget", again), ("tool_fault", again), ("format", again), ("sampling_noise", again))
    one = design.repeats < 2
    yield "own_error", ("nothing", ("sampling_noise",), REPEATS) if one else again


def _of_provider(design: ConditionDesign) -> Iterator[tuple[str, _Told]]:
    """Of tools whose results come within a reply the traces tell alone, and everything between no tools and them is
    one sum."""
    for kind in sorted(design.of_provider - design.kinds):
        yield CONTENT[kind], ("trace", (), "")
    beside = () if "offered" in design.arms else ("availability",)
    yield "use", ("nothing", ("content", "calling", *beside), OURS)
    if not beside:
        yield "availability", _BY_ARMS


def _of_use(design: ConditionDesign) -> Iterator[tuple[str, _Told]]:
    """What lies between the content of results and no tools at all."""
    sham, offered = "sham" in design.arms, "offered" in design.arms
    swapped = design.asked_again and not design.without_placebo
    with_words: tuple[str, ...] = ("prompt",) if design.prompted and "scaffold" not in design.arms else ()
    lacking = [arm for arm, there in (("sham", sham), ("offered", offered)) if not there]
    arms = _arms(lacking)
    if swapped:
        yield "volume", ("replays", (), "")
    if not sham:
        yield "use", ("nothing", ("calling",) if offered else ("calling", "availability", *with_words), arms)
    elif swapped:
        yield "use", ("replays", (), "")
    elif "placebo" in design.arms:
        yield "use", _BY_ARMS
    else:
        yield "use", ("nothing", ("content",), _arms(["placebo"]))
    if not lacking:
        yield "calling", _BY_ARMS
    else:
        beside = (*(() if sham else ("use",)), *(() if offered else ("availability",)))
        yield "calling", ("nothing", beside, arms)
    if not offered:
        yield (
            "availability",
            ("nothing", ("calling", *with_words), _arms(["offered", *(["scaffold"] if with_words else [])])),
        )
    elif with_words:
        yield "availability", ("nothing", with_words, _arms(["scaffold"]))
    else:
        yield "availability", _BY_ARMS
    if design.prompted:
        yield "prompt", ("nothing", ("availability",), _arms(["scaffold"])) if with_words else _BY_ARMS


def _arms(lacking: Sequence[str]) -> str:
    return f"ladder arm{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}" if lacking else ""


def repeats_of(summaries: Iterable[TrialSummary]) -> int:
    """Of scored trials of one model: the median over questions and conditions; 0 where there are none."""
    many: dict[tuple[str, str], int] = defaultdict(int)
    for each in summaries:
        many[each.question, each.condition] += counts(each)
    return median_low(many.values()) if many else 0


def smallest_effects(summaries: Sequence[TrialSummary], baselines: Mapping[str, str]) -> Iterator[SmallestEffect]:
    """Of each model under each of these conditions, beside the baseline that it is set against."""
    for condition, baseline in baselines.items():
        of_both = [each for each in summaries if each.condition in (condition, baseline) and counts(each)]
        for model in dict.fromkeys(each.model for each in of_both):
            yield _smallest(model, condition, baseline, [each for each in of_both if each.model == model])


def _smallest(model: str, condition: str, baseline: str, seen: Sequence[TrialSummary]) -> SmallestEffect:
    clusters = {
        name: {each.question: each.cluster for each in seen if each.condition == name} for name in (condition, baseline)
    }
    shared = [cluster for question, cluster in clusters[condition].items() if question in clusters[baseline]]
    if not shared:
        return SmallestEffect(model, condition, 0, None, "no question with and without tools")
    estimates, _ = measured_variances(seen, baseline)
    if not estimates:
        return SmallestEffect(model, condition, len(shared), None, "too few questions")
    design = paired_design(shared, repeats_of(seen), 1)
    (sight,) = power_table(design, Aim(), estimates).sights
    (row,) = (each for each in sight.rows if each.repeats == design.repeats)
    return SmallestEffect(model, condition, len(shared), row.plain.points, row.plain.unknown)


def wrong_trials(summaries: Iterable[TrialSummary], conditions: Iterable[str]) -> int:
    """Under these conditions, of the trials with a score."""
    named = frozenset(conditions)
    return sum((each.value or 0.0) < RIGHT for each in summaries if each.condition in named and counts(each))
