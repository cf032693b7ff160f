"""What comparisons and attributions come to: shown as tables and figures, given as frames and as JSON."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

from toolablate.analysis.comparison import Comparison as Row
from toolablate.analysis.comparison import comparison_rows, comparisons_csv, comparisons_json
from toolablate.analysis.from_store import Paired, read_paired
from toolablate.traces.commands import tell_left_out
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from toolablate.analysis.attribution.report import AttributionReport
    from toolablate.analysis.ladder import Waterfall
    from toolablate.formats.frames import Library

WIDTH = 110
MOST_DRAWN = 60
"""Rows of a figure in a notebook."""


class Shown:
    """What shows itself as the command line does: as text, and in a notebook as HTML that is escaped and inert."""

    def print(self, console: Console) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        out = io.StringIO()
        self.print(Console(file=out, width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False))
        return out.getvalue().rstrip()

    def _repr_html_(self) -> str:
        from toolablate.reports.html.notebook import preformatted

        return preformatted(repr(self))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Shown):
    """Conditions against a baseline, paired over questions; or one model against another. `rows` are the records;
    `warning` says what makes the trials less alike than a comparison wants them."""

    rows: tuple[Row, ...]
    paired: Paired
    seed: int = 0
    harm: bool = False
    of_models: bool = False

    @property
    def frame(self) -> Any:
        """A row for each comparison, with the columns of `toolablate compare --csv`: pandas, or else polars."""
        return self.to_frame()

    def to_frame(self, library: "Library | None" = None) -> Any:
        from toolablate.formats.frames import frame_of_rows

        return frame_of_rows(comparison_rows(self.rows, of_models=self.of_models), library)

    @property
    def json(self) -> Any:
        """What `toolablate compare --json` prints."""
        return json.loads(self.to_json())

    def to_json(self) -> str:
        paired = self.paired
        return comparisons_json(
            self.rows,
            paired.miss_rates(),
            paired.miss_differences(seed=self.seed),
            paired.refused_calls(),
            paired.cut_inputs(),
            of_models=self.of_models,
        )

    def to_csv(self) -> str:
        """What `toolablate compare --csv` writes."""
        return comparisons_csv(self.rows, of_models=self.of_models)

    @property
    def warning(self) -> str:
        return self.paired.warning

    def notes(self) -> Iterator[RenderableType]:
        """What to know before reading the figures."""
        from toolablate.reports.terminal.problems import cut_view, misses_view, refused_view

        paired = self.paired
        found = (
            misses_view(paired.miss_rates(), paired.miss_differences(seed=self.seed)),
            refused_view(paired.refused_calls()),
            cut_view(paired.cut_inputs()),
        )
        yield from (note for note in found if note is not None)

    def svg(self) -> str:
        """The effects with their intervals, as SVG. Raises InputError without matplotlib."""
        from toolablate.reports.plots.drawing import as_svg, require_matplotlib
        from toolablate.reports.plots.scores import draw_effects

        require_matplotlib("the figure")
        simulated = {row.model for row in self.rows if row.simulated}
        return as_svg(draw_effects([_labelled(row) for row in self.rows[:MOST_DRAWN]], simulated=simulated))

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.comparison import comparison_table

        alone = self.paired.alone()
        console.print(comparison_table(self.rows, show_harm=self.harm, alone=alone, of_models=self.of_models))
        for note in self.notes():
            console.print(note)
        tell_left_out(console, self.paired.left_out)

    def _repr_html_(self) -> str:
        from toolablate.reports.html import notebook
        from toolablate.reports.terminal.comparison import effects

        if not self.rows:
            return notebook.preformatted(repr(self))
        parts = [notebook.note(f"Warning: {self.warning}")] if self.warning else []
        for model, rows in groupby(self.rows, key=lambda row: row.model):
            own = list(rows)
            simulated = " (SIMULATED: no measurement)" if own[0].simulated else ""
            under = "under " if self.of_models else ""
            caption = f"{under}{model}{simulated}, compared with {own[0].baseline}"
            parts.append(notebook.table(effects(own, "model" if self.of_models else "condition").columns, caption))
        try:
            parts.append(notebook.figure(self.svg(), "Effects against the baseline, with 95 % intervals"))
        except InputError as error:
            parts.append(notebook.note(f"{error.message}: {error.hint}"))
        parts += [notebook.preformatted(notebook.as_plain(note)) for note in self.notes()]
        if len(self.rows) > MOST_DRAWN:
            parts.append(notebook.note(f"The figure shows the first {MOST_DRAWN} of {len(self.rows)} rows."))
        return "\n".join(parts)


def _labelled(row: Row) -> Row:
    return row if row.group is None else replace(row, condition=f"{row.condition}, {row.group or '(none)'}")


def compare(
    store: Path,
    *,
    baseline: str | None = None,
    by: Sequence[str] = (),
    run: str = "latest",
    scorer: str | None = None,
    seed: int = 0,
    harm: bool = False,
    models: tuple[str, str] | None = None,
) -> Comparison:
    """What `toolablate compare` and `Store.compare` share. Raises InputError for what is not there, StoreError."""
    paired = read_paired(store, baseline=baseline, run=run, scorer=scorer)
    rows = paired.compare(by=by, seed=seed, harm=harm, models=models)
    return Comparison(tuple(rows), paired, seed, harm, models is not None)


@dataclass(frozen=True, slots=True, repr=False)
class Ladder(Shown):
    """Waterfalls from no tools to real ones, one factor at a time."""

    waterfalls: tuple["Waterfall", ...]

    @property
    def frame(self) -> Any:
        """A row for each step, with the columns of `toolablate compare --ladder --csv`."""
        from toolablate.analysis.ladder import waterfall_rows
        from toolablate.formats.frames import frame_of_rows

        return frame_of_rows(list(waterfall_rows(self.waterfalls)))

    @property
    def json(self) -> Any:
        """What `toolablate compare --ladder --json` prints."""
        from toolablate.analysis.ladder import waterfalls_json

        return json.loads(waterfalls_json(self.waterfalls))

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.waterfall import waterfalls_view

        console.print(waterfalls_view(self.waterfalls))


@dataclass(frozen=True, slots=True, repr=False)
class Attribution(Shown):
    """Effects of tools by mechanism, and the mechanism of each wrong trial. `undone`: replays or judgements are left,
    and the same call goes on."""

    report: "AttributionReport"
    undone: bool = False

    @property
    def frame(self) -> Any:
        """A row for each effect, term and mechanism, with the columns of `toolablate attribute --csv`."""
        from toolablate.analysis.attribution.report import decomposition_rows
        from toolablate.formats.frames import frame_of_rows

        return frame_of_rows(list(decomposition_rows(self.report.decompositions, self.report.simulated)))

    @property
    def trials(self) -> Any:
        """A row for each method's attribution of a trial, with the columns of the exported table `attributions`."""
        from toolablate.formats.exporting import reasons
        from toolablate.formats.frames import attribution_columns, frame

        return frame(attribution_columns(reasons(self.report.explained).values()))

    @property
    def json(self) -> Any:
        """What `toolablate attribute --json` prints."""
        from toolablate.analysis.attribution.report import attribution_json

        return json.loads(attribution_json(self.report))

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.attribution import attribution_view

        console.print(attribution_view(self.report))


def shown_rows(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Records as rows of a frame."""
    from dataclasses import asdict

    return [asdict(row) for row in rows]
