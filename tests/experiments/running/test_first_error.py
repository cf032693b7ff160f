"""What becomes of the errors of several workers."""

import pytest

from toolablate.experiments.running.runner import first_error
from toolablate.traces.errors import InputError, StoreError


def test_errors_of_ours_in_groups_are_raised_as_the_first_of_them() -> None:
    first, second = StoreError("the disk is full"), InputError("no file")
    with pytest.raises(StoreError) as told, first_error():
        raise ExceptionGroup("workers", [ExceptionGroup("of a model", [first]), second])
    assert told.value is first


def test_a_group_with_an_error_of_another_kind_is_whole() -> None:
    group = ExceptionGroup("workers", [StoreError("the disk is full"), KeyError("k")])
    with pytest.raises(ExceptionGroup) as told, first_error():
        raise group
    assert told.value is group
