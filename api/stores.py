"""A store as a researcher reads it: frames, comparisons, traces."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from toolablate.api.results import Comparison, Ladder, Shown, compare, shown_rows
from toolablate.api.words import offered, several
from toolablate.traces import store as stores
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

if TYPE_CHECKING:
    import pyarrow as pa

    from toolablate.api.failing import WrongAnswers
    from toolablate.api.finding import Hits
    from toolablate.api.looking import Agreement, Labels
    from toolablate.formats.frames import Columns, Library
    from toolablate.reports.report.contents import ReportTrial

Table = Literal["trials", "events", "scores", "questions", "attributions"]


@offered()
def open(path: str | PathLike[str]) -> "Store":
    """A store to read. Raises StoreError where there is none at the path, or a newer one."""
    with stores.Store(path):
        return Store(path)


class Store:
    """A store of trials. It is opened for each question to it, so that it may be read while a run goes on, and its
    answers are those of that moment. All methods raise StoreError where the file is damaged, and InputError for a run,
    scorer, model, condition or trial that is not there.

    Frames are of pandas, or else of polars: `library` names one of them. They are made of Arrow tables where pyarrow is
    installed: texts that recur are kept once. `run` keeps to the trials that one run called for: the beginning of its
    id, or "latest".
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"toolablate.open({str(self.path)!r})"

    def __fspath__(self) -> str:
        return str(self.path)

    # Frames.

    @offered()
    def trials(self, *, run: str = "all", scorer: str | None = None, library: "Library | None" = None) -> Any:
        """A row for each ended trial of a plan: question, model, condition, outcome, score, tokens, cost and more."""
        return self._frame(self._columns("trials", run=run, scorer=scorer), library)

    @offered()
    def scores(self, *, run: str = "all", library: "Library | None" = None) -> Any:
        """A row for each score: trial, scorer, version, value in [0, 1], verdict."""
        return self._frame(self._columns("scores", run=run), library)

    @offered()
    def questions(self, *, library: "Library | None" = None) -> Any:
        """A row for each question: prompt, choices, target, domain and more."""
        return self._frame(self._columns("questions"), library)

    @offered()
    def events(
        self,
        *,
        trial: str | Sequence[str] = (),
        model: str | Sequence[str] = (),
        condition: str | Sequence[str] = (),
        run: str = "all",
        library: "Library | None" = None,
    ) -> Any:
        """A row for each event of these trials: what was asked, replied, called, returned. Traces are read whole, about
        a thousand in a second."""
        columns = self._columns("events", trial=trial, model=model, condition=condition, run=run)
        return self._frame(columns, library)

    @offered()
    def attributions(self, *, run: str = "latest", scorer: str | None = None, library: "Library | None" = None) -> Any:
        """A row for each method's attribution of a trial: mechanism, method, confidence, evidence. Nobody is asked; see
        `toolablate.attribute`."""
        return self._frame(self._columns("attributions", run=run, scorer=scorer), library)

    @offered()
    def arrow(self, table: Table = "trials", **chosen: Any) -> "pa.Table":
        """The same as an Arrow table; `chosen` as the method of that name takes it. Raises InputError without
        pyarrow, and for a word that this method does not take."""
        from toolablate.formats.frames import arrow_table

        taken = inspect.signature(getattr(Store, table, Store.trials)).parameters.keys() - {"self", "library"}
        if wrong := sorted(chosen.keys() - taken):
            there = ", ".join(sorted(taken)) or "none"
            raise InputError(f"arrow {table!r}: there is no word {wrong[0]!r}", hint=f"there are {there}", code="usage")
        return arrow_table(self._columns(table, **chosen))

    def _frame(self, columns: "Columns", library: "Library | None") -> Any:
        from toolablate.formats.frames import frame

        return frame(columns, library)

    def _columns(self, table: Table, **chosen: Any) -> "Columns":
        from toolablate.formats import frames

        if table == "attributions":
            from toolablate.experiments.attribution.explained import outlined
            from toolablate.experiments.attribution.readings_cache import readings_of
            from toolablate.formats.exporting import reasons

            wanted = {"run": "latest", **chosen}
            found = outlined(self.path, **wanted, kept=readings_of(self.path))
            return frames.attribution_columns(reasons(found.explained).values())
        with stores.Store(self.path) as store:
            match table:
                case "trials":
                    return frames.trial_columns(store, **chosen)
                case "scores":
                    return frames.score_columns(store, **chosen)
                case "questions":
                    return frames.question_columns(store, **chosen)
                case _:
                    trials, models, conditions = (
                        several(chosen.pop(key, ())) for key in ("trial", "model", "condition")
                    )
                    return frames.event_columns(store, trials=trials, models=models, conditions=conditions, **chosen)

    # What is said of it.

    @offered()
    def compare(
        self,
        baseline: str | None = None,
        *,
        by: str | Sequence[str] = (),
        run: str = "latest",
        scorer: str | None = None,
        seed: int = 0,
        harm: bool = False,
        models: tuple[str, str] | None = None,
    ) -> Comparison:
        """Conditions against a baseline, by default the run's, paired over questions, as `toolablate compare` does.

        `by`: also within each domain, difficulty, language, kind or metadata.KEY. `models`: the second against the
        first under each condition. In a notebook the result shows itself as tables and a figure.
        """
        return compare(
            self.path,
            baseline=baseline,
            by=several(by),
            run=run,
            scorer=scorer,
            seed=seed,
            harm=harm,
            models=models,
        )

    @offered()
    def ladder(
        self,
        *,
        model: str | Sequence[str] = (),
        toolset: str | Sequence[str] = (),
        run: str = "latest",
        scorer: str | None = None,
        seed: int = 0,
    ) -> Ladder:
        """The contribution of each factor between no tools and the real ones, as `toolablate compare --ladder` does."""
        from toolablate.analysis.ladder import read_ladders

        climbed = read_ladders(self.path, run=run, scorer=scorer, models=several(model), toolsets=several(toolset))
        return Ladder(tuple(climbed.waterfalls(seed=seed)))

    @offered()
    def flips(
        self,
        baseline: str | None = None,
        *,
        run: str = "latest",
        scorer: str | None = None,
        library: "Library | None" = None,
    ) -> Any:
        """A row for each question whose correctness differs from the baseline, with the trials of both sides."""
        from toolablate.analysis.flips import Flip
        from toolablate.analysis.from_store import read_paired
        from toolablate.formats.frames import frame_of_rows

        flips = read_paired(self.path, baseline=baseline, run=run, scorer=scorer).flips()
        return frame_of_rows(shown_rows(flips), library, columns=[each.name for each in fields(Flip)])

    @offered()
    def status(self, *, library: "Library | None" = None) -> Any:
        """A row for each model and condition: how many trials are planned, answered, failed, running, pending."""
        from toolablate.formats.frames import frame_of_rows

        with stores.Store(self.path) as store:
            return frame_of_rows(shown_rows(store.counts()), library)

    @offered()
    def find(
        self,
        query: str,
        *,
        field: str = "",
        where: Mapping[str, str] | None = None,
        limit: int = 20,
        read: int = 5_000,
        run: str = "latest",
        scorer: str | None = None,
        baseline: str | None = None,
    ) -> "Hits":
        """Trials by words in code, outputs, pages, replies and answers, as `toolablate find` does: the query and
        `field` are the same, `where={"flip": "right"}` keeps to trials with these values. At most so many are listed,
        and for a regular expression so many are `read`."""
        from toolablate.api.finding import find
        from toolablate.api.looking import tell_indexed

        return find(
            self.path,
            query,
            field=field,
            where=where or {},
            limit=limit,
            read=read,
            run=run,
            scorer=scorer,
            baseline=baseline,
            tell=tell_indexed,
        )

    @offered()
    def failures(
        self,
        by: str | Sequence[str] = "relation",
        *,
        where: Mapping[str, str] | None = None,
        like: str | None = None,
        list: bool = False,
        limit: int = 20,
        sample: int | None = None,
        seed: int = 0,
        run: str = "latest",
        scorer: str | None = None,
        baseline: str | None = None,
    ) -> "WrongAnswers":
        """Wrong answers grouped by what they have in common, as `toolablate failures` does; `.frame` has a row for
        each. `like` lists those that say what a trial says, `sample` so many of each group, drawn by `seed`. Clusters
        are those of words: no endpoint is asked."""
        from toolablate.api.failing import wrong_answers
        from toolablate.api.looking import tell_indexed

        return wrong_answers(
            self.path,
            by=several(by),
            where=where or {},
            like=like,
            listed=list,
            limit=limit,
            sample=sample,
            seed=seed,
            run=run,
            scorer=scorer,
            baseline=baseline,
            tell=tell_indexed,
        )

    @offered()
    def agreement(self, *, run: str = "latest", scorer: str | Sequence[str] = ()) -> "Agreement":
        """How far scorers agree on the same trials, and how noisy judges are, as `toolablate agreement` does;
        `.disagreements` are the trials that two differ on."""
        from toolablate.api.looking import agreement

        return agreement(self.path, run=run, scorers=several(scorer))

    @offered()
    def labels(self, *, person: str | Sequence[str] = (), scorer: str | None = None) -> "Labels":
        """How far people's labels agree with attributions, judges and each other, as `toolablate agreement --labels`
        does; `.frame` has a row for each label."""
        from toolablate.api.looking import labels

        return labels(self.path, people=several(person), scorer=scorer)

    # What leaves it, and comes in.

    @offered()
    def export(self, kind: str, output: str | PathLike[str] | None = None, **words: Any) -> Path | None:
        """Writes trials as `toolablate export` does: "jsonl", "parquet", "datasets" or "inspect", with that command's
        words (`condition="python"`, `replays=True`, `attributions=False`). Returns what was written; "otlp" has an
        `endpoint` instead."""
        from toolablate.api.exchange import export

        return export(kind, self.path, None if output is None else Path(output), words)

    @classmethod
    @offered()
    def from_logs(cls, kind: str, *files: str | PathLike[str], store: str | PathLike[str], **words: Any) -> "Store":
        """Brings logs of another harness into a store, as `toolablate import` does: "inspect" or "lm-eval", with that
        command's words (`condition="tools"`)."""
        from toolablate.api.exchange import bring_in

        bring_in(kind, files, Path(store), words)
        return cls(store)

    @offered()
    def bundle(
        self,
        folder: str | PathLike[str],
        *,
        where: Sequence[str] = (),
        run: str = "latest",
        scorer: str | None = None,
        baseline: str | None = None,
    ) -> Path:
        """Writes the viewer's pages as files that need neither toolablate nor the store, as `toolablate view --bundle`
        does; `where=["ending=wrong"]` keeps to questions that fit. Returns the page to open."""
        from toolablate.reports.plots.drawing import require_matplotlib
        from toolablate.viewer.bundle.writing import write_bundle
        from toolablate.viewer.keeping.serving import Reader, require_view, user_name
        from toolablate.viewer.keeping.shown_trials import ViewScope

        require_view()
        require_matplotlib("bundle")
        scope = ViewScope(self.path, run, scorer, baseline)
        write_bundle(scope, Path(folder), tuple(where), Reader(user_name()), lambda _: None)
        return Path(folder) / "index.html"

    def verify(self) -> "stores.VerifyReport":
        """Checks the whole store; `ok` and `problems` say what was found."""
        return stores.verify(self.path)

    @offered()
    def trial(self, trial: str) -> "Trial":
        """One trial, by its id or a unique beginning of it."""
        with stores.Store(self.path) as store:
            return Trial(self, store.find_trial(trial))


@dataclass(frozen=True, repr=False)
class Trial(Shown):
    """One trial of a store: `trace` is its record, `conversation` its events after those that it goes on from."""

    store: Store
    id: str

    @cached_property
    def told(self) -> "ReportTrial":
        """The trial with question, model, condition, scores, and why it went as it did."""
        from toolablate.viewer.reporting import read_trial

        return read_trial(self.store.path, self.id)

    @property
    def trace(self) -> Any:
        return self.told.trace

    def events(self, *, library: "Library | None" = None) -> Any:
        """A row for each event."""
        return self.store.events(trial=self.id, library=library)

    def show(self) -> "TraceView":
        """The trace as the viewer shows it: in a notebook it shows itself, and `save` writes it as a page."""
        return TraceView(self.told)

    def __repr__(self) -> str:
        return f"{self.store!r}.trial({self.id[:10]!r})"

    def print(self, console: Console) -> None:
        self.show().print(console)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()


@dataclass(frozen=True, repr=False)
class TraceView(Shown):
    """A trace to look at; without scripts, and nothing is loaded."""

    told: "ReportTrial"

    @cached_property
    def html(self) -> str:
        """A page of its own. Raises InputError where what makes pages is not installed."""
        try:
            from toolablate.reports.report.trace_page import trace_page

            return trace_page(self.told)
        except ImportError as error:
            raise InputError(
                f"a page of a trace: {error.name} is not installed", hint=to_install("view"), code="no_view"
            ) from None

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the page. Raises InputError where it cannot be written."""
        from toolablate.traces.output import export

        export(self.html, Path(path), "save")
        return Path(path)

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.trace import trace_view

        told = self.told
        before = told.conversation[: len(told.conversation) - len(told.trace.events)]
        shown = trace_view(
            told.trace,
            question=told.question,
            model=told.model,
            condition=told.condition,
            scores=told.scores,
            before=before,
        )
        console.print(shown)

    def _repr_html_(self) -> str:
        from toolablate.reports.html.notebook import framed, preformatted

        try:
            return framed(self.html, f"Trial {self.told.trial[:10]}")
        except InputError:
            return preformatted(repr(self))
