import importlib.util
import sys
from pathlib import Path


def _load_measure() -> None:
    """The benchmark's reading of gold pages as `bench_gold`: it is not installed."""
    file = Path(__file__).parents[3] / "bench" / "extraction" / "gold.py"
    spec = importlib.util.spec_from_file_location("bench_gold", file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["bench_gold"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


_load_measure()
