"""The process that keeps an index up to date, round by round."""

import fcntl
import json
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from toolablate.analysis.findings import Findings
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.experiments.attribution.store_report import read_report
from toolablate.traces.errors import StoreError, ToolablateError
from toolablate.traces.kept import stamp_of
from toolablate.traces.records import Condition
from toolablate.traces.store import Store, standing
from toolablate.viewer.finding.store_texts import StoreTexts
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.keeping.shown_trials import (
    ViewedTrials,
    ViewScope,
    attributions_of,
    findings_of,
    made_of,
    read_trials,
    readings_beside,
    reasons_of,
    texts_of,
    with_why,
)


@dataclass(slots=True)
class WorkPace:
    """Keeps work to a share of the time, in (0, 1]: after each piece it rests. Times are seconds of one clock."""

    share: float
    rests_until: float = 0.0

    def rested(self, now: float) -> bool:
        return now >= self.rests_until

    def worked(self, seconds: float, now: float) -> None:
        self.rests_until = now + seconds * (1 / self.share - 1)


# Of one core, however large the store: together a quarter.
_TABLES, _EFFECTS, _WHY, _TEXTS, _FAILURES = 1 / 8, 1 / 32, 1 / 32, 1 / 32, 1 / 32

_LIVING_SECONDS = 5.0
"""A recorder that is killed changes nothing in the file, and its trials run no more."""

_TOLD_SECONDS = 2.0
_TEXTS_AT_ONCE = _FAILURES_AT_ONCE = 1_000
_FAILED_SECONDS = 1.0
"""What fails at once is not tried again at once."""


@dataclass(slots=True)
class _KeptWork:
    """`state` is what there is to be made something of, None while there is nothing; `made_of` is that of last time."""

    name: str
    pace: WorkPace
    state: Callable[[], Hashable | None]
    do: Callable[[], None]
    made_of: Hashable | None = None


class KeeperRounds:
    """`round` is called again and again, by one thread. What goes wrong in it is kept in the index for its pages, and
    tried again where that may help; only sqlite3.Error, where the index itself cannot be written, is raised."""

    def __init__(
        self,
        scope: ViewScope,
        index: ViewerIndex,
        clock: Callable[[], float] = time.monotonic,
        texts: StoreTexts | None = None,
    ) -> None:
        self._scope, self._index, self._clock, self._texts = scope, index, clock, texts
        self._works = (
            _KeptWork("tables", WorkPace(_TABLES), self._files, self._fill_tables),
            _KeptWork("effects", WorkPace(_EFFECTS), lambda: self._serial or None, self._find_effects),
            _KeptWork(
                "why", WorkPace(_WHY), lambda: (self._serial, self._reasons) if self._serial else None, self._find_why
            ),
            _KeptWork("failures", WorkPace(_FAILURES), self._failures_state, self._describe_failures),
            _KeptWork("texts", WorkPace(_TEXTS), self._texts_state, self._index_texts),
        )
        self._living = False
        self._trials: ViewedTrials | None = None
        self._conditions: dict[str, Condition] = {}
        self._serial = 0
        self._searched, self._unread, self._described = 0, 0, 0
        self._reasons = ""
        self._findings: Findings | None = index.findings() if index.filled() else None
        self._troubles: dict[str, str] = {}
        # Of one who kept it before.
        index.put_trouble("")
        index.put_progress("")

    def round(self) -> bool:
        """Does the most urgent piece of work; False where nothing is to be done now."""
        if self._trials is not None and not self._index.filled():
            self._forget()
        for work in self._works:
            state = work.state()
            if state is not None and state != work.made_of and self._may(work):
                work.made_of = state
                self._timed(work)
                return True
        return False

    def _forget(self) -> None:
        """Someone has deleted or damaged the index, and all that was made is to be made again."""
        for work in self._works:
            work.made_of = None

    def _may(self, work: _KeptWork) -> bool:
        # Where nobody runs anything there is no more to come, and nobody to be held up.
        return work.pace.rested(self._clock()) or (not self._living and work.name != "tables")

    def _timed(self, work: _KeptWork) -> None:
        began, trouble = self._clock(), ""
        try:
            work.do()
        except StoreError as error:
            trouble, work.made_of = str(error), None
        except ToolablateError as error:
            trouble = str(error)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one figure must not cost the tables, and be seen
            trouble = f"{type(error).__name__}: {error}"
        ended = self._clock()
        work.pace.worked(max(ended - began, _FAILED_SECONDS if trouble else 0.0), ended)
        self._tell(work.name, trouble)

    def _tell(self, name: str, trouble: str) -> None:
        if self._troubles.get(name, "") != trouble:
            self._troubles[name] = trouble
            self._index.put_trouble("\n".join(f"{each}: {text}" for each, text in self._troubles.items() if text))

    def _files(self) -> Hashable:
        """Also changes now and then while recorders live, and where the files' times cannot tell."""
        stamp, now = stamp_of(self._scope.store), self._clock()
        living = int(now / _LIVING_SECONDS) if self._living else 0
        return stamp.files, None if stamp.settled else now, living

    def _fill_tables(self) -> None:
        scope = self._scope
        with Store(scope.store) as store, store.at_one_moment():
            trials = read_trials(store, run=scope.run, scorer=scope.scorer, baseline=scope.baseline)
            conditions, reasons = store.conditions_of(trials.summaries), reasons_of(store)
        # Not of the same moment: reading many new traces takes long, and what the rest needs is never taken away.
        with Store(scope.store) as store:
            self._index.refresh(
                store,
                trials.summaries,
                baseline=trials.baseline,
                models=trials.models,
                conditions=trials.conditions,
                run=trials.run,
            )
        self._living = bool(standing(scope.store).recorders)
        if trials != self._trials:
            self._trials, self._conditions, self._serial = trials, conditions, self._serial + 1
        self._reasons = reasons

    def _find_effects(self) -> None:
        assert self._trials is not None
        found = findings_of(self._trials, self._conditions)
        # Why stays that of a moment ago until it is known anew.
        self._findings = replace(found, why=self._findings.why if self._findings else None)
        self._index.put_findings(self._findings)

    def _find_why(self) -> None:
        assert self._trials is not None
        if self._findings is None or not self._trials.summaries:
            return
        known = made_of(self._trials, self._reasons)
        if self._findings.why is not None and self._index.attributed() == known:
            return
        progress = _Progress(self._index, self._clock)
        try:
            report = read_report(
                self._scope.store,
                run=self._scope.run,
                scorer=self._trials.scorer,
                told=progress.attributed,
                # While a run goes on only new traces are read.
                kept=readings_of(self._scope.store) or readings_beside(self._index.path),
            )
            self._findings = with_why(self._findings, report)
            self._index.put_attributions(attributions_of(report), made_of=known)
            self._index.put_findings(self._findings)
        finally:
            progress.end()

    def _failures_state(self) -> Hashable | None:
        """After it is known where trials turned, as far as that will be known."""
        if not self._serial or self._findings is None:
            return None
        return self._serial, self._index.attributed(), self._described

    def _describe_failures(self) -> None:
        assert self._trials is not None
        # What the next refresh will take away is no reason to go on.
        self._described += self._index.describe(self._scope.store, self._trials.summaries, most=_FAILURES_AT_ONCE)

    def _texts_state(self) -> Hashable | None:
        return (self._serial, self._unread) if self._serial and self._texts is not None else None

    def _index_texts(self) -> None:
        """Some hundred traces at a time, so that what is shown of the store is never long behind it."""
        assert self._texts is not None
        assert self._trials is not None
        if self._searched != self._serial:
            trials = self._trials
            self._texts.put_trials(trials.summaries, baseline=trials.baseline, order=trials.conditions)
            self._searched = self._serial
        found = self._texts.index.refresh(self._scope.store, most=_TEXTS_AT_ONCE)
        if found.left or self._unread:
            done = found.all - found.left
            self._index.put_progress(f"indexing texts: {done:,} of {found.all:,} trials" if found.left else "")
        self._unread = found.left


class _Progress:
    """Tells of what takes long, and now and then alone: whatever is told changes the pages."""

    def __init__(self, index: ViewerIndex, clock: Callable[[], float]) -> None:
        self._index, self._clock = index, clock
        self._told_at, self._told = clock(), False

    def attributed(self, done: int, of: int) -> None:
        if self._clock() - self._told_at >= _TOLD_SECONDS:
            self._told_at, self._told = self._clock(), True
            self._index.put_progress(f"attributing {done:,} of {of:,} trials")

    def end(self) -> None:
        if self._told:
            self._index.put_progress("")


# A process beside the viewer's server that keeps its index up to date, so that pages never wait for a bootstrap.


_LOOK_SECONDS = 0.5


def main() -> None:
    # The parent says when to end; a Ctrl-C in its terminal is not for this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    told = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        index = ViewerIndex.open(Path(told["index"]))
        with _alone(index.path):
            scope = ViewScope.from_json(told["scope"])
            _keep(scope, index, texts_of(scope, Path(told["texts"])) if "texts" in told else None)
    except Exception as error:
        sys.stdout.buffer.write(f"{type(error).__name__}: {error}".encode(errors="replace"))
        raise


def _keep(scope: ViewScope, index: ViewerIndex, texts: StoreTexts | None) -> None:
    rounds = KeeperRounds(scope, index, texts=texts)
    while True:
        if not rounds.round():
            time.sleep(_LOOK_SECONDS)


def _end_with_parent() -> None:
    sys.stdin.read()
    # Whatever is being computed: it can be made again.
    os._exit(0)


@contextmanager
def _alone(index: Path) -> Iterator[None]:
    """Of several viewers of one store one keeps their index; when that ends, the next does."""
    file = os.open(index.with_name(index.name + "-keeper"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


if __name__ == "__main__":
    main()
