"""A report as files."""

from pathlib import Path

from toolablate.reports.plots import Plate, plates, write_figure
from toolablate.reports.report.latex import as_latex
from toolablate.reports.report.markdown import as_markdown
from toolablate.reports.report.records import Report
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.output import export, make_folder, refuse_store

SUFFIXES = (".html", ".md", ".tex")
FIGURES = (".svg", ".png")


def refuse_output(path: Path) -> None:
    """Raises InputError where no report can be written to `path`: another kind of file, a store, or a page where what
    makes pages is not installed."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--output: {path} ends in {path.suffix or 'no suffix'!r}",
            hint=f"Allowed: {', '.join(SUFFIXES)}.",
            code="output",
        )
    refuse_store(path, "--output")
    if path.suffix.lower() == ".html":
        _require_pages()


def write_report(report: Report, path: Path) -> list[Path]:
    """By its suffix; of Markdown with its figures in a folder beside it. Returns the files that were written. Raises
    InputError where one cannot be."""
    match path.suffix.lower():
        case ".md":
            folder = path.with_name(f"{path.stem}_files")
            drawn = {plate.name: plate for plate in plates(report.findings, endings=report.endings)}
            written = [_write(plate, folder, ".svg", "--output")[0] for plate in drawn.values()]
            text = as_markdown(report, {name: f"{folder.name}/{name}.svg" for name in drawn})
        case ".tex":
            written, text = [], as_latex(report)
        case _:
            from toolablate.reports.report.html import as_html

            written, text = [], as_html(report)
    export(text, path, "--output")
    return [path, *written]


def write_figures(report: Report, folder: Path) -> tuple[list[Path], frozenset[str]]:
    """Every figure as SVG and PNG, and the letters that no font of this machine has. Raises InputError where one cannot
    be written."""
    written, missing = [], frozenset[str]()
    for plate in plates(report.findings, endings=report.endings):
        for suffix in FIGURES:
            path, lacking = _write(plate, folder, suffix, "--figures")
            written.append(path)
            missing |= lacking
    return written, missing


def _require_pages() -> None:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise InputError(
            "--output: jinja2, which makes pages, is not installed",
            hint=f"{to_install('view')}, or -o report.tex",
            code="no_view",
        ) from None


def _write(plate: Plate, folder: Path, suffix: str, option: str) -> tuple[Path, frozenset[str]]:
    path = folder / f"{plate.name}{suffix}"
    refuse_store(path, option)
    make_folder(path, option)
    return path, write_figure(plate.drawing.figure, path, option=option)
