r"""Patterns in which `\w` and `\s` mean more than ASCII, as people expect who write in other scripts than Latin.

In RE2 they mean ASCII, and its own classes (`\pL`) take a thousand instructions each, which is too slow on large pages.
Ranges that hold the scripts in use, a few signs among them, take sixty.
"""

import re

_WORD = (
    r"\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1fff}\x{3005}-\x{3007}\x{3041}-\x{30fa}\x{30fc}-\x{31ff}\x{3400}-\x{d7ff}"
    r"\x{f900}-\x{fdff}\x{ff10}-\x{ff19}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{ff66}-\x{ffdc}\x{20000}-\x{3ffff}\w"
)
_BLANK = r"\p{Z}\x{85}\s"
_ALONE = {r"\w": f"[{_WORD}]", r"\W": f"[^{_WORD}]", r"\s": f"[{_BLANK}]", r"\S": f"[^{_BLANK}]"}
_IN_BRACKETS = {r"\w": _WORD, r"\s": _BLANK}
_TOKEN = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?|.", re.DOTALL)
_TOKEN_IN_BRACKETS = re.compile(r"\\.|\[:\^?[a-z]+:\]|.", re.DOTALL)


def widened(pattern: str) -> str:
    r"""A valid RE2 pattern with `\w \W \s \S` widened; in brackets only `\w` and `\s`."""
    parts: list[str] = []
    position, in_brackets = 0, False
    while token := (_TOKEN_IN_BRACKETS if in_brackets else _TOKEN).match(pattern, position):
        parts.append((_IN_BRACKETS if in_brackets else _ALONE).get(token[0], token[0]))
        in_brackets = token[0] != "]" if in_brackets else token[0].startswith("[")
        position = token.end()
    return "".join(parts)
