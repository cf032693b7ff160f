"""What the site shows of `examples`: the notebooks with their outputs, and the demo in the viewer."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

import toolablate as tb

DEMO_QUESTIONS = 6
_TAG_LINES = re.compile(r"\n\s*\n")


def notebook_page(path: Path, linked: Callable[[str], str], ran: Path) -> str:
    """A notebook as Markdown, run from top to bottom in a copy of its folder, and kept with its outputs as the file
    `ran`; `linked` moves the links of its texts."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with TemporaryDirectory() as folder:
        shutil.copytree(
            path.parent / "lpfqa_cases", Path(folder) / "lpfqa_cases", ignore=shutil.ignore_patterns("runs")
        )
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    nbformat.write(notebook, ran)  # type: ignore[no-untyped-call]
    cells = (
        linked(cell.source) if cell.cell_type == "markdown" else "\n\n".join(_code(cell)) for cell in notebook.cells
    )
    return "\n\n".join(cells) + "\n"


def _code(cell: Any) -> Iterator[str]:
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        data = output.get("data", {})
        if "text/html" in data:
            # A blank line would end what Markdown takes for HTML.
            yield f'<div class="output" style="overflow-x: auto">{_TAG_LINES.sub(chr(10), data["text/html"])}</div>'
        elif text := output.get("text") or data.get("text/plain"):
            yield f"```text\n{text.rstrip()}\n```"


def demo_pages(plan: Path, folder: Path) -> None:
    """The first questions of the demo, run and shown by the viewer's pages as files."""
    with TemporaryDirectory() as work:
        store = tb.run(plan, store=Path(work) / "demo.sqlite", limit=DEMO_QUESTIONS, progress=False).store
        store.bundle(folder)
