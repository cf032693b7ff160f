"""What judges of failures are worth, in a file: found on planted trials, used for others."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from toolablate.traces.errors import InputError
from toolablate.traces.output import export
from toolablate.traces.plain import one_line
from toolablate.traces.records import Diagnosis, JudgeMatrix
from toolablate.traces.validation import explain

_HINT = "it is the file that `toolablate planted score STORE --judges FILE` writes"


def write_matrices(matrices: Iterable[JudgeMatrix], path: Path) -> None:
    """A JSON list, one matrix for each judge and wording. Raises InputError where it cannot be written."""
    rows = [each.model_dump(mode="json") for each in matrices]
    export(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", path, "--judges")


def read_matrices(path: Path) -> tuple[JudgeMatrix, ...]:
    """Raises InputError where the file cannot be read, is no such list, or has two of one judge and wording."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _refused(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise _refused(f"{path} is no JSON: {error}") from None
    if not isinstance(rows, list) or not rows:
        raise _refused(f"{path} should hold a JSON list of matrices")
    found: dict[tuple[str, int], JudgeMatrix] = {}
    for number, row in enumerate(rows, 1):
        try:
            matrix = JudgeMatrix.model_validate(row)
        except ValidationError as error:
            raise _refused(f"{path}: matrix {number}: {explain(error, JudgeMatrix)}") from None
        if (matrix.judge, matrix.wording) in found:
            raise _refused(f"{path}: matrix {number}: there is one of {_named(matrix)} already")
        found[matrix.judge, matrix.wording] = matrix
    return tuple(found.values())


def refuse_other_judges(matrices: Sequence[JudgeMatrix], diagnoses: Iterable[Diagnosis]) -> None:
    """Raises InputError where no diagnosis is by a judge of a matrix, asked in the same wording: another judge, or the
    same one asked in other words, errs in other ways."""
    made = {(each.judge, each.wording): each for each in diagnoses}
    if any((each.judge, each.wording) in made for each in matrices):
        return
    if not made:
        raise InputError(
            "--judge-matrix: no judge has read a trial that is shown here",
            hint="add --judge NAME, to have a judge of the plan read wrong trials",
            code="no_labels",
        )
    of = ", ".join(map(_named, matrices)) or "no judge"
    raise InputError(
        f"--judge-matrix: it is of {of}; the labels here are of {', '.join(map(_named, made.values()))}",
        hint="have the same judge, by the same model record and wording, read a planted store: docs/attribution.md",
        code="other_judge",
    )


def _named(of: JudgeMatrix | Diagnosis) -> str:
    return f"{one_line(of.judge, max_chars=80)} (wording {of.wording})"


def _refused(said: str) -> InputError:
    return InputError(f"--judge-matrix: {said}", hint=_HINT, code="bad_matrix")
