"""Texts in the one form in which they are searched: what pages and programs write in many ways, as few."""

import html
import re
import unicodedata
from urllib.parse import unquote_to_bytes

from toolablate.tools.guards.normal import normal_text

_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_FRACTION = re.compile("[¼-¾⅐-⅞↉]")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?(\d{1,15})\s?\}\s?\{\s?(\d{1,15})\s?\}")
_ARABIC_SIGNS = str.maketrans("٫٬", ".,")


def searched(text: str) -> str:
    """In the spelling of `normal_text`, but with powers behind a `^` and fractions apart from what stands before them,
    and without the escapes of addresses and of HTML. A line stays a line."""
    if "%" in text:
        text = _ENCODED.sub(_decoded, text)
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text:
        text = _LATEX_FRACTION.sub(r" \1/\2 ", text)
    if not text.isascii():
        text = _RAISED.sub(lambda raised: "^" + unicodedata.normalize("NFKC", raised[0]), text)
        text = _LOWERED.sub(lambda lowered: f" {lowered[0]} ", text)
        text = _FRACTION.sub(lambda fraction: f" {unicodedata.normalize('NFKC', fraction[0])} ", text)
    return normal_text(text.translate(_ARABIC_SIGNS))


def _decoded(encoded: re.Match[str]) -> str:
    """As it was where it is no text: a percent sign may stand before two letters."""
    try:
        return unquote_to_bytes(encoded[0]).decode("utf-8").replace("\n", " ")
    except UnicodeDecodeError:
        return encoded[0]


class Squeezed:
    """A searched text as its letters and digits alone, without accents, in lower case; `places` says where each
    stood."""

    def __init__(self, text: str) -> None:
        letters: list[str] = []
        places: list[int] = []
        apart: list[bool] = []
        inside = False
        for place, character in enumerate(text):
            if not character.isalnum():
                # An accent that stands by itself belongs to the letter before it.
                inside = inside and unicodedata.combining(character) > 0
                continue
            for letter in _plain(character):
                letters.append(letter)
                places.append(place)
                apart.append(not inside or stands_alone(letter))
                inside = True
        self.text = "".join(letters)
        self.places = places
        self._apart = apart

    def is_apart(self, start: int, end: int) -> bool:
        """Whether words begin and end there, or characters of a script that has none."""
        return self._apart[start] and (end == len(self._apart) or self._apart[end] or stands_alone(self.text[end - 1]))


def stands_alone(letter: str) -> bool:
    """Whether it is a character of a script without blanks between words."""
    return "\u3040" <= letter <= "\u9fff" or "\uf900" <= letter <= "\ufaff"


def _plain(character: str) -> str:
    if character.isascii():
        return character.lower()
    return "".join(each for each in unicodedata.normalize("NFKD", character.casefold()) if each.isalnum())
