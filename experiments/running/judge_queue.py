"""What a judge is still to grade, what came of the rest, and when the judge is given up."""

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from toolablate.experiments.running.queueing import TRIALS_IN_A_ROW, GivenUp, Standing
from toolablate.experiments.world.judge_costs import JudgeCosts
from toolablate.traces.errors import ScoringError, ToolablateError

T = TypeVar("T")

# A reply without words is paid for as well.
_IN_VAIN = frozenset({"empty_reply"})


@dataclass(frozen=True, slots=True)
class Ungraded:
    """So many answers could not be graded for one reason; `message` is that of one of them, `hint` what may help."""

    code: str
    message: str
    hint: str
    count: int


@dataclass(frozen=True, slots=True)
class Unscored:
    """So many answers have the verdict `unscored`, for one reason: the judge was asked, and gave no grade."""

    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class JudgeWork:
    """What one judge of a plan did in a run, its re-gradings among it.

    `graded` counts answers that have a grade, those among them that another process was quicker to grade; `unscored`
    says why others have none, `ungraded` what kept the rest from being graded. `requests` is what was asked and replied
    to, also with what was no reply, without what a library of recorded replies gave. `cost_usd` is what those of known
    cost came to in US dollars, `unpriced` how many others there were.
    """

    judge: str
    graded: int
    unscored: tuple[Unscored, ...]
    requests: int
    cost_usd: float
    unpriced: int
    ungraded: tuple[Ungraded, ...]


@dataclass(slots=True)
class JudgeQueue(Generic[T]):
    """The gradings of one judge."""

    judge: str
    costs: JudgeCosts
    waiting: deque[T] = field(default_factory=deque)
    total: int = 0
    _graded: int = 0
    _endpoint: Standing = field(default_factory=lambda: Standing(_IN_VAIN))
    _unscored: Counter[str] = field(default_factory=Counter)
    _ungraded: dict[str, Ungraded] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """How many have ended, graded or not."""
        return self._graded + self._unscored.total() + sum(each.count for each in self._ungraded.values())

    def add(self, grading: T) -> None:
        self.waiting.append(grading)
        self.total += 1

    def ended(self, lacking: str | None, *, asked: bool) -> GivenUp | None:
        """Takes note of what an answer has now, a grade or the reason why it is `lacking`, and gives up a judge that is
        asked and gives no grades."""
        if lacking is None:
            self._graded += 1
            self._endpoint.succeeded()
            return None
        self._unscored[lacking] += 1
        if not asked:
            return None
        # A model that replies and never grades can be no judge.
        endpoint = self._endpoint
        endpoint.has_replied, endpoint.failed_in_a_row = True, endpoint.failed_in_a_row + 1
        if endpoint.failed_in_a_row < TRIALS_IN_A_ROW:
            return None
        reason = f"{endpoint.failed_in_a_row} failed in a row, the last with: {lacking}"
        return self._give_up(ScoringError(lacking, code="no_grade"), reason)

    def failed(self, error: ToolablateError) -> GivenUp | None:
        """Takes note of a grading that could not be made, and gives up the others that would only fail like it."""
        self._count(error, 1)
        reason = self._endpoint.failed(error.code, error.message)
        return self._give_up(error, reason) if reason else None

    def work(self) -> JudgeWork:
        return JudgeWork(
            judge=self.judge,
            graded=self._graded,
            unscored=tuple(Unscored(reason, count) for reason, count in self._unscored.most_common()),
            requests=self.costs.requests,
            cost_usd=self.costs.known_usd,
            unpriced=self.costs.unpriced,
            ungraded=tuple(sorted(self._ungraded.values(), key=lambda each: -each.count)),
        )

    def _give_up(self, error: ToolablateError, reason: str) -> GivenUp | None:
        left = len(self.waiting)
        self.waiting.clear()
        if not left:
            return None
        self._count(error, left)
        return GivenUp(left, reason)

    def _count(self, error: ToolablateError, more: int) -> None:
        held = self._ungraded.get(error.code, Ungraded(error.code, error.message, error.hint, 0))
        self._ungraded[error.code] = replace(held, count=held.count + more)
