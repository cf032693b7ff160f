"""From the files that a question brings to those that its kernels find."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from toolablate.benchmarks.question_files import read_content
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.trials import Design
from toolablate.experiments.world.world import needed
from toolablate.sandbox import WorkFile
from toolablate.tools import FileSource
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question

_MB = 1_000_000


def refuse_too_large(plan: Plan, planned: Design) -> None:
    """Raises InputError for a question whose files do not fit a kernel's work folder, if a condition has a kernel."""
    if "sandbox" not in needed(planned.conditions):
        return
    limits = plan.sandbox.limits
    for question in planned.questions:
        size, count = sum(file.size for file in question.files) / _MB, len(question.files)
        for key, found, allowed, told in (
            ("disk_mb", size, limits.disk_mb, f"have {size:g} MB"),
            ("files", count, limits.files, f"are {count}"),
        ):
            if found > allowed:
                raise InputError(
                    f"the files of question {question.id!r} {told}; sandbox.limits.{key} allows {allowed}",
                    hint=f"[sandbox] limits = {{ {key} = ... }}, with room for what the code will write",
                    code="files_too_large",
                )


def work_files(question: Question, folder: Path) -> FileSource:
    """Reads the files of one question when a kernel of its is started; raises InputError where they were changed."""

    async def read() -> Sequence[WorkFile]:
        return await asyncio.to_thread(
            lambda: [WorkFile(file.name, read_content(file, folder)) for file in question.files]
        )

    return read
