"""Figures of metrics on comparisons: those that are published, by hand, and against other implementations."""

import json
import random
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.benchmarks.conftest import DATA
from tests.benchmarks.lfqa_e.comparing import UNIFIED, XU, compared, written

from toolablate.benchmarks.lfqa_e.comparisons import VERDICTS, load_comparisons
from toolablate.benchmarks.lfqa_e.metrics import (
    FAILED,
    UNREAD,
    MetricVerdicts,
    baselines,
    by_difference,
    metric_of_file,
    static_metrics,
    with_fitted_tau,
)
from toolablate.benchmarks.lfqa_e.tables import kappa_of, lfqa_tables, macro_f1_of
from toolablate.benchmarks.scoring.rouge import common_subsequence, rouge_l, rouge_n, rouge_tokens
from toolablate.cli import group
from toolablate.traces.errors import InputError

PUBLISHED = DATA / "lfqa_e_zh.json"
published = pytest.mark.skipif(not PUBLISHED.exists(), reason=f"LFQA-E is not in {DATA} (set TOOLABLATE_DATA)")


@pytest.mark.deep
@published
def test_the_figures_of_the_published_file() -> None:
    """Computed elsewhere with rouge-score 0.1.2 and scikit-learn."""
    found = CliRunner().invoke(group, ["lfqa-e", "tables", str(PUBLISHED), "--json"])
    assert found.exit_code == 0, found.output
    tables = json.loads(found.stdout)
    known = {
        "length_chars": (51.13, 35.55),
        "rouge1_f": (46.44, 32.00),
        "rouge2_f": (48.20, 33.30),
        "rougeL_f": (46.61, 32.17),
        "rougeL_r": (52.81, 39.52),
        "rouge2_r": (54.07, 39.64),
        "always_a": (50.21, 22.28),
        "always_same": (8.05, 4.97),
    }
    for name, figures in known.items():
        row = tables["all"][name]
        assert (row["n"], round(row["acc"], 2), round(row["macro_f1"], 2)) == (1193, *figures), name
        assert row["acc_ci95"][0] < row["acc"] < row["acc_ci95"][1]
    for setting, figures in {"human_vs_model": (51.68, 31.31), "model_vs_model": (41.57, 28.67)}.items():
        row = tables[setting]["rougeL_f"]
        assert (round(row["acc"], 2), round(row["macro_f1"], 2)) == figures
        assert tables[f"zh/{setting}"] == tables[setting]
    assert tables["zh"] == tables["all"]
    assert tables["all"]["always_same"]["tie_acc"] == 100
    assert round(tables["between"]["length_chars"]["rougeL_f"]["kappa"], 3) == -0.611
    assert tables["all"]["always_a"]["acc"] > tables["all"]["rougeL_f"]["acc"]


@pytest.mark.deep
@published
def test_chinese_needs_tokens_of_its_own() -> None:
    """By rouge-score's own tokens nearly all comparisons are ties."""
    from rouge_score.rouge_scorer import RougeScorer  # brings nltk along, which takes a second

    scorer = RougeScorer(["rouge1"])
    rows = load_comparisons(PUBLISHED)[:60]
    scores = np.array(
        [[scorer.score(each.reference, text)["rouge1"].fmeasure for text in (each.a, each.b)] for each in rows]
    )
    assert (by_difference("rouge", scores).codes == VERDICTS.index("same")).mean() > 0.85
    assert sum(rouge_tokens(each.reference) == [] for each in rows) == 0


def test_rouge_is_that_of_rouge_score() -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer, drawn = RougeScorer(["rouge1", "rouge2", "rougeL"]), random.Random(1)
    for _ in range(60):
        one, other = (" ".join(drawn.choices("a b c dd Ee", k=drawn.randrange(0, 30))) for _ in range(2))
        reference, candidate = rouge_tokens(one), rouge_tokens(other)
        expected = scorer.score(one, other)
        mine = {
            "rouge1": rouge_n(reference, candidate, 1),
            "rouge2": rouge_n(reference, candidate, 2),
            "rougeL": rouge_l(reference, candidate),
        }
        for name, found in mine.items():
            assert tuple(found) == pytest.approx(tuple(expected[name]), abs=1e-12), (name, one, other)


def test_rouge_of_long_real_texts() -> None:
    """ACI-Bench, test 2, LED (division): the figures that its authors published, by rouge-score's own tokens: what LED
    wrote has kana, which those pass over."""
    from rouge_score.tokenizers import DefaultTokenizer

    path = DATA / "aci_bench_test2.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} is not in {DATA} (set TOOLABLATE_DATA)")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tokens = DefaultTokenizer().tokenize
    pairs = [(tokens(row["note"]), tokens(row["predictions"]["LED_division"])) for row in rows]
    found = [[rouge_n(*pair, 1).f, rouge_n(*pair, 2).f, rouge_l(*pair).f] for pair in pairs]
    assert np.mean(found, axis=0).round(5).tolist() == [0.35142, 0.08573, 0.12648]


def test_tokens_of_mixed_texts() -> None:
    assert rouge_tokens("GDP为3.5万, 增长 OK") == ["gdp", "为", "3", "5", "万", "增", "长", "ok"]
    assert common_subsequence(list("abcbdab"), list("bdcaba")) == 4
    assert common_subsequence([], ["a"]) == 0


@pytest.mark.deep
def test_macro_f1_and_kappa_are_those_of_others() -> None:
    """F1 from precision and recall, as scikit-learn has it with zero_division=0; kappa of statsmodels."""
    from statsmodels.stats.inter_rater import cohens_kappa

    drawn = random.Random(3)
    for _ in range(20):
        labels = drawn.choices(range(3), weights=[5, 4, 1], k=30)
        said = drawn.choices(range(3), weights=[4, 4, 0.5], k=30)
        pairs = list(zip(labels, said, strict=True))
        table = np.array([[pairs.count((row, column)) for column in range(4)] for row in range(3)], dtype=float)
        expected = []
        for kind in range(3):
            hits = pairs.count((kind, kind))
            precision = hits / said.count(kind) if kind in said else 0.0
            recall = hits / labels.count(kind) if kind in labels else 0.0
            expected.append(2 * precision * recall / (precision + recall) if hits else 0.0)
        figures = tuple(table.ravel().tolist())
        assert macro_f1_of(figures) == pytest.approx(np.mean(expected))
        assert kappa_of(figures) == pytest.approx(cohens_kappa(table[:, :3]).kappa)


def test_unread_is_wrong_and_failed_is_left_out() -> None:
    rows = [compared(n, label) for n, label in enumerate(("a", "a", "b", "same"))]
    judged = MetricVerdicts("judge", np.array([0, UNREAD, FAILED, 2]))
    found = lfqa_tables(rows, [judged], resamples=50).groups["all"]["judge"]
    assert (found.n, found.unread, found.failed) == (3, 1, 1)
    assert found.acc == pytest.approx(200 / 3)
    assert found.micro_f1 == pytest.approx(80)  # precision 2/2, recall 2/3
    assert (found.ties_predicted, found.tie_acc, found.tie_precision) == (1, 100, 100)
    assert found.classes["a"].recall == 50
    assert found.classes["b"].f1 == 0


def test_every_figure_has_an_interval() -> None:
    """Wherever the data can tell one: of a metric that is sometimes right about each of the three verdicts."""
    drawn = np.random.default_rng(6)
    labels = drawn.choice(3, size=240)
    said = np.where(drawn.random(240) < 0.6, labels, drawn.choice(3, size=240))
    rows = [
        compared(n, VERDICTS[label], cluster=f"q{n // 2}", setting="human_vs_model" if n % 4 else "model_vs_model")
        for n, label in enumerate(labels.tolist())
    ]
    told = ("turned", "contradicted", "asked_again")
    judged = MetricVerdicts("judge", said, **{name: drawn.random(240) < 0.2 for name in told})
    found = lfqa_tables(rows, [judged], resamples=300)
    for of in (found.groups["all"]["judge"], *found.groups["all"]["judge"].classes.values(), found.averages["judge"]):
        values = asdict(of)
        for name, interval in values.items():
            if name.endswith("_ci95"):
                assert interval is not None, name
                assert interval[0] < values[name.removesuffix("_ci95")] < interval[1], name
    whole = asdict(found.groups["all"]["judge"])
    shares = {"acc", "macro_f1", "micro_f1", "tie_acc", "tie_precision", "kappa", *told}
    assert {name.removesuffix("_ci95") for name in whole if name.endswith("_ci95")} == shares
    assert whole["tie_acc"] == whole["classes"]["same"]["recall"]


def test_kappa_of_two_metrics_is_the_same_both_ways_round() -> None:
    """Over comparisons that both read; an unread reply of either is no verdict to agree with."""
    rows = [compared(n, "a") for n in range(8)]
    one = MetricVerdicts("one", np.array([0, 0, 1, 1, 2, 0, UNREAD, UNREAD]))
    other = MetricVerdicts("other", np.array([0, 1, 1, 1, 2, UNREAD, 0, UNREAD]))
    there = lfqa_tables(rows, [one, other], resamples=50).between["one"]["other"]
    back = lfqa_tables(rows, [other, one], resamples=50).between["one"]["other"]
    # Of five, four agree; by chance (2 * 1 + 2 * 3 + 1 * 1) / 25.
    assert there.kappa == back.kappa == pytest.approx((4 / 5 - 9 / 25) / (1 - 9 / 25))
    assert there.ci95 == back.ci95


def test_baselines_by_hand() -> None:
    rows = [
        compared(1, "a", a="long text", b="x"),
        compared(2, "b", a="x", b="y"),
        compared(3, "same", a="x", b="long"),
    ]
    found = lfqa_tables(rows, resamples=50).groups["all"]
    assert found["always_a"].acc == found["always_b"].acc == found["always_same"].acc == pytest.approx(100 / 3)
    assert (found["longer"].acc, found["shorter"].acc) == (pytest.approx(100 / 3), 0)
    assert found["random"].acc == pytest.approx(100 / 3)
    assert found["random"].acc_ci95 is None
    assert found["random"].macro_f1 == pytest.approx(100 / 3)
    assert [each.name for each in baselines(rows)][-1] == "random"


def test_a_fitted_threshold_does_not_see_its_own_question() -> None:
    """All others are ties at a distance of 2: 2 is fitted for the odd one out, which it makes wrong."""
    labels = ["same"] * 5 + ["a"]
    rows = [compared(n, label) for n, label in enumerate(labels)]  # type: ignore[arg-type]
    scores = np.array([[2.0, 0.0]] * 6)
    fitted = with_fitted_tau(by_difference("m", scores), rows)
    assert fitted.codes.tolist() == [2] * 6
    assert fitted.tau == (2.0, 2.0)
    # Of one question there are no others.
    same = [compared(n, label, cluster="q") for n, label in enumerate(labels)]  # type: ignore[arg-type]
    assert with_fitted_tau(by_difference("m", scores), same).tau == (0.0, 0.0)


def test_groups_topics_and_averages() -> None:
    rows = [
        compared(1, "a", a="xx", b="x", setting="human_vs_model", topic="physics"),
        compared(2, "a", a="x", b="xx", setting="human_vs_model", topic="physics"),
        compared(3, "a", a="xx", b="x", language="zh", topic="law"),
    ]
    found = lfqa_tables(rows, resamples=50)
    names = ["all", "en", "zh", "human_vs_model", "model_vs_model", "en/human_vs_model", "zh/model_vs_model"]
    assert list(found.groups) == names
    assert {name: of["longer"].acc for name, of in found.topics.items()} == {"law": 100, "physics": 50}
    average = found.averages["longer"]
    assert (average.acc_of_cells, average.acc_pooled) == (75, pytest.approx(200 / 3))


def test_without_references_there_are_lengths_only(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", XU)
    metrics, missing = static_metrics(load_comparisons(path))
    assert {each.name.removesuffix("_tau") for each in metrics} == {"length_chars", "length_tokens"}
    assert missing == "no reference answers: ROUGE, BLEU and chrF are left out"
    refused = CliRunner().invoke(group, ["lfqa-e", "import", str(path), "-o", str(tmp_path / "q.jsonl")])
    assert refused.exit_code != 0
    assert "has no reference answers to grade by" in str(refused.exception)


def of_others(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_second_annotator_and_scores_from_elsewhere_stand_in_the_tables(tmp_path: Path) -> None:
    rows = [{**UNIFIED, "id": str(n), "label": "same" if n == 3 else "response_a"} for n in range(4)]
    path = written(tmp_path / "rows.json", *rows)
    human = of_others(tmp_path / "human.jsonl", *({"id": str(n), "verdict": "a", "by": "ann"} for n in range(3)))
    scores = of_others(tmp_path / "scores.jsonl", *({"id": str(n), "a": 0.9, "b": 0.1 * n + 0.6} for n in range(4)))
    given = ["--metric", f"human={human}", "--metric", f"bertscore={scores}"]
    shown = CliRunner().invoke(group, ["lfqa-e", "tables", str(path), *given, "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    human_row, scored = found["all"]["human"], found["all"]["bertscore"]
    assert (human_row["n"], human_row["failed"], human_row["acc"]) == (3, 1, 100)
    assert (scored["n"], scored["ties_predicted"], scored["acc"]) == (4, 1, 100)
    assert "bertscore_tau" in found["all"]
    assert found["between"]["human"]["bertscore"]["kappa"] is None  # both always say a


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "8", "verdict": "a"}, 'no comparison has the id "8"'),
        ({"id": "7f1c", "verdict": "A"}, "'verdict' must be 'a', 'b' or 'same'; found \"A\""),
        ({"id": "7f1c", "a": 1}, "the key 'b' is missing"),
        ({"id": "7f1c", "a": 1, "b": "2"}, "'b' must be a number; found \"2\""),
    ],
)
def test_what_is_wrong_with_a_row_of_another_metric_is_said(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    comparisons = load_comparisons(written(tmp_path / "rows.json", UNIFIED))
    path = of_others(tmp_path / "other.jsonl", row)
    with pytest.raises(InputError) as caught:
        metric_of_file("other", path, comparisons)
    assert f"{path}:1: {said}" in str(caught.value)
    mine = of_others(tmp_path / "mine.jsonl", {"id": "7f1c", "verdict": "a"})
    for metric, told in ((f"longer={mine}", "'longer' is that of another metric"), ("x", "NAME=FILE is expected")):
        refused = CliRunner().invoke(group, ["lfqa-e", "tables", str(tmp_path / "rows.json"), "--metric", metric])
        assert refused.exit_code != 0
        assert told in f"{refused.exception} {refused.output}"


def test_without_sacrebleu_the_rest_is_shown_and_the_command_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    metrics, missing = static_metrics(load_comparisons(written(tmp_path / "a.json", UNIFIED)))
    assert "bleu" not in {each.name for each in metrics}
    assert "sacrebleu" in missing
    assert "pip install" in missing


def test_the_table_is_readable_and_import_writes_questions(tmp_path: Path) -> None:
    rows = written(
        tmp_path / "a.json", UNIFIED, {**UNIFIED, "id": "2", "compare_type": "model_vs_model", "type": "sky"}
    )
    shown = CliRunner().invoke(group, ["lfqa-e", "tables", str(rows)])
    assert shown.exit_code == 0, shown.output
    assert "rougeL_f" in shown.output
    assert "always_a" in shown.output
    output = tmp_path / "questions.jsonl"
    brought = CliRunner().invoke(group, ["lfqa-e", "import", str(rows), "-o", str(output)])
    assert "1 question of 2 comparisons" in brought.output
    assert json.loads(output.read_text(encoding="utf-8"))["target"]["kind"] == "reference"


@pytest.mark.deep
def test_intervals_cover_the_truth() -> None:
    """Clusters of three comparisons whose metric is right together or not: accuracy, macro-F1 and kappa of the world
    lie in about 95 % of the intervals."""
    drawn, worlds, questions = np.random.default_rng(5), 300, 80

    def world(count: int) -> tuple[list[Any], Any]:
        labels = drawn.choice(3, size=count * 3, p=[0.45, 0.4, 0.15])
        good = np.repeat(drawn.random(count) < 0.6, 3)
        other = drawn.choice(3, size=count * 3, p=[0.5, 0.35, 0.15])
        return labels.tolist(), np.where(good, labels, other)

    def figures(count: int, resamples: int) -> Any:
        labels, said = world(count)
        rows = [compared(n, VERDICTS[label], cluster=f"q{n // 3}") for n, label in enumerate(labels)]
        from toolablate.benchmarks.lfqa_e.tables import _Figures

        return _Figures(rows, 0, resamples).of([MetricVerdicts("m", said)], range(len(rows)))["m"]

    truth = figures(30_000, 10)
    hit = np.zeros(3)
    for _ in range(worlds):
        found = figures(questions, 1_000)
        for place, (interval, true) in enumerate(
            [(found.acc_ci95, truth.acc), (found.macro_f1_ci95, truth.macro_f1), (found.kappa_ci95, truth.kappa)]
        ):
            hit[place] += interval[0] <= true <= interval[1]
    assert (hit / worlds >= 0.915).all(), hit / worlds
