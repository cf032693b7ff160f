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
    assert not registry.broken()
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
    with pytest.raises(InputError, match=r"capitals_for_test:x is no toolablate\.benchmarks\.Benchmark, but 3"):
        registry.command("capitals")


def test_two_distributions_that_claim_one_name_are_both_named(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD)
    install("other-kind", "capitals = capitals_for_test:BENCHMARK")
    with pytest.raises(InputError) as caught:
        registry.command("capitals")
    assert "two distributions" in str(caught.value)
    assert {"capital-kind", "other-kind"} <= set(str(caught.value).replace(":", " ").split())


def test_two_benchmarks_that_claim_one_scorer_are_both_named(install: Install) -> None:
    install("capital-kind", "one = capitals_for_test:BENCHMARK\ntwo = capitals_for_test:BENCHMARK", GOOD)
    for asked in (scorer_for, questions_of):
        with pytest.raises(InputError, match="'capitals' is of two benchmarks: 'one' and 'two'"):
            asked("capitals")


def test_what_a_benchmark_names_and_does_not_have_is_told(install: Install) -> None:
    install("capital-kind", "capitals = capitals_for_test:BENCHMARK", GOOD)
    assert "Capitals of the world." in shown("--help")
    with pytest.raises(InputError, match="'capitals': capitals_for_test:questions cannot be imported: AttributeError"):
        questions_of("capitals")
