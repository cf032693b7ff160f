"""The project's own pages, for the tests that hold them to what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(path for room in ("bench", "benchmarks", "examples") for path in (ROOT / room).rglob("README.md")),
    ]
)
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, *languages: str) -> list[str]:
    return [body for found, body in BLOCK.findall(text_of(name)) if found in languages]


def prose(name: str) -> str:
    """The page without its blocks of code."""
    return BLOCK.sub("", text_of(name))


def commands(name: str) -> list[str]:
    """What the page has a reader type, without prompts."""
    lines = [line.removeprefix("$ ") for body in blocks(name, "console", "sh") for line in body.splitlines()]
    return [line for line in lines if line.strip()]
