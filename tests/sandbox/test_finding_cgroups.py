"""Which cgroups a process finds for itself, and what it is told where there are none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolablate.sandbox.cgroups import find_cgroups


def test_a_forked_child_has_cgroups_of_its_own() -> None:
    program = """
import os
from toolablate.sandbox.cgroups import find_cgroups
groups = find_cgroups()
assert find_cgroups() is groups
if (child := os.fork()) == 0:
    own = find_cgroups()
    assert (own is None) == (groups is None)
    assert own is None or (own is not groups and own.folders != groups.folders)
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert groups is None or all(folder.exists() for folder in groups.folders)
print(*(groups.folders if groups else ()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not any(Path(name).exists() for name in done.stdout.split())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_an_ordinary_user_is_told_what_is_missing() -> None:
    program = """
import os
from toolablate.sandbox.cgroups import look_for_cgroups
os.setgid(65534), os.setuid(65534)
found = look_for_cgroups()
print(type(found).__name__, found.reason, found.remedy)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.startswith("NoCgroups /sys/fs/cgroup"), done.stderr
    assert "cgcreate" in done.stdout or "systemd-run --user" in done.stdout


def test_nothing_is_found_where_nothing_may_be_made() -> None:
    """A container's view: the hierarchies read-only."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    program = "from toolablate.sandbox.cgroups import find_cgroups\nprint(find_cgroups())"
    command = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    done = subprocess.run([*command, sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_finding_is_cached() -> None:
    assert find_cgroups() is find_cgroups()
