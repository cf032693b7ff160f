"""The analyses of LPFQA's papers from a store, and the scores of other benchmarks to set beside them."""

import csv
import math
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from pydantic import JsonValue

from toolablate.analysis.from_store import read_paired
from toolablate.analysis.pairing import RIGHT
from toolablate.analysis.statistics.intervals import Interval, clustered_share
from toolablate.benchmarks.lpfqa.guessing import Guesses, read_guesses
from toolablate.benchmarks.lpfqa.scoreboard import Answered, OtherBenchmark, answered, scoreboard, tier_of, tiers
from toolablate.benchmarks.lpfqa.scoreboard_results import Scoreboard, TieredQuestion, TierName
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question
from toolablate.traces.store import Outlines, Store
from toolablate.traces.terminal_text import one_line

UNKNOWN = ("", "-")
_SHAPES = """a TOML file has a table for each benchmark, in it a score for each model:
  ["MMLU-Pro"]
  "GLM-4.6" = 83.2
and a CSV file a column for each benchmark behind the models' names:
  model,MMLU-Pro,HLE
  GLM-4.6,83.2,17.2"""


@dataclass(frozen=True, slots=True)
class Tables:
    """`left_out` counts ended trials of the store that the chosen run did not call for; `warning` says what makes the
    trials less alike than tables want them, "" where nothing does."""

    scoreboard: Scoreboard
    left_out: int
    warning: str


def read_tables(
    path: Path,
    *,
    baseline: str | None = None,
    run: str = "all",
    scorer: str | None = None,
    others: Sequence[OtherBenchmark] = (),
    seed: int = 0,
) -> Tables:
    """Of the trials that one run called for (`latest`, or the beginning of its id), or of `all` that the store holds;
    baseline and scorers are by default those of that run, for `all` of the latest. Raises InputError and StoreError."""
    paired = read_paired(path, baseline=baseline, run=run, scorer=scorer)
    found = scoreboard(paired.summaries, paired.baseline, others=others, order=paired.order, seed=seed)
    return Tables(found, paired.left_out, paired.warning)


@dataclass(frozen=True, slots=True)
class Pilot:
    """`questions` with the difficulty that `models` found; `tiers` counts them, `sure` those whose 95 % interval lies
    within their tier; `left_out` counts the others by why; `guesses` is what these models guess from the options alone,
    None where the store has no such trials."""

    questions: tuple[Question, ...]
    models: tuple[str, ...]
    tiers: Mapping[str, int]
    sure: int
    left_out: Mapping[str, int]
    guesses: Guesses | None


def read_pilot(
    path: Path,
    *,
    models: int | None = None,
    drop: Sequence[str] = (),
    baseline: str | None = None,
    run: str = "all",
    scorer: str | None = None,
    seed: int = 0,
) -> Pilot:
    """The store's questions by pass rate under the baseline, of all models or of so many that are drawn by the seed;
    without those to `drop`: `trivial`, `unsolved`. Raises InputError, also where there are fewer models, or than two;
    and StoreError."""
    paired = read_paired(path, baseline=baseline, run=run, scorer=scorer)
    seen = [each for each in paired.summaries if each.condition == paired.baseline]
    of_models = answered(seen, paired.baseline)
    names = sorted(name for name, scores in of_models.scores.items() if scores)
    drawn = names if models is None else _drawn(names, models, seed)
    found = tiers(of_models, drawn, seed=seed)
    if found is None:
        raise InputError(
            "a pilot needs two models: one says nothing of how hard a question is for others",
            hint=f"under {paired.baseline!r} the store has {', '.join(names) or 'none'}",
            code="too_few_models",
        )
    with Outlines(path) as outlines, Store(path) as store:
        asked = {each.trial: each.question for each in outlines.trials()}
        questions = {question.identity(): question for question in store.questions()}
    of_names = {each.question: questions[asked[each.trial]] for each in seen}
    dropped = {"trivial": 100.0, "unsolved": 0.0}
    left_out = {
        **({"not answered by all of them": found.left_out} if found.left_out else {}),
        **{why: sum(each.pass_rate == dropped[why] for each in found.questions) for why in dict.fromkeys(drop)},
    }
    kept = [each for each in found.questions if each.pass_rate not in {dropped[why] for why in drop}]
    guesses = read_guesses(path, paired.summaries, drawn, seed=seed)
    guessed = {} if guesses is None else guesses.by_question
    intervals = {each.question: _interval(of_models, drawn, each.question) for each in kept}
    return Pilot(
        tuple(
            _tiered(of_names[each.question], each, intervals[each.question], guessed.get(each.question))
            for each in kept
        ),
        tuple(drawn),
        {name: sum(each.tier == name for each in kept) for name in get_args(TierName)},
        sum({tier_of(Fraction(end)) for end in intervals[each.question]} == {each.tier} for each in kept),
        left_out,
        guesses,
    )


def _interval(found: Answered, models: Sequence[str], question: str) -> Interval:
    """Of a pass rate in [0, 1], over models as independent draws of a pool of such models."""
    runs = [(value >= RIGHT, model) for model in models for value in found.scores[model][question].values()]
    return clustered_share([right for right, _ in runs], [model for _, model in runs])[1]


def _drawn(names: Sequence[str], count: int, seed: int) -> list[str]:
    if count > len(names):
        raise InputError(f"--models: there are {len(names)}", hint=", ".join(names), code="too_few_models")
    return sorted(random.Random(seed).sample(names, count))  # noqa: S311 - a draw that can be repeated, not a secret


def _tiered(question: Question, found: TieredQuestion, ci95: Interval, guessed: float | None) -> Question:
    before = {"difficulty_before": question.difficulty} if question.difficulty else {}
    ends: list[JsonValue] = [round(100 * end, 2) for end in ci95]
    without: dict[str, JsonValue] = {} if guessed is None else {"guess_rate": round(100 * guessed, 2)}
    found_out: dict[str, JsonValue] = {
        "pass_rate": round(found.pass_rate, 2),
        "pass_rate_ci95": ends,
        **without,
        **before,
    }
    metadata = {**question.metadata, **found_out}
    return question.model_copy(update={"difficulty": found.tier, "metadata": metadata})


def read_others(path: Path) -> list[OtherBenchmark]:
    """The scores of other benchmarks from a TOML or CSV file, by its ending; of all of them more is better. Raises
    InputError that names the file, the line and the key."""
    readers = {".toml": _of_toml, ".csv": _of_csv}
    if path.suffix.lower() not in readers:
        raise _refused(path, None, "ends neither in .toml nor in .csv")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(
            path, None, f"cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        ) from None
    found = readers[path.suffix.lower()](path, text)
    if not found:
        raise _refused(path, None, "names no benchmark")
    return [OtherBenchmark(name, scores) for name, scores in found.items()]


def _of_toml(path: Path, text: str) -> dict[str, Mapping[str, float]]:
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise _refused(path, None, "is nested too deeply") from None
    except ValueError as error:
        raise _refused(path, None, f"is not valid TOML: {error}") from None
    found: dict[str, Mapping[str, float]] = {}
    for benchmark, scores in content.items():
        if not isinstance(scores, dict):
            said = f"{_quoted(benchmark)} should be a table of models; found {_quoted(scores)}"
            raise _refused(path, _line(text, benchmark), said)
        for model, score in scores.items():
            if isinstance(score, bool) or not isinstance(score, int | float) or not _finite(score):
                said = f"{_quoted(model)} of {_quoted(benchmark)} should be a number; found {_quoted(score)}"
                raise _refused(path, _line(text, benchmark, model), said)
        found[benchmark] = {model: float(score) for model, score in scores.items()}
    return found


def _line(text: str, *keys: str) -> int:
    """Where the last of these keys stands, each below the one before it; where one is not found, the one before."""
    lines, at = text.split("\n"), 0
    for key in keys:
        written = re.compile(rf"""[\s\["']*{re.escape(key)}["'\s]*[\]=.]""")
        at = next((number for number in range(at, len(lines)) if written.match(lines[number])), at)
    return at + 1


def _of_csv(path: Path, text: str) -> dict[str, Mapping[str, float]]:
    rows = _rows(path, text)
    number, header = next(rows, (1, [""]))
    benchmarks = [name.strip() for name in header[1:]]
    if not benchmarks or not all(benchmarks) or len(set(benchmarks)) < len(benchmarks):
        said = f"should name the benchmarks behind the first column, each once; found {_quoted(','.join(header))}"
        raise _refused(path, number, said)
    found: dict[str, dict[str, float]] = {name: {} for name in benchmarks}
    seen: set[str] = set()
    for number, row in rows:
        model = row[0].strip()
        if not model or model in seen:
            raise _refused(
                path, number, f"the model {_quoted(model)} stands above already" if model else "has no model"
            )
        if len(row) != len(header):
            raise _refused(path, number, f"has {len(row)} cells; the first line has {len(header)}")
        seen.add(model)
        for benchmark, cell in zip(benchmarks, row[1:], strict=True):
            if cell.strip() not in UNKNOWN:
                found[benchmark][model] = _number(path, number, benchmark, cell)
    return dict(found)


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Those that are not blank, with the number of their last line."""
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise _refused(path, reader.line_num, f"is not valid CSV: {error}") from None


def _number(path: Path, line: int, benchmark: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        said = f"the score on {_quoted(benchmark)} should be a number, or a dash for none; found {_quoted(cell)}"
        raise _refused(path, line, said)
    return value


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _quoted(value: Any) -> str:
    return repr(one_line(str(value), max_chars=80))


def _refused(path: Path, line: int | None, said: str) -> InputError:
    where = f"{path}:{line}" if line else f"{path}"
    return InputError(f"--beside: {where}: {said}", hint=_SHAPES, code="bad_scores")
