"""What doctor says of addresses that are none."""

import json
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan

from toolablate.experiments.doctor import listening


@pytest.mark.parametrize("endpoint", ["http://[::1", "http://x:99999/", "http://x:y/", "http://[v1.x]/"])
def test_nothing_answers_at_what_is_no_address(endpoint: str) -> None:
    found = listening(endpoint, "plan")
    assert (found.state, found.name) == ("missing", endpoint)
    assert found.detail.startswith("nothing answers: ")


@pytest.mark.deep
def test_doctor_goes_on_where_an_endpoint_is_no_address(tmp_path: Path, cli: Cli) -> None:
    examined = cli("doctor", endpoint_plan(tmp_path, "http://[::1", count=1), "--json")
    assert (examined.returncode, examined.stderr) == (1, "")
    states = {finding["name"]: finding["state"] for finding in json.loads(examined.stdout)["findings"]}
    assert states["http://[::1"] == "missing"
