"""Models on one benchmark as its papers table them: by domain, by set of questions, by difficulty, with tools, and by
rank beside other benchmarks."""

from toolablate.benchmarks.lpfqa.scoreboard.beside import OtherBenchmark
from toolablate.benchmarks.lpfqa.scoreboard.correlation import Correlation, RankCorrelation, rank_correlation
from toolablate.benchmarks.lpfqa.scoreboard.ranks import competition_ranks, rank_intervals
from toolablate.benchmarks.lpfqa.scoreboard.records import (
    Ablation,
    AverageEffect,
    Beside,
    BesideRow,
    DomainScores,
    Filtered,
    LabelTiers,
    ModelScore,
    QuestionSet,
    RepeatScore,
    Scoreboard,
    Standing,
    Tier,
    TieredQuestion,
    Tiers,
    ToolEffect,
)
from toolablate.benchmarks.lpfqa.scoreboard.scoreboard import domains_csv, scoreboard, scoreboard_json

__all__ = [
    "Ablation",
    "AverageEffect",
    "Beside",
    "BesideRow",
    "Correlation",
    "DomainScores",
    "Filtered",
    "LabelTiers",
    "ModelScore",
    "OtherBenchmark",
    "QuestionSet",
    "RankCorrelation",
    "RepeatScore",
    "Scoreboard",
    "Standing",
    "Tier",
    "TieredQuestion",
    "Tiers",
    "ToolEffect",
    "competition_ranks",
    "domains_csv",
    "rank_correlation",
    "rank_intervals",
    "scoreboard",
    "scoreboard_json",
]
