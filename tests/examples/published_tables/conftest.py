import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]


def _load_examples() -> None:
    """As `examples`: it is not installed, and the project's root on `sys.path` would uncover every room."""
    package = ModuleType("examples")
    package.__path__ = [str(ROOT / "examples")]
    sys.modules["examples"] = package


if "examples" not in sys.modules:
    _load_examples()
