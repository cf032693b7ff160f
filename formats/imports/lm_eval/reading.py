"""Reads a file of samples of lm-evaluation-harness, with the results beside it."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from toolablate.formats.imports.lm_eval.arm import Results, condition_of, model_of, read_results
from toolablate.formats.imports.lm_eval.lines import Lines, Row, read_lines
from toolablate.formats.imports.lm_eval.samples import sample_of
from toolablate.formats.imports.log import Log, Sample
from toolablate.traces.errors import InputError


def is_results(path: Path) -> bool:
    """Whether it is a file of results by its name, which is read along with that of the samples."""
    return path.name.startswith("results_") and path.suffix == ".json"


def read_log(path: Path, *, model: str | None = None) -> Log:
    """One arm: a file has the samples of one model and one task; `model` names it where no results do.

    Raises InputError where the file cannot be read, or nothing says which model it was.
    """
    lines = read_lines(path)
    results = read_results(path)
    notes = () if results.content else ("no results beside it: how the model was asked is not known",)
    return Log(
        harness="lm-eval",
        file=path,
        id=lines.digest,
        model=model_of(results, path, model),
        condition=condition_of(results),
        samples=partial(_samples, lines, results),
        notes=notes,
    )


def _samples(lines: Lines, results: Results) -> Iterator[Sample]:
    for rows in lines.documents():
        yield _taken(rows, results, f"{lines.path}:{rows[0].number}")


def _taken(rows: Sequence[Row], results: Results, where: str) -> Sample:
    try:
        return sample_of(rows, results, where)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InputError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}", code="bad_sample") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(
            f"{where}: its arguments and replies are not as lm-evaluation-harness writes them ({type(error).__name__})",
            hint="Versions 0.4.0 and later are read.",
            code="bad_sample",
        ) from None
