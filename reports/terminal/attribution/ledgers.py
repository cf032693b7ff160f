"""An effect as a waterfall of mechanisms: each a bar from where the last one ended, in points from no tools."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis import Floor
from toolablate.analysis.attribution.ledger import Account, Ledger
from toolablate.analysis.attribution.naming import mechanism_name
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.fitted import Column, Fitted, figures, words
from toolablate.reports.terminal.numbers import SIGNIFICANT
from toolablate.reports.terminal.simulated import simulated_banner
from toolablate.traces.plain import inert, one_line
from toolablate.traces.records import ReplayDesign

SMALL = "*"
GAIN, LOSS, LEVEL = "█", "▒", "│"
MOST_BAR, LEAST_NAME, WHOLE_NAME, NARROW = 40, 13, 22, 72
NO_TOOLS = "no tools"
TRACE, ARMS, REPLAYS = "trace", "arms", "replays"
_BY_ARMS = frozenset({"calling", "availability", "prompt"})


def ledger_view(
    ledger: Ledger, floor: Floor | None, design: ReplayDesign | None, room: int, *, simulated: bool
) -> Iterator[RenderableType]:
    """One model and condition: flips beside those of chance, the waterfall, and on what it rests."""
    against = " against no tools" + (f" ({one_line(floor.baseline)})" if floor else "")
    yield Text.assemble(
        *(" ", (one_line(ledger.model), "bold"), "  ", (one_line(ledger.condition), "bold"), against),
        f"  over {numbers.counted(ledger.questions, 'question')}",
    )
    if simulated:
        yield simulated_banner()
    if floor is not None:
        yield Padding(Text(_flips(floor)), (0, 1, 0, 1))
    yield _table(ledger, room)
    yield Padding(Text("\n".join(_remarks(ledger, design))), (0, 1, 1, 1))


def accounts_of(ledger: Ledger) -> tuple[Account, ...]:
    """Mechanisms that are not 0 in every trial, and what is unresolved also where it is nothing."""
    told = tuple(each for each in ledger.mechanisms if each.points or each.ci95 or each.name == "unresolved")
    if any(each.name == "unresolved" for each in told):
        return told
    return (*told, Account("unresolved", 0.0, None, None, small=False))


def rests_on(name: str, ledger: Ledger) -> str:
    """Whether a mechanism is known by other arms of the ladder, by replays, or from traces alone."""
    # Without replays, what is known of the tools' use is the difference of two arms.
    if name in _BY_ARMS or (name == "use" and not ledger.replayed):
        return ARMS
    if name == "unresolved":
        return ""
    return REPLAYS if ledger.replayed else TRACE


def _flips(floor: Floor) -> str:
    chance = floor.chance
    ways = f"{_count(chance.flips_right_to_wrong)} right to wrong, {_count(chance.flips_wrong_to_right)} wrong to right"
    noise = (
        "what chance alone gives is not known without repeats of 2 or more"
        if chance.noise_flips is None
        else f"by chance alone {_count(chance.noise_flips)} either way"
    )
    return f"Questions that flip between single runs: {ways}; {noise}."


def _count(flips: float) -> str:
    """Of single runs a whole number, of several what is to be expected of one."""
    return f"{round(flips, 1):g}"


def _table(ledger: Ledger, room: int) -> Fitted:
    accounts = accounts_of(ledger)
    rows = (*accounts, ledger.effect)
    least = LEAST_NAME if room < NARROW else WHOLE_NAME
    columns = (
        Column("", (Text(NO_TOOLS), *(inert(_name(each)) for each in rows)), least=least),
        figures("points", ["", *(Text(numbers.signed(each.points), style=_style(each)) for each in rows)]),
        figures("95 % interval", ["", *(_interval(each, each.ci95) for each in rows)]),
        figures("90 % interval", ["", *(_interval(each, each.ci90) for each in rows)], spare=1),
        figures("p", ["", *(numbers.p_value(each.p_value) for each in rows)], spare=2),
        figures("p Holm", ["", *(numbers.p_value(each.p_holm) for each in rows)], spare=4),
        words("rests on", ["", *(rests_on(each.name, ledger) for each in accounts), ""]),
    )
    taken = sum(column.width + 2 for column in columns) + 3
    bars = _bars([each.points for each in accounts], rows, min(MOST_BAR, max(room // 6, room - taken)))
    return Fitted((*columns, words("", bars)), ("", *("" for _ in accounts), "bold"))


def _name(account: Account) -> str:
    return "effect" if account.name == "effect" else mechanism_name(account.name)


def _bars(points: Sequence[float], rows: Sequence[Account], cells: int) -> list[Text]:
    ends = list(accumulate(points, initial=0.0))
    low, high = min(ends), max(ends)

    def place(level: float) -> int:
        return round((cells - 1) * (level - low) / (high - low)) if high > low else 0

    def bar(row: Account, start: float, end: float) -> Text:
        left, right = sorted((place(start), place(end)))
        shown = LEVEL if left == right else (GAIN if end > start else LOSS) * (right - left + 1)
        return Text(" " * left + shown, style=_style(row))

    spans = [*pairwise(ends), (0.0, ends[-1])]
    return [Text(" " * place(0.0) + LEVEL), *(bar(row, *span) for row, span in zip(rows, spans, strict=True))]


def _interval(account: Account, interval: tuple[float, float] | None) -> str:
    return f"{SMALL if account.small and interval else ''}{numbers.interval(interval)}"


def _style(account: Account) -> str:
    if account.small or account.p_holm is None or account.p_holm >= SIGNIFICANT:
        return ""
    return "bold red" if account.points < 0 else "bold green"


def _remarks(ledger: Ledger, design: ReplayDesign | None) -> Iterator[str]:
    yield f"The mechanisms sum to the effect. {_replayed(ledger, design)}"
    shown = {each.name for each in accounts_of(ledger)}
    if nothing := [_of_nothing(each.name) for each in ledger.mechanisms if each.name not in shown]:
        yield f"0 in every trial: {', '.join(nothing)}."
    if ledger.clusters != ledger.questions:
        clusters = numbers.counted(ledger.clusters, "cluster")
        yield f"Intervals and p rest on {clusters} of questions that share a source."


def _of_nothing(name: str) -> str:
    return mechanism_name(name) + (" (of answers that could not be read)" if name == "format_loss" else "")


def _replayed(ledger: Ledger, design: ReplayDesign | None) -> str:
    trials = numbers.counted(ledger.trials, "trial")
    if not ledger.replayed or design is None:
        return f"None of {trials} was replayed: what only replays tell is unresolved."
    shares = f"{100 * design.failures:g} % of the wrong, {100 * design.successes:g} % of the right"
    weighed = "" if ledger.replayed == ledger.trials else "; each stands for as many as its chance says"
    return f"{ledger.replayed:,} of {trials} were replayed, chosen by lot ({shares}){weighed}."
