"""Benchmarks come from entry points, those of other distributions as ours; one that is broken is no obstacle to others."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolablate.benchmarks import registry
from toolablate.benchmarks.questions import questions_of
from toolablate.benchmarks.scoring.scorers import SCORERS, scorer_for
from toolablate.cli import group
from toolablate.traces.errors import InputError, ScoringError

Install = Callable[..., None]
GOOD = """from toolablate.benchmarks import Benchmark

BENCHMARK = Benchmark(
    description="Capitals of the world.",
    questions={"capitals": "capitals_for_test:questions"},
    scorers={"capitals": "capitals_for_test:make"},
    command="capitals_for_test:command",
)
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution into the environment that names benchmarks, and a module of its own."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def installed(name: str, points: str, code: str = "") -> None:
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(f"[toolablate.benchmarks]\n{points}\n", encoding="utf-8")
        if code:
            (tmp_path / "capitals_for_test.py").write_text(code, encoding="utf-8")
        registry.benchmarks.cache_clear()

    yield installed
    registry.benchmarks.cache_clear()
    sys.modules.pop("capitals_for_test", None)


def shown(*arguments: str) -> str:
    return CliRunner().invoke(group, arguments).output


def test_ours_come_by_the_same_way() -> None:
    assert not registry.told_broken()
    assert "builtin" in registry.benchmarks()["demo"].questions
    assert len(questions_of("builtin")) == 40
    assert "tatqa" in registry.scorer_names()
    assert not set(registry.scorer_names()) & set(SCORERS)
    assert registry.question_set("no-such-set") is None
    assert registry.question_set("/a/folder/builtin") is None


def test_a_benchmark_that_cannot_be_imported_is_told_with_its_distribution(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", "import no_such_module_for_test")
    assert "capitals" in shown("--help")
    assert "(cannot be loaded)" in shown("--help")
    for asked in (
        lambda: registry.command("capitals"),
        lambda: questions_of("capitals"),
        lambda: scorer_for("capitals"),
    ):
        with pytest.raises(
            InputError, match=r"'capitals' of capital-kind 1\.0 cannot be loaded.*no_such_module_for_test"
        ):
            asked()
    with pytest.raises(ScoringError, match=r"capital-kind 1\.0"):
        scorer_for("capital")
    assert scorer_for("tatqa").name == "tatqa"


def test_what_is_no_benchmark_is_refused(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:x", "x = 3")
    with pytest.raises(InputError, match=r"cannot be loaded: a toolablate\.benchmarks\.Benchmark is expected, found 3"):
        registry.command("capitals")


def test_two_distributions_that_claim_one_name_are_both_named(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD)
    install("other-kind", "capitals = capitals_for_test:BENCHMARK")
    with pytest.raises(InputError) as caught:
        registry.command("capitals")
    assert caught.value.code == "claimed_twice"
    assert {"capital-kind", "other-kind"} <= set(str(caught.value).replace(":", " ").split())


def test_two_benchmarks_that_claim_one_scorer_are_both_named(install: Install) -> None:
    install("capital-kind", "one = capitals_for_test:BENCHMARK\ntwo = capitals_for_test:BENCHMARK", GOOD)
    for asked in (scorer_for, questions_of):
        with pytest.raises(InputError, match="'capitals' is of two benchmarks: 'one' and 'two'"):
            asked("capitals")


def test_a_benchmark_that_takes_the_name_of_a_built_in_scorer_is_named(install: Install) -> None:
    install(
        "capital-kind",
        "capitals = capitals_for_test:BENCHMARK",
        GOOD.replace("scorers={", "scorers={'number': 'a:b', "),
    )
    with pytest.raises(InputError, match="the scorer 'number' is claimed by several packages: capital-kind and tool"):
        scorer_for("number")
    assert scorer_for("choice").name


def test_what_a_benchmark_names_and_does_not_have_is_told(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD)
    assert "Capitals of the world." in shown("--help")
    with pytest.raises(
        InputError,
        match=r"'capitals' of capital-kind 1\.0: capitals_for_test:questions cannot be imported: AttributeError",
    ):
        questions_of("capitals")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("description=None", "description must be a text, not None"),
        ("description='', questions=['a']", "questions must be a mapping from names"),
        ("description='', scorers=None", "scorers must be a mapping from names, not None"),
        ("description='', scorers={1: 'a:b'}", "scorers must be a mapping from names"),
    ],
)
def test_fields_of_wrong_types_are_told_and_help_goes_on(install: Install, given: str, told: str) -> None:
    code = f"from toolablate.benchmarks import Benchmark\nBENCHMARK = Benchmark({given})"
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", code)
    assert "(cannot be loaded)" in shown("--help")
    with pytest.raises(InputError, match=rf"capital-kind 1\.0 cannot be loaded: TypeError: {told}"):
        questions_of("capitals")


def test_a_package_with_empty_metadata_is_unknown_and_help_goes_on(install: Install, tmp_path: Path) -> None:
    install("capital-kind", "demo = capitals_for_test:BENCHMARK", GOOD)
    (tmp_path / "capital-kind-1.0.dist-info/METADATA").write_text("", encoding="utf-8")
    registry.benchmarks.cache_clear()
    assert "(cannot be loaded)" in shown("--help")
    with pytest.raises(InputError, match="'demo' is claimed by several packages: an unknown package and toolablate"):
        registry.command("demo")


@pytest.mark.parametrize(
    ("ids", "told", "code"),
    [
        ("", "capital-kind 1.0: holds no question", "no_question"),
        ("aba", 'capital-kind 1.0, row 3: the id "a" is already taken by row 1', "bad_question"),
        ("a ", 'capital-kind 1.0, row 2: the id " " has blanks around it', "bad_question"),
    ],
)
def test_a_question_set_is_refused_as_a_file_is(install: Install, ids: str, told: str, code: str) -> None:
    questions = f"""
from toolablate.traces.records import NumberTarget, Question

def questions():
    return [Question(id=each, prompt="Which?", target=NumberTarget(value=1)) for each in {ids!r}]
"""
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD + questions)
    with pytest.raises(InputError) as refused:
        questions_of("capitals")
    assert refused.value.message.startswith("the question set 'capitals' of the benchmark 'capitals' of ")
    assert told in refused.value.message
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("functions", "told"),
    [
        ("questions = 3", "TypeError: 'int' object is not callable"),
        ("def questions(): raise SystemExit('gone')", "SystemExit: gone"),
        ("def questions(): yield 'Which?'", "a Question is expected, found 'Which?'"),
        ("def questions(): return None", "TypeError: 'NoneType' object is not iterable"),
    ],
)
def test_a_question_set_that_gives_no_questions_is_told_with_its_distribution(
    install: Install, functions: str, told: str
) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD + functions)
    with pytest.raises(InputError, match=r"set 'capitals' of the benchmark 'capitals' of capital-kind 1\.0") as caught:
        questions_of("capitals")
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("functions", "told"),
    [
        ("make = 3", "a function is expected, found 3"),
        ("def make(): return 3", "an object with name, version and score is expected, found 3"),
        ("def make(): raise ValueError('no luck')", "ValueError: no luck"),
    ],
)
def test_a_scorer_that_is_none_is_told_with_its_distribution(install: Install, functions: str, told: str) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD + functions)
    with pytest.raises(
        InputError, match=r"scorer 'capitals' of the benchmark 'capitals' of capital-kind 1\.0"
    ) as caught:
        scorer_for("capitals")
    assert told in caught.value.message


def test_a_command_that_is_none_is_told_with_its_distribution(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD + "def command(): pass")
    with pytest.raises(InputError, match=r"of capital-kind 1\.0: a click command is expected, found <function"):
        registry.command("capitals")


def test_a_question_set_that_is_not_found_is_told_with_what_is_broken(install: Install, tmp_path: Path) -> None:
    install("capital-kind", "demo = capitals_for_test:BENCHMARK", GOOD)
    for file in ("builtin", str(tmp_path / "builtin")):  # as it stands in a plan, and as a plan takes it for a file
        with pytest.raises(InputError, match="The benchmark 'demo' is claimed by several packages: capital-kind and"):
            questions_of(file)


def test_the_known_scorers_are_told_before_what_is_broken(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", "import no_such_module_for_test")
    with pytest.raises(ScoringError, match=r"tatqa-f1, judge\. The benchmark 'capitals' of capital-kind 1\.0"):
        scorer_for("capital")
