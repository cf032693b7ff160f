"""What the tables of a scoreboard hold, as records that can be shown."""

from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.effect import Accuracy
from toolablate.benchmarks.lpfqa.ranks import RankCorrelation, RankInterval

SetName = Literal["all", "solved", "told_apart"]
TierName = Literal["easy", "medium", "hard"]


@dataclass(frozen=True, slots=True)
class RepeatScore:
    """The mean score, in percent, of the questions that have a score in one repeat."""

    repeat: int
    questions: int
    percent: float


@dataclass(frozen=True, slots=True)
class ModelStanding:
    """One model under the baseline, over all questions that it has a score of.

    rank         by `accuracy.percent`, 1 for the highest; equal ones share the better. None without a question
    ranks95      the best and the worst rank that are not ruled out, see `rank_intervals`; None where the data cannot
                 tell
    trials       that ended; of these `failed`, `unscored` and `unparsed` as in Comparison
    missing      questions that another model has a score of, and this one has not
    repeats      each repeat by itself
    repeat_mean  the mean of these, in percent; it differs from `accuracy.percent` where a repeat lacks questions
    repeat_sd    their standard deviation (n - 1), in points: what one run differs by from the next on the same
                 questions, not what other questions would change. None for fewer than two
    """

    model: str
    simulated: bool
    accuracy: Accuracy
    rank: int | None
    ranks95: RankInterval | None
    trials: int
    failed: int
    unscored: int
    unparsed: int
    missing: int
    repeats: tuple[RepeatScore, ...]
    repeat_mean: float | None
    repeat_sd: float | None


@dataclass(frozen=True, slots=True)
class ModelScore:
    """`best`: no model has a higher one."""

    model: str
    accuracy: Accuracy
    best: bool


@dataclass(frozen=True, slots=True)
class DomainScores:
    """A column of the domain table.

    domain           None for all questions together; empty for those that name none
    questions        that some model has a score of
    scores           models as in `standings`
    mean             over models, in percent, each weighing the same; None where none has a score
    highest, lowest  the models with the highest and the lowest score; all of them where they are equal
    """

    domain: str | None
    questions: int
    scores: tuple[ModelScore, ...]
    mean: float | None
    highest: tuple[str, ...]
    lowest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Scores over some of the questions: `all`; `solved`, without those that no model gets right; `told_apart`, also
    without those that every model always gets right. `domains` has how many questions each has left."""

    name: SetName
    questions: int
    domains: tuple[tuple[str, int], ...]
    scores: tuple[ModelScore, ...]
    mean: float | None


@dataclass(frozen=True, slots=True)
class Filtered:
    """left_out        questions that some model has no score of: nobody knows whether it would be right
    unsolved           that no model gets right in any repeat: never a score of one half or more
    always             that every model gets right in every repeat
    sets               all questions but those left out, then without `unsolved`, then also without `always`
    """

    models: int
    left_out: int
    unsolved: tuple[str, ...]
    always: tuple[str, ...]
    sets: tuple[QuestionSet, ...]


@dataclass(frozen=True, slots=True)
class TieredQuestion:
    """`pass_rate` in percent; `label` is the difficulty that the question names, empty where it names none."""

    question: str
    pass_rate: float
    tier: TierName
    label: str


@dataclass(frozen=True, slots=True)
class Tier:
    tier: TierName
    questions: int
    scores: tuple[ModelScore, ...]
    mean: float | None


@dataclass(frozen=True, slots=True)
class LabelTiers:
    """Of the questions with one label, or with none: how many are in each tier, and their mean pass rate in percent."""

    label: str
    easy: int
    medium: int
    hard: int
    pass_rate: float


@dataclass(frozen=True, slots=True)
class Tiers:
    """`left_out` as in Filtered. `labels` is empty where no question has one."""

    models: int
    left_out: int
    tiers: tuple[Tier, ...]
    labels: tuple[LabelTiers, ...]
    questions: tuple[TieredQuestion, ...]


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """One model under one condition against the baseline; the fields are those of Comparison."""

    model: str
    condition: str
    questions: int
    clusters: int
    small: bool
    baseline_score: float | None
    score: float | None
    delta_points: float | None
    ci95: tuple[float, float] | None
    delta_relative: float | None
    delta_relative_ci95: tuple[float, float] | None
    p_value: float | None
    p_holm: float | None
    trials: int
    failed: int
    unscored: int
    unparsed: int


@dataclass(frozen=True, slots=True)
class AverageEffect:
    """One condition against the baseline, on average over the models that have both, each weighing the same. Intervals
    and the p-value are for these models and other questions of the same kind.

    questions, small       that some of these models count, and as in Comparison
    baseline_score, score  the means of the scores, in percent
    mean_points, ci95      the mean of the models' differences in points, which is the difference of these two means
    relative_of_means      that difference in percent of the mean baseline score
    mean_of_relatives      the mean of the models' relative differences, in percent; None where one of them has none
    p_holm                 corrected over all rows of the table, averages among them
    """

    condition: str
    models: int
    questions: int
    small: bool
    baseline_score: float | None
    score: float | None
    mean_points: float | None
    ci95: tuple[float, float] | None
    relative_of_means: float | None
    relative_of_means_ci95: tuple[float, float] | None
    mean_of_relatives: float | None
    p_value: float | None
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class Ablation:
    """`comparisons`: how many p-values `p_holm` is corrected for. An average stands where it is over several models."""

    baseline: str
    comparisons: int
    rows: tuple[ToolEffect, ...]
    averages: tuple[AverageEffect, ...]


@dataclass(frozen=True, slots=True)
class BesideRow:
    """Ranks are among the models that have a score on both; `ranks95` is of `rank`. `other_model` is the name that the
    other benchmark has for the model."""

    model: str
    score: float
    rank: int
    ranks95: RankInterval | None
    other_model: str
    other_score: float
    other_rank: int


@dataclass(frozen=True, slots=True)
class BenchmarkComparison:
    """The scores of another benchmark beside those of the store.

    only_here, only_there  models that have a score on one of them alone
    correlation            None for fewer than two models
    """

    benchmark: str
    rows: tuple[BesideRow, ...]
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]
    correlation: RankCorrelation | None


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """`filtered` and `tiers` are None for fewer than two models: to choose questions by the results of one says nothing
    of the questions."""

    baseline: str
    standings: tuple[ModelStanding, ...]
    overall: DomainScores
    domains: tuple[DomainScores, ...]
    filtered: Filtered | None
    tiers: Tiers | None
    ablation: Ablation | None
    beside: tuple[BenchmarkComparison, ...]
