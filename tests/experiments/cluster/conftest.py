"""What tests of the cluster share."""

from collections.abc import Iterator

import pytest

from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster import worker as workers


@pytest.fixture(scope="module")
def at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "FIRST_REST_SECONDS", 0.001)
        patch.setattr(workers, "TOGETHER_SECONDS", 0.001)
        yield
