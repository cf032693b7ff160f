"""The notebooks in `examples/` run from top to bottom in a real kernel, and so does what a notebook alone can do.

Where TOOLABLATE_DOCS names what `make docs` has made, the notebooks are those that it has run."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from tests.experiments.plan_files import wait_for
from tests.servers.chat_server import ChatServer, reply

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def client(notebook: Any, folder: Path) -> NotebookClient:
    return NotebookClient(notebook, timeout=110, kernel_name="python3", resources={"metadata": {"path": str(folder)}})


def shown(cell: Any, kind: str) -> str:
    return "".join(each["data"][kind] for each in cell.outputs if kind in each.get("data", {}))


def test_their_outputs_are_not_kept() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["ablation", "failures"]
    for path in NOTEBOOKS:
        cells = read(path).cells
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    ran = Path(os.environ.get("TOOLABLATE_DOCS", tmp_path)) / "notebooks" / path.name
    notebook = read(ran if ran.exists() else path)
    if not ran.exists():
        shutil.copytree(EXAMPLES / "lpfqa_cases", tmp_path / "lpfqa_cases", ignore=shutil.ignore_patterns("runs"))
        client(notebook, tmp_path).execute()
    html = "".join(shown(cell, "text/html") for cell in notebook.cells if cell.cell_type == "code")
    assert "trials, " in html, "the progress of a run"
    assert "<table" in html
    assert "data:image/svg+xml" in html
    assert "<script" not in html
    assert ("<iframe sandbox" in html) == (path.stem == "failures")


def test_the_stop_button_stops_a_run_cleanly_and_the_cell_goes_on(tmp_path: Path, chat_server: ChatServer) -> None:
    asked = []

    def answer(body: dict[str, Any]) -> Any:
        asked.append(body)
        return reply("Answer: 2")

    chat_server.answers(answer)
    model = {"provider": "openai", "name": "m", "endpoint": chat_server.url, "concurrency": 1}
    make = f"questions = [{{'id': 'q', 'prompt': '1 + 1?', 'answer': 2}}]\nplan = tb.Plan(questions, [{model!r}], ['none'], repeats=400)"
    run = new_code_cell("run = tb.run(plan)\nprint(run.stopped, run.missing > 0)")  # type: ignore[no-untyped-call]
    after = new_code_cell("tb.run(plan, set={'repeats': 2}).missing")  # type: ignore[no-untyped-call]
    first = new_code_cell(f"import toolablate as tb\n{make}")  # type: ignore[no-untyped-call]
    notebook = new_notebook(cells=[first, run, after])  # type: ignore[no-untyped-call]

    async def stopped() -> None:
        nb = client(notebook, tmp_path)
        async with nb.async_setup_kernel():
            await nb.async_execute_cell(first, 0)
            going = asyncio.ensure_future(nb.async_execute_cell(run, 1))
            await asyncio.to_thread(wait_for, lambda: len(asked) >= 5)
            await nb.km.interrupt_kernel()  # type: ignore[union-attr, misc]
            await going
            await nb.async_execute_cell(after, 2)

    asyncio.run(stopped())
    printed = "".join(each.get("text", "") for each in run.outputs)
    assert printed == "True True\n"
    assert "queued trials are released" in shown(run, "text/plain")
    assert shown(after, "text/plain").endswith("0")
