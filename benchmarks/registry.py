"""Benchmarks by name: those of this package and those that other distributions bring, found alike.

A distribution names each of its benchmarks in the entry-point group `toolablate.benchmarks`:

    [project.entry-points."toolablate.benchmarks"]
    capitals = "capitals:BENCHMARK"

`toolablate --help` imports every module named there. Such a module therefore names what is slow to import as
"package.module:attribute"; it is imported when it is used.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from toolablate.benchmarks.scoring.scorer import AsyncScorer, Scorer
    from toolablate.traces.records import Question

GROUP = "toolablate.benchmarks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """What a benchmark brings. A text is "package.module:attribute".

    description  one line for `toolablate --help`
    questions    question sets, by the name that `questions.file` of a plan gives them: functions that return questions
    scorers      by the name that `questions.scorer` of a plan gives them: what is called with options of a plan
                 (`unparsed`, where it takes it) and returns a scorer
    command      a click command or group, called as `toolablate` and the name of the entry point
    """

    description: str
    questions: "Mapping[str, str | Callable[[], Iterable[Question]]]" = field(default_factory=dict)
    scorers: "Mapping[str, str | Callable[..., Scorer | AsyncScorer]]" = field(default_factory=dict)
    command: str = ""


@cache
def benchmarks() -> Mapping[str, Benchmark | InputError]:
    """By the name of the entry point, sorted; one that cannot be had is the error that says why, and is no obstacle to
    the others."""
    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        points.setdefault(point.name, []).append(point)
    return {name: _loaded(name, points[name]) for name in sorted(points)}


def question_set(name: str) -> "tuple[Question, ...] | None":
    """The questions of a set, or None where no benchmark has a set of this name. Raises InputError."""
    if not is_question_set(name):
        return None
    found = _claimed("question set", name, lambda benchmark: benchmark.questions)
    return None if found is None else tuple(_resolved(*found)())


def is_question_set(name: str) -> bool:
    """Whether a plan's `questions.file` names a set of a benchmark; what has a dot, a colon or a slash is a file.

    Raises InputError where the benchmark of this name cannot be loaded.
    """
    if {".", ":", "/"} & set(name):
        return False
    _refuse_broken(name)
    return any(name in each.questions for _, each in _good())


def scorer_factory(name: str) -> "Callable[..., Scorer | AsyncScorer] | None":
    """What makes a scorer of a benchmark, or None where none has a scorer of this name. Raises InputError."""
    _refuse_broken(name)
    found = _claimed("scorer", name, lambda benchmark: benchmark.scorers)
    return None if found is None else _resolved(*found)


def scorer_names() -> tuple[str, ...]:
    return tuple(name for _, benchmark in _good() for name in benchmark.scorers)


def commands() -> dict[str, str]:
    """What each command does that a benchmark brings, and each benchmark that cannot be loaded."""
    told = {name: "(cannot be loaded)" for name, each in benchmarks().items() if isinstance(each, InputError)}
    return told | {name: benchmark.description for name, benchmark in _good() if benchmark.command}


def command(name: str) -> Any:
    """The click command of the benchmark of this name. Raises InputError."""
    found = benchmarks()[name]
    if isinstance(found, InputError):
        raise found
    return _resolved(name, found.command)


def broken() -> tuple[InputError, ...]:
    """Of the benchmarks that cannot be loaded."""
    return tuple(each for each in benchmarks().values() if isinstance(each, InputError))


def _refuse_broken(name: str) -> None:
    found = benchmarks().get(name)
    if isinstance(found, InputError):
        raise found


def _good() -> Iterator[tuple[str, Benchmark]]:
    for name, each in benchmarks().items():
        if isinstance(each, Benchmark):
            yield name, each


def _loaded(name: str, points: list[EntryPoint]) -> Benchmark | InputError:
    if len(points) > 1:
        return InputError(
            f"the benchmark {name!r} is named by two distributions: {' and '.join(map(_distribution, points))}",
            hint="Uninstall one of them.",
            code="two_benchmarks",
        )
    (point,) = points
    try:
        found = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is told, and what is not of this benchmark goes on
        return _unloadable(name, point, f"{type(error).__name__}: {error}")
    if not isinstance(found, Benchmark):
        return _unloadable(name, point, f"{point.value} is no toolablate.benchmarks.Benchmark, but {found!r:.80}")
    return found


def _unloadable(name: str, point: EntryPoint, why: str) -> InputError:
    return InputError(
        f"the benchmark {name!r} of {_distribution(point)} cannot be loaded: {why}",
        hint=f"Fix its entry point in the group {GROUP}, {name} = {point.value!r}, or uninstall it.",
        code="bad_benchmark",
    )


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"


def _claimed(kind: str, name: str, of: Callable[[Benchmark], Mapping[str, Any]]) -> tuple[str, Any] | None:
    """The benchmark that has it, and what it has. Raises InputError where two have it."""
    found = [(owner, of(benchmark)[name]) for owner, benchmark in _good() if name in of(benchmark)]
    if len(found) > 1:
        owners = " and ".join(repr(owner) for owner, _ in found)
        raise InputError(
            f"the {kind} {name!r} is of two benchmarks: {owners}",
            hint="Uninstall one of them.",
            code="two_benchmarks",
        )
    return found[0] if found else None


def _resolved(owner: str, named: Any) -> Any:
    """Raises InputError."""
    if not isinstance(named, str):
        return named
    module, _, attribute = named.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"the benchmark {owner!r}: {named} cannot be imported: {type(error).__name__}: {error}",
            code="bad_benchmark",
        ) from error
