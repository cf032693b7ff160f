from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from toolablate.analysis import Flip, Floor
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.fitted import Fitted, figures, names, words
from toolablate.reports.terminal.simulated import simulated_banner
from toolablate.traces.plain import ID_CHARS, inert, one_line

WAYS = {"right_to_wrong": Text("R→W", style="bold red"), "wrong_to_right": Text("W→R", style="bold green")}


def flips_table(flips: Sequence[Flip], floors: Sequence[Floor] = ()) -> RenderableType:
    """How many flips chance alone gives, then the questions that flipped, with the beginnings of the ids of both sides'
    trials, by which `show` finds them."""
    noise = _noise(floors)
    if not flips:
        return Group(*noise, Text("No question went from right to wrong or from wrong to right.", style="yellow"))
    columns = (
        names("question", [_name(flip.question) for flip in flips], cut=True),
        names("domain", [_name(flip.domain) for flip in flips], common=True),
        names("model", [_name(flip.model) for flip in flips], common=True),
        names("condition", [_name(flip.condition) for flip in flips], common=True),
        words("flip", [WAYS[flip.direction] for flip in flips]),
        figures("base", [f"{100 * flip.baseline_score:.0f}" for flip in flips], spare=1),
        figures("score", [f"{100 * flip.score:.0f}" for flip in flips], spare=2),
        words("base trial", [_ids(flip.baseline_trials) for flip in flips]),
        words("trial", [_ids(flip.trials) for flip in flips]),
    )
    table = Fitted(tuple(column for column in columns if any(cell.plain for cell in column.cells)))
    banner = [simulated_banner()] if any(flip.simulated for flip in flips) else []
    return Group(*banner, *noise, table)


def _noise(floors: Sequence[Floor]) -> list[RenderableType]:
    """Below this many flips of one run, a list is what chance gives."""
    if not floors:
        return []
    found = [floor.chance for floor in floors]
    table = Fitted(
        (
            names("model", [_name(floor.model) for floor in floors], common=True),
            names("condition", [_name(floor.condition) for floor in floors]),
            names("baseline", [_name(floor.baseline) for floor in floors], common=True),
            figures("questions", [f"{floor.questions:,}" for floor in floors], common=True),
            figures("R→W", [f"{chance.flips_right_to_wrong:.1f}" for chance in found]),
            figures("W→R", [f"{chance.flips_wrong_to_right:.1f}" for chance in found]),
            figures("noise", [numbers.percent(chance.noise_flips) for chance in found]),
            figures("measured on", [f"{chance.noise_questions:,}" for chance in found], common=True),
        )
    )
    heading = Text(" Between single runs, and by chance alone either way (noise)", style="bold")
    if any(chance.noise_flips is None for chance in found):
        return [heading, table, Text(" noise is unknown without `repeats` of 2 or more.", style="dim")]
    return [heading, table]


def _name(text: str) -> Text:
    return inert(one_line(text))


def _ids(trials: tuple[str, ...]) -> str:
    more = f" +{len(trials) - 1}" if len(trials) > 1 else ""
    return f"{trials[0][:ID_CHARS]}{more}" if trials else ""
