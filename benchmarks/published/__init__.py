"""Tables of scores and changes as papers print them, and how a file of them is read."""

from pathlib import Path

from toolablate.benchmarks.published.reading import load_published

PUBLISHED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
"""The files that come with the package, by name."""

__all__ = ["PUBLISHED", "load_published"]
