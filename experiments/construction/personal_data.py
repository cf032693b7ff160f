"""Takes personal data out of texts by rule, before any model is asked: addresses, numbers, handles, known names."""

import re
from collections.abc import Sequence

# What programs write behind an @ and people are not called.
_IN_CODE = (
    "property|staticmethod|classmethod|dataclass|override|Override|Test|Autowired|Bean|Component|Inject|Nullable|"
    "Deprecated|media|import|param|return|returns|throws|see|author|since|keyframes|supports"
)
_RULES = (
    (
        "[email]",
        re.compile(
            r"(?<![\w.+-])[\w.+-]{1,64}(?:@|\s?\[at\]\s?|\s?\(at\)\s?)[\w-]{1,63}(?:(?:\.|\s?\[dot\]\s?)[\w-]{2,63}){1,4}"
        ),
    ),
    (
        "[profile]",
        re.compile(r"https?://\S*?/(?:users?|members?|profiles?|u)/[^\s)>\]\"']+|\S*?[?&](?:uid|user_id|member)=\d+"),
    ),
    (
        "[phone]",
        re.compile(
            r"(?<![\w.])(?=(?:\D?\d){8,15}(?!\d))(?:\+\d{1,3}[ /.-]?)(?:\(?\d{1,5}\)?[ /.-]?){2,5}\d{2,}(?![\w.])"
        ),
    ),
    ("[ip]", re.compile(r"(?<=\bIP )(?:\d{1,3}\.){3}\d{1,3}(?![\w.])", re.IGNORECASE)),
    ("[name]", re.compile(rf"(?<![\w@/.`])@(?!(?:{_IN_CODE})\b)[A-Za-z][\w-]{{1,38}}(?![\w@/(])")),
)
"""`@name` before a parenthesis is a decorator, and four numbers are mostly a version: both stay."""

_FEWEST_LETTERS = 3


def without_personal_data(text: str, names: Sequence[str] = ()) -> str:
    """Addresses of mail, profiles and machines, telephone numbers that begin with +, @handles, and `names` as words.

    A rule, no promise: a name that nobody gave and a street stay. People look at what is published."""
    for put, pattern in _RULES:
        text = pattern.sub(put, text)
    for name in sorted(filter(lambda each: len(each) >= _FEWEST_LETTERS, names), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "[name]", text, flags=re.IGNORECASE)
    return text
