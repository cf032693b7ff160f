"""Statements as many as Encyclo-K has, and what is composed of them, once for all tests."""

import pytest
from tests.benchmarks.encyclo_k.synthetic import statements

from toolablate.benchmarks.encyclo_k.composing import compose
from toolablate.benchmarks.encyclo_k.statements import Statement
from toolablate.traces.records import Question


@pytest.fixture(scope="session")
def all_statements() -> list[Statement]:
    return statements()


@pytest.fixture(scope="session")
def composed(all_statements: list[Statement]) -> tuple[Question, ...]:
    return compose(all_statements, 7, 5000)
