"""The architecture as the folders show it."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from tests.servers.chat_server import ChatServer, reply

ROOT = Path(__file__).parents[2]
ROOMS = {
    "agents", "analysis", "api", "benchmarks", "cli", "experiments", "formats", "reports", "sandbox", "tools", "traces", "viewer",
}  # fmt: skip


def test_every_room_is_linked_into_the_package() -> None:
    links = {path.name for path in (ROOT / "src/toolablate").iterdir() if path.is_symlink()}
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert links == ROOMS == folders
    for name in ROOMS:
        link = ROOT / "src/toolablate" / name
        assert link.readlink() == Path("../..") / name
        assert link.resolve() == ROOT / name


def test_nothing_that_is_ignored_is_tracked() -> None:
    """A link to an environment, once tracked, takes the place of the folder itself wherever it is merged."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no repository here, or no git")
    listed = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout == ""


def test_help_and_version_import_nothing_heavy() -> None:
    program = (
        "import sys; from toolablate.cli import main\n"
        "sys.argv = ['toolablate', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Run a plan" in done.stdout
    for heavy in ("pydantic", "openai", "langgraph", "jupyter_client", "numpy", "scipy", "rich", "docker", "sqlite3"):
        assert f"'{heavy}'" not in done.stderr


def test_what_python_is_offered_is_small_typed_and_imported_late() -> None:
    """A notebook that only reads a store waits for neither agents nor sandboxes."""
    import toolablate

    stub = ast.parse((ROOT / "src/toolablate/__init__.pyi").read_text(encoding="utf-8"))
    typed = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == set(toolablate.__all__) <= set(dir(toolablate))
    assert len(toolablate.__all__) <= 14
    assert all(getattr(toolablate, name).__doc__ for name in toolablate.__all__)
    program = "import sys, toolablate; print(*sys.modules); toolablate.open; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    at_first, reading = ({name.split(".")[0] for name in line.split()} for line in done.stdout.splitlines())
    assert not at_first & {"pydantic", "click", "rich", "numpy", "sqlite3"}
    assert not reading & {
        "openai",
        "langgraph",
        "httpx2",
        "jupyter_client",
        "docker",
        "pandas",
        "pyarrow",
        "matplotlib",
    }


@pytest.mark.parametrize("section", ["dependencies", "optional-dependencies"])
def test_dependencies_have_lower_bounds(section: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = project[section] if section == "dependencies" else list(chain.from_iterable(project[section].values()))
    assert listed
    assert all(">=" in requirement for requirement in listed if not requirement.startswith("toolablate["))


@pytest.mark.deep
def test_what_is_imported_is_declared() -> None:
    """pydantic-core is pinned by pydantic, whose other half it is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (listed for extra, listed in project["optional-dependencies"].items() if extra != "dev")
    declared = {_named(requirement) for requirement in chain(project["dependencies"], *extras)} | {"pydantic-core"}
    packages = packages_distributions()
    for path in (path for room in sorted(ROOMS) for path in (ROOT / room).rglob("*.py")):
        for name in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            assert declared & set(map(_named, packages.get(name, [name]))), f"{path} imports {name}"


def _named(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def _imported(tree: ast.Module) -> set[str]:
    nodes = list(ast.walk(tree))
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {"toolablate"}


_NOT_FOR_ONE_CALL = (
    "openai",
    "langgraph",
    "langchain_core",
    "langsmith",
    "scipy",
    "matplotlib",
    "docker",
    "tantivy",
    "ddgs",
    "trafilatura",
    "lxml",
    "zmq",
    "jupyter_client",
    "ipykernel",
    "mcp",
    "pypdfium2",
    "genai_prices",
)

_TOOLS_NOT_FOR_ONE_CALL = (
    "archive", "browser", "corpus", "extraction", "interventions.substitutes.claims", "mcp", "placebo_sources", "recorded", "search",
)  # fmt: skip


def test_a_run_imports_what_its_plan_needs(tmp_path: Path, chat_server: ChatServer) -> None:
    """Most of what a short run costs is its start. LangGraph is for trials whose model may call tools."""
    chat_server.answers(lambda body: reply("Answer: 4"))
    (tmp_path / "questions.jsonl").write_text(
        '{"id": "q", "prompt": "What is 2 + 2?", "target": {"kind": "number", "value": 4}}\n', encoding="utf-8"
    )
    (tmp_path / "plan.toml").write_text(
        f"store = 's.db'\nconditions = ['none']\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{chat_server.url}'\n",
        encoding="utf-8",
    )
    program = (
        "import sys; from toolablate.cli import main\n"
        "try: main()\n"
        "except SystemExit as ended: print(ended.code, *sys.modules)"
    )
    command = [sys.executable, "-c", program, "run", str(tmp_path / "plan.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, *imported = done.stdout.splitlines()[-1].split()
    assert code == "0", done.stdout + done.stderr
    assert "httpx2" in imported
    assert not set(_NOT_FOR_ONE_CALL).intersection(imported)
    assert not {f"toolablate.tools.{name}" for name in _TOOLS_NOT_FOR_ONE_CALL}.intersection(imported)


@pytest.mark.parametrize("package", ["experiments", "tools", "traces.store"])
def test_what_a_package_imports_late_is_what_it_names(package: str) -> None:
    """A module of the same name would stand in an object's place once it is imported."""
    program = (
        "import importlib, pkgutil, sys, types; package = importlib.import_module(sys.argv[1])\n"
        "for module in pkgutil.iter_modules(package.__path__):\n"
        "    if module.name != '__main__': importlib.import_module(f'{sys.argv[1]}.{module.name}')\n"
        "assert not [n for n in package.__all__ if isinstance(getattr(package, n), types.ModuleType)]"
    )
    subprocess.run([sys.executable, "-c", program, f"toolablate.{package}"], check=True)
