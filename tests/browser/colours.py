"""The colours of the style sheet, and how well one reads on another."""

import re
from pathlib import Path

SHEET = Path(__file__).parents[2] / "reports" / "html" / "static" / "style.css"
_TOKEN = re.compile(r"--([a-z-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);")


def tokens(scheme: str) -> dict[str, str]:
    """By name, six hexadecimal digits each."""
    return {
        name: light if scheme == "light" else dark for name, light, dark in _TOKEN.findall(SHEET.read_text("utf-8"))
    }


def contrast(one: str, other: str) -> float:
    """Between 1 and 21, as WCAG 2.2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
