from collections.abc import AsyncIterator

import pytest
from tests.tools.search.api_server import ApiServer
from tests.tools.search.rest_services import SERVICES, Described


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer().running() as server:
        yield server


@pytest.fixture(params=SERVICES, ids=lambda service: service.name)
def service(request: pytest.FixtureRequest) -> Described:
    described: Described = request.param
    return described
