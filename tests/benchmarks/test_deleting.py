"""A benchmark is one folder: without Encyclo-K's the rest works."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.project.pages import ROOT

OWN = ("benchmarks/encyclo_k", "tests/benchmarks/encyclo_k", "docs/encyclo_k.md")
LINE = 'encyclo-k = "toolablate.benchmarks.encyclo_k:BENCHMARK"\n'
REST = ["tests/project/test_layout.py", *(f"tests/benchmarks/{name}" for name in (
    "lpfqa/test_import.py", "rows/test_sources.py", "test_extending.py", "test_questions.py", "test_registry.py", "test_scoring.py",
))]  # fmt: skip
"""What could miss it: the layout, the registry, scorers by name, rows, and another benchmark's command."""
ROOMS = sorted(path.name for path in (ROOT / "src/toolablate").iterdir() if path.is_symlink())
NAMED = re.compile(r"encyclo.?k", re.IGNORECASE)
IMPORTED = re.compile(r"import.*encyclo_k|encyclo_k.*import")


def sources(root: Path, *folders: str) -> list[Path]:
    return [path for folder in folders for path in (root / folder).rglob("*.py")]


def test_nothing_else_names_it_in_code() -> None:
    named = [path for path in sources(ROOT, *ROOMS) if NAMED.search(path.read_text(encoding="utf-8"))]
    # The stages in which statements are made are those of its paper, which they name and do not import.
    assert {str(path.relative_to(ROOT)).split("/")[1] for path in named} == {"encyclo_k", "construction"}
    assert not any(IMPORTED.search(path.read_text(encoding="utf-8")) for path in sources(ROOT, "experiments"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The tree without Encyclo-K's folder and its line, installed as a checkout is: by its path and its entry points."""
    for name in (*ROOMS, "src", "tests", "docs", "examples", "pyproject.toml", "README.md"):
        of = ROOT / name
        passed = shutil.ignore_patterns("__pycache__", "*.egg-info")
        if of.is_dir():
            shutil.copytree(of, tmp_path / name, symlinks=True, ignore=passed)
        else:
            shutil.copy(of, tmp_path / name)
    for name in OWN:
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).unlink(missing_ok=True)
    project = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    assert project.count(LINE) == 1
    project = project.replace(LINE, "")
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    about = tomllib.loads(project)["project"]
    folder = tmp_path / "src" / f"toolablate-{about['version']}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n", encoding="utf-8"
    )
    groups = about["entry-points"] | {"console_scripts": about["scripts"]}
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {point}\n" for name, point in points.items())
        for group, points in groups.items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def ran(copy: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_the_rest_works_without_it(copy: Path) -> None:
    where = ran(copy, "-c", "import toolablate.benchmarks as found; print(found.__file__)")
    assert where.startswith(str(copy))
    told = ran(copy, "-m", "toolablate", "--help")
    assert "lpfqa" in told
    assert "cannot be loaded" not in told
    assert not NAMED.search(told)
    ran(copy, "-m", "toolablate", "run", "examples/demo/plan.toml")
    ran(copy, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *REST)
