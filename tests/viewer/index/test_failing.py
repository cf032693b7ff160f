"""What the index says of wrong trials is what the store says now."""

import random
from pathlib import Path

from tests.viewer.index.stores import make, refreshed, summaries

from toolablate.analysis.failures import is_wrong, read_failures
from toolablate.traces.records import Attribution, Score
from toolablate.traces.store import Recorder
from toolablate.viewer.index import ViewerIndex


def described(index: ViewerIndex, path: Path) -> dict[str, tuple[str, str, str, int | None]]:
    """By trial, after all is read: some at a time."""
    while index.describe(path, summaries(path), most=7):
        pass
    rows = index.failures().failures
    texts = index.failure_texts([row.key for row in rows])
    return {row.trial: (row.relation, row.flip, texts[row.key].answer, row.turned_at) for row in rows}


async def test_it_follows_scores_and_attributions(tmp_path: Path) -> None:
    made = await make(tmp_path / "store.sqlite", count=5)
    index = refreshed(ViewerIndex.open(tmp_path / "index.sqlite"), made.path)

    def in_the_store() -> dict[str, tuple[str, str, str]]:
        found = read_failures(made.path, baseline="none")
        return {each.trial: (each.relation, each.flip, each.answer) for each in found.failures}

    assert index.failures().wrong == sum(map(is_wrong, summaries(made.path))) > 10
    first = described(index, made.path)
    assert {trial: said[:3] for trial, said in first.items()} == in_the_store()
    assert index.describe(made.path, summaries(made.path), most=7) is False

    right, *others = random.Random(0).sample(sorted(first), 4)
    index.put_attributions(
        [Attribution(trial=others[0], mechanism="budget", method="trace", confidence=0.5, turned_at=0)]
    )
    with Recorder(made.path) as recorder:
        await recorder.score([
            Score(trial=right, scorer="s", scorer_version=2, value=1.0, verdict="correct", extracted=("A",)),
            Score(trial=others[1], scorer="s", scorer_version=2, value=0.0, verdict="wrong", extracted=("new",)),
        ])  # fmt: skip
    refreshed(index, made.path)
    second = described(index, made.path)
    assert {trial: said[:3] for trial, said in second.items()} == in_the_store()
    assert right not in second
    assert (second[others[0]][3], second[others[1]][2]) == (0, "new")
