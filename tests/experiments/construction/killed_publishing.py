"""Publishes a pipeline again and again, killed at the first step, the second, and so on, until none is left; says after
each what is published. `python killed_publishing.py PIPELINE OLD`: OLD is a JSON of what is published before each."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from toolablate.experiments.construction.building import seen_so_far
from toolablate.experiments.construction.funnel import funnel_of
from toolablate.experiments.construction.pipeline import load_pipeline
from toolablate.experiments.construction.publishing import publish
from toolablate.experiments.construction.workbench import Workbench

_STEPS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")


def files_in(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}


def main(file: Path, before: dict[str, str]) -> None:
    pipeline = load_pipeline(file)
    published = Path(pipeline.output)
    with Workbench(Path(pipeline.workbench), write=False) as bench:
        built = seen_so_far(pipeline, bench)
        told, canary = funnel_of(pipeline, built, bench), bench.canary()
    number, ended = 0, signal.SIGKILL.value
    while os.WIFSIGNALED(ended):
        for each in published.iterdir():
            each.unlink()
        for name, text in before.items():
            (published / name).write_text(text, encoding="utf-8")
        number += 1
        if (child := os.fork()) == 0:
            try:
                _kill_at(number)
                publish(pipeline, built, told, canary)
                os._exit(0)
            finally:
                os._exit(1)
        _, ended = os.waitpid(child, 0)
        sys.stdout.write(f"{json.dumps(files_in(published))}\n")
        sys.stdout.flush()
    sys.exit(os.WEXITSTATUS(ended))


def _kill_at(left: int) -> None:
    def killed(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left
        if event in _STEPS:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
