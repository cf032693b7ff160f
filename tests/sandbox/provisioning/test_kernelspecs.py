"""The command that installs kernelspecs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolablate.sandbox.kernelspecs import ISOLATING, main, name_of

pytestmark = pytest.mark.deep

BIN = Path(sys.executable).parent


def test_installed_kernelspecs_are_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "--user"]) == 0
    assert capsys.readouterr().out.count("installed ") == len(ISOLATING)
    listed = json.loads(subprocess.check_output([BIN / "jupyter", "kernelspec", "list", "--json"]))["kernelspecs"]
    for backend in ISOLATING:
        assert Path(listed[name_of(backend)]["resource_dir"]).is_relative_to(home)
        assert listed[name_of(backend)]["spec"]["language"] == "python"


def test_settings_reach_the_kernelspec(home: Path) -> None:
    arguments = ["install", "--prefix", str(home / "env"), "--backend", "bubblewrap"]
    assert (
        main([*arguments, "--set", "memory_mb=512", "--set", "start_seconds=2.5", "--set", "python=/usr/bin/python3"])
        == 0
    )
    folder = home / "env" / "share" / "jupyter" / "kernels"
    assert [path.name for path in folder.iterdir()] == ["toolablate-bubblewrap"]
    provisioner = json.loads((folder / "toolablate-bubblewrap" / "kernel.json").read_text())["metadata"][
        "kernel_provisioner"
    ]
    assert provisioner == {
        "provisioner_name": "toolablate-bubblewrap",
        "config": {"memory_mb": 512, "start_seconds": 2.5, "python": "/usr/bin/python3"},
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "memory_mb"], "--set takes KEY=VALUE"),
        (["--set", "=5"], "--set takes KEY=VALUE"),
        (["--set", "memory_mb=lots"], "memory_mb must be a whole number above 0 and at most 1000000000, not 'lots'"),
        (["--set", "ram=5"], "has no key 'ram'"),
        (["--prefix", "/proc/none"], "could not be written"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    where = [] if "--prefix" in arguments else ["--user"]
    assert main(["install", "--backend", "bubblewrap", *where, *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error


@pytest.mark.parametrize("arguments", [[], ["install", "--backend", "none"], ["install", "--user", "--prefix", "x"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "usage: python -m toolablate.sandbox.kernelspecs" in capsys.readouterr().err


def test_client_that_knows_no_provisioners_gets_no_open_kernel(home: Path) -> None:
    main(["install", "--user", "--backend", "bubblewrap"])
    spec = json.loads((home / "jupyter_data_dir" / "kernels" / "toolablate-bubblewrap" / "kernel.json").read_text())
    command = [part.replace("{connection_file}", "/tmp/none.json") for part in spec["argv"]]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "knows no kernel provisioners" in result.stderr
