"""Takes personal data out of texts by rule, before any model is asked: addresses, numbers, handles, known names."""

import re

from toolablate.experiments.construction.known_names import (
    CJK,
    LETTER,
    MARK,
    NO_NAMES,
    KnownNames,
    address_of,
    address_parts,
    without_unseen,
)

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
    r"(?:(?:twitter|x|facebook|fb|instagram|weibo|pinterest|patreon)\.com|fb\.me|t\.me|threads\.(?:net|com)|vk\.(?:com|ru)"
    r"|weibo\.cn|keybase\.io)"
)
_NOBODY = (
    "about|ads|compose|download|events|explore|groups|hashtag|help|home|i|ideas|intent|jobs|joinchat|login|marketplace|"
    "messages|notifications|p|permalink|photo|pin|posts|privacy|reel|search|settings|share|sharer|signup|story|tos|tv|"
    "watch"
)
"""What these hosts call pages of theirs."""
_PROFILE = re.compile(
    r"/(?:users?|members?|profiles?|people|u|in)/[^/]|[?&;](?:uid|user_id|member|memberid)=\d|/[@~]"
    r"|/(?:users?|members?|profiles?)[-.]\d|\b(?:profile|member)\.(?:php|asp|aspx)\?|[?&;]mode=viewprofile\b"
    r"|[?&;]action=profile\b|\borcid\.org/\d{4}-\d|\bsteamcommunity\.com/id/\w|\bscholar\.google\.[a-z.]{2,6}/citations\?(?:[^#]{0,200}&)?user=\w"
    # What stands there first is an account. Of a host of code, further parts are projects.
    rf"|(?:^|//|\bwww\.|\bm\.){_OF_PEOPLE_ALONE}/(?!(?:{_NOBODY})(?![\w-]))[\w.-]{{2}}"
    r"|(?:^|//|\bwww\.)(?:github|gitlab|bitbucket|codeberg)\.(?:com|org)/[\w.-]{1,64}/?$",
    re.IGNORECASE,
)
_OF_AN_ACCOUNT = (
    (re.compile(r"(?<=/)((?:u|users?|members?|profiles?|people)/(?:\d{1,12}[/-])?)[^/?#&]+", re.IGNORECASE), r"\1-"),
    (re.compile(r"(?<=[/#?&=_-])[@~][^/?#&=]+"), "-"),
    (re.compile(r"(?<=://)[^/?#@]+@"), ""),
    (
        # What is an address itself is no account: `u` of a link for sharing.
        re.compile(
            r"(?<=[?&;])((?:user(?:_?name|_?id)?|u|uid|member(?:id)?|author|e?mail)=)(?!https?(?::|%3A))[^&;#]+",
            re.IGNORECASE,
        ),
        r"\1-",
    ),
)
"""What of an address is one person's, whoever it is."""
_LOCAL = rf"(?:{LETTER}|[.%+-])"
_BEFORE_IP = "|".join(
    rf"(?<=\bIP{version}{more}{mark})"
    for version in ("", "v4", "v6")
    for more in ("", " address", "-Adresse")
    for mark in (" ", ":", ": ", " is ")
)
_ENDS = "com|org|net|edu|gov|info|biz|io|co|ac|eu|de|at|ch|fr|nl|uk|es|pl|ru|cn|jp|kr|au|ca|br|se|dk|fi|example"
_HOST = rf"(?:{LETTER}|{MARK}|-)"
_AT = r"(?:[@＠]|&#64;|&commat;|%40|\s?[\[(](?:at|[@＠])[\])]\s?)"
_DOT = r"(?:[.．]|\s?\[dot\]\s?|\s?\(dot\)\s?)"
_CHINESE_ENDS = "中国|中國|公司|网络|網絡|在线|网址|集团|香港|台湾|台灣|みんな"
_RULES = (
    (
        "[email]",
        # An end is all of ASCII or all of other letters: what Korean writes behind "com" is no part of it.
        re.compile(
            rf"(?<!{LETTER})(?<![.%+-]){_LOCAL}{{1,64}}{_AT}(?:{_HOST}{{1,63}}(?:{_DOT}{_HOST}{{2,63}}){{0,3}}{_DOT}"
            rf"(?:[A-Za-z0-9-]{{2,63}}|(?:(?![\dA-Za-z_]){LETTER}){{2,63}})"
            rf"|(?:[^\W_]|-){{1,63}}[.．。](?:{_CHINESE_ENDS}))"
        ),
    ),
    (
        "[email]",
        # In words. "At each dot product" has no end of an address, nor has "at the dot com crash" a host.
        re.compile(
            rf"(?<!{LETTER})(?<![.%+-]){_LOCAL}{{1,64}}(?: at (?!(?:an?|the|each|every|this|that|its?|my|your|one) )"
            rf"{_HOST}{{2,63}}(?: dot {_HOST}{{2,63}}){{0,3}} dot | [@＠] (?:{_HOST}{{2,63}}\.){{1,4}})(?:{_ENDS})"
            # Not of code: "x @ y.at[0]".
            r"\b(?![\[(])",
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
            rf"(?=\d{{1,3}}\.\d|[\da-f]{{0,4}}:)(?:{_BEFORE_IP})"
            r"(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[\da-f]{0,4}:){2,7}[\da-f]{1,4})(?!\w|\.\w)",
            re.IGNORECASE,
        ),
    ),
    # Of ORCID, whose numbers begin so.
    ("[profile]", re.compile(r"(?<![\w-])000[09]-000\d-\d{4}-\d{3}[\dX](?![\w-])")),
)
"""Four numbers are mostly a version: they stay."""
# Before a parenthesis it is a decorator.
_HANDLE = re.compile(
    rf"(?<!{LETTER})(?<![@/.`])[@＠](?:(?!(?:{_IN_CODE})\b)(?!\d|_){LETTER}(?:{LETTER}|-){{1,38}}"
    rf"(?:\.(?:{LETTER}|-){{1,38}}){{0,3}}(?!{LETTER}|[-@/(])|{CJK}{{2,12}}(?!\w))"
)


def without_personal_data(text: str, names: KnownNames = NO_NAMES) -> str:
    """Addresses of mail, profiles and machines, telephone numbers that begin with +, @handles, and `names` where they
    mean a person; and signs without width, which would hide these.

    A rule, no promise: names that nobody gave, streets and numbers without + stay. People look at what is published.
    """
    text = _MAYBE_PROFILE.sub(_without_profile, without_unseen(text))
    for put, pattern in _RULES:
        text = pattern.sub(put, text)
    # Of "@Anne Gray" the rule for handles would leave "Gray".
    return _HANDLE.sub("[name]", names.taken_out(text))


def address_without_personal_data(url: str, names: KnownNames, title: str) -> str:
    """Of the web, with "-" in the place of accounts, addresses of mail and names (`KnownNames.without_in_address`)."""
    url = names.without_in_address(url, title)
    start, host, path = address_parts(url)
    clean, bare = path, host.rpartition("@")[2]
    for put, mail in _RULES:
        clean = mail.sub("-", clean) if put == "[email]" else clean
    clean = _without_accounts(clean)
    return url if (clean, bare) == (path, host) else address_of(start, bare, clean)


def personal_data_in(text: str, known: str = "", names: KnownNames = NO_NAMES) -> list[str]:
    """What `without_personal_data` finds in a text that was made of `known`, and is not in that."""
    text = without_unseen(text)
    found = [each[0] for each in _MAYBE_PROFILE.finditer(text) if _without_profile(each) != each[0]]
    found += [each[0] for pattern in (*(pattern for _, pattern in _RULES), _HANDLE) for each in pattern.finditer(text)]
    return [*(each for each in found if each not in known), *names.found_in(text, known)]


def addresses_in(text: str, known: str = "") -> list[str]:
    """Of the web, that are not in `known`."""
    found = (each.rstrip(_STOPS) for each in _ADDRESS.findall(text))
    return [each for each in found if each not in known]


def _without_profile(address: re.Match[str]) -> str:
    bare = address[0].rstrip(_STOPS)
    return f"{'[profile]' if _PROFILE.search(bare) else _without_accounts(bare)}{address[0][len(bare) :]}"


def _without_accounts(address: str) -> str:
    for pattern, put in _OF_AN_ACCOUNT:
        address = pattern.sub(put, address)
    return address
