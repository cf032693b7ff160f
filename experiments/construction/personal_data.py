"""Takes personal data out of texts by rule, before any model is asked: addresses, numbers, handles, known names."""

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import quote, unquote

# What programs write behind an @ and people are not called.
_IN_CODE = (
    "property|staticmethod|classmethod|dataclass|override|Override|Test|Autowired|Bean|Component|Inject|Nullable|"
    "Deprecated|media|import|param|return|returns|throws|see|author|since|keyframes|supports"
)
_STOPS = ".,;:!?。，"
"""At the end of an address they are the sentence's."""
_REST = r"[^\s<>\"'()\[\]（）【】]"
_ADDRESS = re.compile(rf"https?://{_REST}{{1,500}}", re.IGNORECASE)
# As people write them in posts: also without a scheme, and as the forum's own pages give them.
_MAYBE_PROFILE = re.compile(
    rf"https?://{_REST}{{1,500}}|(?<![\w@.:/-])(?:[a-z0-9-]{{1,63}}\.){{1,5}}[a-z]{{2,24}}(?::\d{{1,5}})?[/?]{_REST}{{1,500}}"
    rf"|(?<![\w.:/~-])/(?:u/|users/\d{{1,12}}/)[\w.-]{{1,64}}",
    re.IGNORECASE,
)
_OF_PEOPLE_ALONE = (
    "twitter|x|facebook|fb|instagram|threads|tiktok|vk|weibo|pinterest|linkedin|t|keybase|researchgate|xing|patreon"
)
_PROFILE = re.compile(
    r"/(?:users?|members?|profiles?|people|u|in)/[^/]|[?&;](?:uid|user_id|member|memberid)=\d|/[@~]"
    r"|/(?:users?|members?|profiles?)[-.]\d|\b(?:profile|member)\.(?:php|asp|aspx)\?|[?&;]mode=viewprofile\b"
    r"|[?&;]action=profile\b"
    # What stands there first is an account. Of a host of code, further parts are projects.
    rf"|(?:^|//|\bwww\.|\bm\.)(?:{_OF_PEOPLE_ALONE})\.(?:com|net|org|io|me|ru|cn)/[\w.-]{{2}}"
    r"|(?:^|//|\bwww\.)(?:github|gitlab|bitbucket|codeberg)\.(?:com|org)/[\w.-]{1,64}/?$",
    re.IGNORECASE,
)
# Letters of an alphabet: Chinese and Japanese put nothing between a word, an address and a name.
_CJK = r"[\u3040-\u30ff\u3400-\u9fff]"
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"
_LOCAL = rf"(?:{_LETTER}|[.%+-])"
_BEFORE_IP = tuple(rf"\bIP{more}{mark}" for more in ("", " address", "-Adresse") for mark in (" ", ":", ": ", " is "))
_ENDS = "com|org|net|edu|gov|info|biz|io|co|ac|eu|de|at|ch|fr|nl|uk|es|pl|ru|cn|jp|kr|au|ca|br|se|dk|fi|example"
_RULES = (
    (
        "[email]",
        re.compile(
            rf"(?<!{_LETTER})(?<![.%+-]){_LOCAL}{{1,64}}(?:[@＠]|\s?\[at\]\s?|\s?\(at\)\s?)[A-Za-z0-9-]{{1,63}}"
            r"(?:(?:[.．]|\s?\[dot\]\s?|\s?\(dot\)\s?)[A-Za-z0-9-]{2,63}){1,4}"
        ),
    ),
    (
        "[email]",
        # In words. "At each dot product" has no end of an address, nor has "at the dot com crash" a host.
        re.compile(
            rf"(?<!{_LETTER})(?<![.%+-]){_LOCAL}{{1,64}} at (?!(?:an?|the|each|every|this|that|its?|my|your|one) )"
            rf"[a-z0-9-]{{2,63}}(?: dot [a-z0-9-]{{2,63}}){{0,3}} dot (?:{_ENDS})\b",
            re.IGNORECASE,
        ),
    ),
    (
        "[phone]",
        re.compile(
            r"(?<![A-Za-z0-9.])(?=[+＋](?:\D{0,2}\d){8,15}(?!\d))"
            r"(?:[+＋]\d{1,3}[ /.-]?(?:\(0\)[ ]?)?)(?:\(?\d{1,5}\)?[ /.-]?){2,5}\d{2,}"
            r"(?![A-Za-z0-9]|\.[A-Za-z0-9])"
        ),
    ),
    (
        "[ip]",
        re.compile(
            rf"(?:{'|'.join(rf'(?<={before})' for before in _BEFORE_IP)})(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?!\w|\.\w)",
            re.IGNORECASE,
        ),
    ),
    (
        "[name]",
        re.compile(
            rf"(?<!{_LETTER})(?<![@/.`])[@＠](?:(?!(?:{_IN_CODE})\b)(?!\d|_){_LETTER}(?:{_LETTER}|-){{1,38}}"
            rf"(?:\.(?:{_LETTER}|-){{1,38}}){{0,3}}(?!{_LETTER}|[-@/(])|{_CJK}{{2,12}}(?!\w))"
        ),
    ),
)
"""`@name` before a parenthesis is a decorator, and four numbers are mostly a version: both stay."""

_FEWEST_LETTERS, _FEWEST_SIGNS = 3, 2


def without_personal_data(text: str, names: Sequence[str] = ()) -> str:
    """Addresses of mail, profiles and machines, telephone numbers that begin with +, @handles, and `names`: anywhere
    where they are Chinese or Japanese, else as words of three letters or more.

    A rule, no promise: names that nobody gave or that are shorter, streets and numbers without + stay. People look at
    what is published.
    """
    for address in reversed(_profiles(text)):
        text = f"{text[: address.start()]}[profile]{text[address.start() + len(address[0].rstrip(_STOPS)) :]}"
    for put, pattern in _RULES:
        text = pattern.sub(put, text)
    for name in _to_be_found(names):
        if re.search(_CJK, name):
            text = text.replace(name, "[name]")
        else:
            text = re.sub(
                rf"(?<!{_LETTER})(?:{_spelled(name)})(?!{_LETTER}|[\u0300-\u036f])", "[name]", text, flags=re.I
            )
    return text


def address_without_names(url: str, names: Sequence[str]) -> str:
    """As forums write names into the addresses of threads: in small letters, with other signs for blanks. Each gives
    way to "-", which leaves an address that mostly leads there still. Where one is the host's, there is no address."""
    # A second "://" is of an address that the path or query holds.
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    host, slash, path = rest.partition("/")
    for name in _to_be_found(names):
        parts = [re.findall(r"[^\W_]+", form) for form in _forms(name)]
        forms = [r"[\W_]*".join(each) for each in parts if each]
        if not forms:
            continue
        within = "|".join(forms) if re.search(_CJK, name) else rf"(?<![^\W\d_])(?:{'|'.join(forms)})(?![^\W\d_])"
        spelled = re.compile(within, re.IGNORECASE)
        if spelled.search(host):
            return ""
        if spelled.search(plain := unquote(path)):
            path = quote(spelled.sub("-", plain), safe="/?#&=+;:@!$'()*,~%")
    return f"{scheme}{mark}{host}{slash}{path}"


def _forms(name: str) -> list[str]:
    bare = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    return [unicodedata.normalize("NFC", name), bare]


def personal_data_in(text: str, known: str = "") -> list[str]:
    """What `without_personal_data` finds by rule in a text that was made of `known`, and is not in that."""
    found = [each[0] for each in _profiles(text)]
    found += [each[0] for _, pattern in _RULES for each in pattern.finditer(text)]
    return [each for each in found if each not in known]


def addresses_in(text: str, known: str = "") -> list[str]:
    """Of the web, that are not in `known`."""
    found = (each.rstrip(_STOPS) for each in _ADDRESS.findall(text))
    return [each for each in found if each not in known]


def _profiles(text: str) -> list[re.Match[str]]:
    return [each for each in _MAYBE_PROFILE.finditer(text) if _PROFILE.search(each[0].rstrip(_STOPS))]


def _to_be_found(names: Sequence[str]) -> list[str]:
    """The longest first. Shorter ones would be found in words."""
    return [
        name
        for name in sorted(map(str.strip, names), key=len, reverse=True)
        if len(name) >= (_FEWEST_SIGNS if re.search(_CJK, name) else _FEWEST_LETTERS)
    ]


def _spelled(name: str) -> str:
    """In Unicode's composed and decomposed form, with either apostrophe."""
    forms = {unicodedata.normalize(form, name) for form in ("NFC", "NFD")}
    return "|".join(re.sub("['’]", "['’]", re.escape(form)) for form in sorted(forms))
