"""The process beside a viewer takes texts into the index, and the viewer's page searches it."""

import asyncio
from itertools import count
from pathlib import Path

import pytest
from tests.viewer.finding.stores import answered, question, recorded, trial
from tests.viewer.finding.test_search import filled
from tests.viewer.keeping.viewer import viewing

from toolablate.viewer.finding.query import parse
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.keeping import rounds
from toolablate.viewer.keeping.rounds import KeeperRounds
from toolablate.viewer.keeping.shown_trials import ViewScope, texts_of

pytestmark = pytest.mark.deep


def test_texts_are_indexed_some_at_a_time_and_those_that_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_TEXTS_AT_ONCE", 3)
    path = filled(tmp_path / "s.sqlite")
    scope = ViewScope(path, baseline="none")
    texts = texts_of(scope, tmp_path / "texts")
    # A clock on which all work has rested whenever it is asked for.
    clock = count(0.0, 100.0).__next__
    kept = KeeperRounds(scope, ViewerIndex.open(tmp_path / "index.sqlite"), clock, texts=texts)
    while kept.round():
        pass
    found = texts.find(parse("log*"))
    assert found is not None
    assert (found.all.hits, found.unindexed) == (3, 0)
    asked = question("later")
    asyncio.run(recorded(path, [(trial(asked), [answered("much later")], 1.0)], [asked], identity="run-2"))
    while kept.round():
        pass
    later = texts.find(parse("later"))
    assert later is not None
    assert (later.all.hits, later.all.trials) == (1, 1)


def test_the_page_is_searched_while_texts_are_taken_in(tmp_path: Path) -> None:
    path = filled(tmp_path / "s.sqlite")
    with viewing(path, "--baseline", "none", env={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as viewer:
        while "being indexed" in (told := viewer.get("/find?q=base+ten"))[1]:
            pass
        assert told[0] == 200
        while "not in the index yet" in (told := viewer.get("/find?q=base+ten"))[1]:
            pass
    assert "<mark>base</mark>" in told[1]
    assert len(list((tmp_path / "cache/toolablate/find").glob("*.sqlite"))) == 1
