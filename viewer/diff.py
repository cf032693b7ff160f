"""Two trials of one question side by side."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.analysis.alignment import Differing, align, settings
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.selection import Ending
from toolablate.reports.cause_wording import is_short, right_answer
from toolablate.reports.html.beliefs import marks_of, with_answer
from toolablate.reports.html.cards import Marks
from toolablate.reports.html.side_by_side import side_by_side
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Event, Model, Question, Score, Trace
from toolablate.traces.store import Store
from toolablate.viewer.index import QuestionRow, TrialRow
from toolablate.viewer.rendering import View, page, view_of
from toolablate.viewer.selection import ENDINGS, carried, diff_address
from toolablate.viewer.trial_head import explained, recorded


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One trial with all that the page shows of it. `marks` are by event: where the belief in the right answer falls
    for good, and what is evidence; none where that is not known or not to be shown."""

    trace: Trace
    model: Model
    condition: Condition
    scores: tuple[Score, ...]
    conversation: tuple[Event, ...]
    marks: Mapping[int, Marks]

    @property
    def trial(self) -> str:
        return self.trace.trial.id

    @property
    def name(self) -> str:
        """Of its condition, or of the change by which it differs from its parent."""
        resumed = self.condition.resumed
        return self.condition.name if resumed is None else f"replay: {resumed.change.kind.replace('_', ' ')}"

    @property
    def ending(self) -> Ending:
        verdict = self.scores[-1].verdict if self.scores else None
        if self.trace.outcome in ("failed", "budget") and verdict != "correct":
            return "failed" if self.trace.outcome == "failed" else "budget"
        return verdict or "unscored"

    @property
    def answer(self) -> str:
        """As the scorer read it, else how the reply ends."""
        extracted = next((", ".join(score.extracted) for score in reversed(self.scores) if score.extracted), "")
        text = extracted or (self.trace.answer or "").strip()
        return text if len(text) <= _ANSWER_CHARS else f"… {text[-_ANSWER_CHARS:]}"


_ANSWER_CHARS = 160


def diff(request: Request) -> Response:
    view = view_of(request)
    with Store(view.store) as store:
        ids = [store.find_trial(request.path_params[name]) for name in ("left", "right")]
        sides = {trial: side_of(view, store, trial) for trial in dict.fromkeys(ids)}
        left, right = (sides[trial] for trial in ids)
        question = store.question(left.trace.trial.question)
    return shown_beside(request, left, right, question)


def shown_beside(
    request: Request, left: DiffSide, right: DiffSide, question: Question, *, stores: tuple[str, str] | None = None
) -> Response:
    """`stores` are the names of both, where the right side is of another one, whose other trials are not here."""
    view = view_of(request)
    if left.trace.trial.question != right.trace.trial.question:
        raise HTTPException(
            HTTPStatus.BAD_REQUEST,
            "These two trials are of different questions, so there is nothing to set side by side.",
        )
    alignment = align(left.conversation, right.conversation)
    return page(
        request,
        "diff.html",
        question=question,
        right_answer=_right_answer(question),
        left=left,
        right=right,
        stores=stores,
        found=side_by_side(alignment, question, marks=(left.marks, right.marks)),
        settings=_settings(view, left, right),
        choices=() if stores else tuple(_choices(view, left)),
        endings=ENDINGS,
        parent=_parent(left, right),
        swapped=diff_address(right.trial, left.trial) + carried(request.query_params),
        handed_on=parse_qsl(carried(request.query_params).removeprefix("?"), keep_blank_values=True),
    )


def beside_its_baseline(request: Request) -> Response:
    """A trial beside the one that it is best held against."""
    view = view_of(request)
    with Store(view.store) as store:
        trial = store.find_trial(request.path_params["left"])
        own = _planned(view, trial)
        resumed = None if own else store.condition(store.trace(trial).trial.condition).resumed
    if resumed is not None:
        return _to(request, resumed.trial, trial)
    own = own or view.index.trial(trial)
    other = _partner(own, view.index.question(own.question), view.index.facets().baseline)
    pair = (trial, other.trial) if other.after else (other.trial, trial)
    return _to(request, *pair)


def chosen(request: Request) -> Response:
    """What the form with both sides leads to."""
    sides = [request.query_params.get(name, "").strip() for name in ("left", "right")]
    if not all(sides):
        raise HTTPException(HTTPStatus.BAD_REQUEST, "Choose a trial for both sides.")
    return _to(request, *sides)


def _to(request: Request, left: str, right: str) -> Response:
    return RedirectResponse(diff_address(left, right) + carried(request.query_params), HTTPStatus.SEE_OTHER)


@dataclass(frozen=True, slots=True)
class _Partner:
    """`after` tells that it stands to the right."""

    trial: str
    after: bool


def _partner(own: TrialRow, row: QuestionRow, baseline: str) -> _Partner:
    """The baseline's trial of the same repeat; of a trial of the baseline the first that lost what that has right, else
    the first that called tools, else the first under another condition, else another repeat. Raises InputError where
    there is none."""
    of_model = [glance for glance in row.glances if glance.model == own.model and glance.trials]
    others = [glance for glance in of_model if glance.condition != own.condition]
    wanted = [glance for glance in others if glance.condition == baseline]
    if own.condition == baseline:
        lost = [glance for glance in others if glance.flip == "right_to_wrong"]
        called = [glance for glance in others if any(trial.calls for trial in glance.trials)]
        wanted = [*lost, *called, *others, *(glance for glance in of_model if glance.condition == baseline)]
    for glance in wanted or others:
        trials = sorted(glance.trials, key=lambda trial: (trial.repeat != own.repeat, trial.repeat))
        found = next((trial.trial for trial in trials if trial.trial != own.trial), None)
        if found is not None:
            return _Partner(found, after=own.condition == baseline)
    raise InputError(
        f"Trial {own.trial} has no other trial of its question to compare with",
        code="alone",
        hint="Run more trials of the question.",
    )


def side_of(view: View, store: Store, trial: str, *, version: int | None = None) -> DiffSide:
    """`version` is that of a store that is not the one viewed: of its trials the index knows nothing."""
    known = view.index.version() if version is None else version
    trace, condition, conversation = recorded(store.path, trial, None, known)
    scores = tuple(sorted(store.scores(trial), key=lambda score: (score.scorer, score.scorer_version)))
    question = store.question(trace.trial.question)
    marks = _marks(view, trial) if version is None else {}
    return DiffSide(
        trace=trace,
        model=store.model(trace.trial.model),
        condition=condition,
        scores=scores,
        conversation=conversation,
        marks=with_answer(marks, question, scores, conversation),
    )


def _marks(view: View, trial: str) -> Mapping[int, Marks]:
    if view.blind or trial in view.session.hiding or not _planned(view, trial):
        return {}
    told = explained(view, trial, view.index.version())
    if not isinstance(told, Explanation):
        return {}
    view.session.seen.add(trial)
    return marks_of(told)


_SENT = frozenset({"model", "condition", "repeat", "prompt", "tool choice", "parallel calls", "budget", "change"})
"""Settings that cannot name an endpoint or a file of this machine."""


def _settings(view: View, left: DiffSide, right: DiffSide) -> tuple[Differing, ...]:
    found = settings(*((side.trace.trial, side.model, side.condition) for side in (left, right)))
    return found if view.bundle is None else tuple(each for each in found if each.name in _SENT)


def _planned(view: View, trial: str) -> TrialRow | None:
    """None of a replay, to which nothing is attributed, and of a trial that the index does not know yet."""
    try:
        return view.index.trial(trial)
    except InputError:
        return None


def _right_answer(question: Question) -> str:
    if question.target.kind == "reference" and not is_short(question.target.answer):
        return question.target.answer
    return right_answer(question)


def _parent(left: DiffSide, right: DiffSide) -> str:
    """Which of both goes on from the other: `left`, `right` or "" for none."""
    for name, side, other in (("left", left, right), ("right", right, left)):
        if side.condition.resumed is not None and side.condition.resumed.trial == other.trial:
            return name
    return ""


def _choices(view: View, side: DiffSide) -> Iterator[tuple[str, tuple[TrialRow, ...]]]:
    """All trials of the question, by the names of their models."""
    try:
        row = view.index.question(side.trace.trial.question)
    except InputError:
        return  # none of a plan, or the index does not know it yet
    for model in dict.fromkeys(glance.model for glance in row.glances):
        yield model, tuple(trial for glance in row.glances if glance.model == model for trial in glance.trials)


ROUTES: tuple[Route, ...] = (
    Route("/diff", chosen, name="chosen"),
    Route("/diff/{left}", beside_its_baseline, name="beside_its_baseline"),
    Route("/diff/{left}/{right}", diff, name="diff"),
)
