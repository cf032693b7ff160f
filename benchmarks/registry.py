"""Benchmarks by name: those of this package and those that other distributions bring, found alike.

A distribution names each of its benchmarks in the entry-point group `toolablate.benchmarks`:

    [project.entry-points."toolablate.benchmarks"]
    capitals = "capitals:BENCHMARK"

`toolablate --help` imports every module named there. Such a module therefore names what is slow to import as
"package.module:attribute"; it is imported when it is used.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any

from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.plugins import by_name, checked, having, only, package_and_version, refuse_built_in

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import click

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
    command: "str | click.Command" = ""

    def __post_init__(self) -> None:
        """Raises TypeError for what `toolablate --help` and lists of names could not show."""
        if not isinstance(self.description, str):
            raise TypeError(f"description must be a text, not {self.description!r}")
        for name, value in (("questions", self.questions), ("scorers", self.scorers)):
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise TypeError(f"{name} must be a mapping from names, not {value!r}")


@cache
def benchmarks() -> Mapping[str, Benchmark | InputError]:
    """By the name of the entry point, sorted; one that cannot be had is the error that says why, and is no obstacle to
    the others."""
    return {name: _loaded(name, points) for name, points in sorted(by_name(GROUP).items())}


def question_set(name: str) -> "tuple[Question, ...] | None":
    """The questions of a set, each with an id of its own, or None where no benchmark has a set of this name. Raises
    InputError."""
    if not is_question_set(name):
        return None
    found = _claimed("question set", name, lambda benchmark: benchmark.questions)
    if found is None:
        return None
    owner, named = found

    def said() -> str:
        return f"the question set {name!r} of {_owner(owner)}"

    questions: tuple[Question, ...] = _called(said, lambda: _questions(_resolved(owner, named)()))
    _check_identities(name, questions, said)
    return questions


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
    if found is None:
        return None
    owner, named = found
    said = partial(said_of_scorer, name)
    make: Callable[..., Scorer | AsyncScorer] = _called(said, partial(_resolved, owner, named), callable, "a function")

    @wraps(make, updated=())
    def made(**options: Any) -> "Scorer | AsyncScorer":
        scorer: Scorer | AsyncScorer = _called(
            said, partial(make, **options), having("name", "version", "score"), "an object with name, version and score"
        )
        return scorer

    return made


def said_of_scorer(name: str) -> str:
    """The scorer with the benchmark that brings it and its package, as messages begin."""
    owners = [owner for owner, benchmark in _good() if name in benchmark.scorers]
    return f"the scorer {name!r}" + (f" of {_owner(owners[0])}" if owners else "")


def refuse_built_in_scorer(name: str) -> None:
    """Raises InputError where a benchmark has a scorer of a name that is built in."""
    owners = [owner for owner, benchmark in _good() if name in benchmark.scorers]
    if owners:
        points = by_name(GROUP)
        refuse_built_in([points[owner][0] for owner in owners], f"the scorer {name!r}")


def scorer_names() -> tuple[str, ...]:
    return tuple(name for _, benchmark in _good() for name in benchmark.scorers)


def commands() -> dict[str, str]:
    """What each command does that a benchmark brings, and each benchmark that cannot be loaded."""
    told = {name: "(cannot be loaded)" for name, each in benchmarks().items() if isinstance(each, InputError)}
    return told | {name: benchmark.description for name, benchmark in _good() if benchmark.command}


def command(name: str) -> Any:
    """The click command of the benchmark of this name. Raises InputError."""
    import click

    found = benchmarks()[name]
    if isinstance(found, InputError):
        raise found
    return _called(
        lambda: f"the command of {_owner(name)}",
        partial(_resolved, name, found.command),
        lambda command: isinstance(command, click.Command),
        "a click command",
    )


def told_broken() -> str:
    """Of the benchmarks that cannot be loaded, whose names are not known; "" where there are none."""
    broken = (each.message for each in benchmarks().values() if isinstance(each, InputError))
    return " ".join(f"{message[0].upper()}{message[1:]}." for message in broken)


def _refuse_broken(name: str) -> None:
    found = benchmarks().get(name)
    if isinstance(found, InputError):
        raise found


def _good() -> Iterator[tuple[str, Benchmark]]:
    for name, each in benchmarks().items():
        if isinstance(each, Benchmark):
            yield name, each


def _loaded(name: str, points: "tuple[EntryPoint, ...]") -> Benchmark | InputError:
    try:
        point = only(points, f"the benchmark {name!r}")
        found: Benchmark = checked(
            f"{_told(name, point)} cannot be loaded",
            point.load,
            lambda found: isinstance(found, Benchmark),
            "a toolablate.benchmarks.Benchmark",
            hint=f"Fix its entry point in the group {GROUP}, {name} = {point.value!r}, or uninstall it.",
            code="bad_benchmark",
        )
    except InputError as error:
        return error
    return found


def _told(name: str, point: "EntryPoint") -> str:
    return f"the benchmark {name!r} of {package_and_version(point)}"


def _owner(name: str) -> str:
    """A benchmark that was loaded, with its distribution."""
    return _told(name, by_name(GROUP)[name][0])


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
    return checked(
        lambda: f"{_owner(owner)}: {named} cannot be imported",
        lambda: getattr(importlib.import_module(module), attribute),
        code="bad_benchmark",
    )


def _questions(given: "Iterable[Question]") -> "tuple[Question, ...]":
    from toolablate.traces.records import Question

    questions = tuple(given)
    for each in questions:
        if not isinstance(each, Question):
            raise TypeError(f"a Question is expected, found {each!r:.80}")
    return questions


def _check_identities(name: str, questions: "Sequence[Question]", said: Callable[[], str]) -> None:
    """Raises InputError, which begins with `said`, for a set that holds no question, and for ids as in a file."""
    from toolablate.benchmarks.rows.row_errors import Identities, LineError, RowPlace, at

    if not questions:
        raise InputError(
            f"{said()}: holds no question",
            hint="Have the function that returns its questions return at least one, or name another set.",
            code="no_question",
        )
    identities = Identities("question")
    for number, question in enumerate(questions, 1):
        try:
            identities.take(question.id, RowPlace(name, "row", number))
        except LineError as error:
            raise at(RowPlace(said(), "row", number), error, code="bad_question") from error


_called = partial(checked, code="bad_benchmark", passing=(ToolablateError,))
