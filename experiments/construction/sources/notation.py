"""What is said by where letters stand, in plain text."""

import re

_READS_ALONG = re.compile(r"(?:st|nd|rd|th|TM|SM)", re.IGNORECASE)
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


def scripted(sign: str, said: str, after: str = "") -> str:
    """A superscript (`sign` is "^") or subscript ("_"): "10^8", "H_2O", "10^(-8)". A number or a letter stands bare,
    unless `after`, the next character, would read as a part of it; all else is in brackets. "1st" stays "1st"."""
    said = said.strip()
    if not said or (sign == "^" and _READS_ALONG.fullmatch(said)):
        return said
    alike = after[:1].isdecimal() if said.isdecimal() else after[:1].isalpha()
    bare = (said.isdecimal() or (len(said) == 1 and said.isalpha())) and not alike
    return f"{sign}{said}" if bare or _BRACKETED.fullmatch(said) else f"{sign}({said})"
