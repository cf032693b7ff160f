"""Which forums people have approved: the review of a pipeline whose items are forums."""

from collections.abc import Sequence
from pathlib import Path

from toolablate.experiments.construction.building import seen_so_far
from toolablate.experiments.construction.pipeline import Pipeline, load_pipeline
from toolablate.experiments.construction.sources.proposals import ProposedForum
from toolablate.experiments.construction.workbench import Workbench
from toolablate.experiments.plans.written import plan_content, plan_text


def load_reviewed(path: Path) -> Pipeline:
    """What people review: a pipeline, or the forums of a file that `build threads` or `build capture` reads. Raises
    InputError as these do."""
    content = plan_content(plan_text(path, "pipeline"), path)
    if "forums" not in content or "items" in content:
        return load_pipeline(path)
    workbench = _workbench_of(path)
    forums = Pipeline.model_construct(items=str(path.resolve()), workbench=str(workbench), models=())
    forums._of_forums = True
    if not workbench.exists():
        # No build makes it.
        with Workbench(workbench):
            pass
    return forums


def approved_in(path: Path, forums: Sequence[ProposedForum]) -> frozenset[str]:
    """Of the file's forums the ids of the proposals that people have approved as they are written now."""
    if not any(forum.proposer for forum in forums) or not _workbench_of(path).exists():
        return frozenset()
    with Workbench(_workbench_of(path), write=False) as bench:
        return frozenset(seen_so_far(load_reviewed(path), bench).published or ())


def _workbench_of(path: Path) -> Path:
    """Of a file of forums."""
    return path.parent.resolve() / "runs" / f"{path.stem}.sqlite"
