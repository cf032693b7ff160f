"""Takes personal data out of texts by rule, before any model is asked: addresses, numbers, handles, known names."""

import re
from collections.abc import Sequence

# What programs write behind an @ and people are not called.
_IN_CODE = (
    "property|staticmethod|classmethod|dataclass|override|Override|Test|Autowired|Bean|Component|Inject|Nullable|"
    "Deprecated|media|import|param|return|returns|throws|see|author|since|keyframes|supports"
)
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]（）【】]{1,500}")
_PROFILE = re.compile(r"/(?:users?|members?|profiles?|u|in)/[^/]|[?&](?:uid|user_id|member)=\d|/@")
# ASCII only: in Chinese nothing stands between a word and an address.
_RULES = (
    (
        "[email]",
        re.compile(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}(?:@|\s?\[at\]\s?|\s?\(at\)\s?)[A-Za-z0-9-]{1,63}"
            r"(?:(?:\.|\s?\[dot\]\s?)[A-Za-z0-9-]{2,63}){1,4}"
        ),
    ),
    (
        "[phone]",
        re.compile(
            r"(?<![A-Za-z0-9.])(?=(?:\D?\d){8,15}(?!\d))(?:\+\d{1,3}[ /.-]?)(?:\(?\d{1,5}\)?[ /.-]?){2,5}\d{2,}"
            r"(?![A-Za-z0-9.])"
        ),
    ),
    ("[ip]", re.compile(r"(?<=\bIP )(?:\d{1,3}\.){3}\d{1,3}(?![\w.])", re.IGNORECASE)),
    (
        "[name]",
        re.compile(rf"(?<![A-Za-z0-9_@/.`])@(?!(?:{_IN_CODE})\b)[A-Za-z][A-Za-z0-9_-]{{1,38}}(?![A-Za-z0-9_@/(])"),
    ),
)
"""`@name` before a parenthesis is a decorator, and four numbers are mostly a version: both stay."""

_FEWEST_LETTERS, _FEWEST_SIGNS = 3, 2


def without_personal_data(text: str, names: Sequence[str] = ()) -> str:
    """Addresses of mail, profiles and machines, telephone numbers that begin with +, @handles, and `names`: as words
    where they are of Latin letters, anywhere where they are not.

    A rule, no promise: a name that nobody gave, a street and a number without + stay. People look at what is published.
    """
    text = _ADDRESS.sub(lambda found: "[profile]" if _PROFILE.search(found[0]) else found[0], text)
    for put, pattern in _RULES:
        text = pattern.sub(put, text)
    for name in sorted(map(str.strip, names), key=len, reverse=True):
        if name.isascii() and len(name) >= _FEWEST_LETTERS:
            text = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", "[name]", text, flags=re.IGNORECASE)
        elif not name.isascii() and len(name) >= _FEWEST_SIGNS:
            text = text.replace(name, "[name]")
    return text
