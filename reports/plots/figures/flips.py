"""Questions that conditions turn wrong or right, beside those that chance alone would."""

from collections.abc import Collection, Sequence

from toolablate.analysis.flips import Floor
from toolablate.reports.plots.drawing.files import as_text
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import GAIN, INK, LOSS
from toolablate.reports.plots.drawing.rows import BROAD, Form, Sheet, bar, grouped, labels, scale, sheet, zero
from toolablate.reports.plots.text import MINUS, titled

ABOUT = (
    "Bars count questions that flip between a single run of the baseline and one of the condition: right to wrong to"
    " the left, wrong to right to the right. Black marks: as many go each way between two runs of the baseline, by"
    " chance alone; there are none where the baseline was not repeated."
)
NUMBERS = 1.95
WAYS = ("right to wrong", "wrong to right")


def draw_flips(floors: Sequence[Floor], *, simulated: Collection[str] = (), form: Form = BROAD) -> Drawing:
    """A row for each condition, those of one model below each other. A bar leads nowhere: it is a mean over pairs of
    runs, and no list of questions is as long."""
    from matplotlib.ticker import FuncFormatter

    placed = grouped(floors, lambda each: titled(each.model, simulated, short=form.above), form)
    with as_text():
        on = sheet(placed, form, numbers=NUMBERS)
        for row, each in placed.rows:
            _row(on, row, each)
        zero(on, placed, zorder=5)
        most = 1.06 * max((end for each in floors for end in (*_ways(each), each.chance.noise_flips or 0.0)), default=1)
        scale(on, placed, -(most or 1.0), most or 1.0, "Questions: right to wrong | wrong to right")
        on.axes.xaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{abs(count):g}"))
        return on.drawing("Questions that flip, beside chance", ABOUT)


def _ways(each: Floor) -> tuple[float, float]:
    return each.chance.flips_right_to_wrong, each.chance.flips_wrong_to_right


def _row(on: Sheet, row: float, each: Floor) -> None:
    noise = each.chance.noise_flips
    for said, count, side in zip(WAYS, _ways(each), (-1, 1), strict=True):
        bar(on, row, 0.0, side * count, LOSS if side < 0 else GAIN, mark=Mark(_told(each, said, count)))
        if noise is not None:
            on.axes.plot([side * noise] * 2, [row - 0.42, row + 0.42], color=INK, linewidth=1.6, zorder=4)
    harmed, helped = _ways(each)
    chance = "" if noise is None or on.form.above else f" · chance {noise:.1f}"
    labels(on, row, each.condition, f"{MINUS}{harmed:.1f} · +{helped:.1f}{chance}")


def _told(each: Floor, said: str, count: float) -> str:
    noise = each.chance.noise_flips
    chance = "chance unknown: no repeats of the baseline" if noise is None else f"by chance alone {noise:.1f}"
    return f"{each.model} · {each.condition}: {count:.1f} of {each.questions:,} questions {said}; {chance}"
