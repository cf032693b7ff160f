"""Names that a source gave of its people: where its texts mean a person by them, and where they are ordinary words."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from itertools import combinations
from typing import Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

# Chinese and Japanese put nothing between a word and a name.
CJK = r"[\u3040-\u30ff\u3400-\u9fff]"
LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"
MARK = r"[\u0300-\u036f]"
_HANGUL, _CYRILLIC = r"[\uac00-\ud7a3]", r"[\u0400-\u04ff]"

Where = Literal["anywhere", "capital", "within", "called", "addressed", "titled"]
"""`capital`: written with capitals. `within`: so, and not where a sentence or a heading would. `addressed`: next to
what is said to a person or of one. `called`: there, and where a line begins with it and speaks to somebody. `titled`:
beside a title or form of address."""
_FEWEST_LETTERS, _FEWEST_SIGNS, _MOST_WORDS = 3, 2, 4
_SEEN = 60
"""Signs on either side, by which a name is told from a word."""

_GREETED = re.compile(
    r"(?:^|\W)(?:thanks|thank\s+you|thx|ty|cheers|hi|hello|hey|dear|welcome|sorry|regards|danke|dank\s+an|hallo|moin|servus"
    r"|liebe[rn]?|merci\s+à|gru(?:ß|ss)|gr(?:ü|ue)(?:ß|ss)e|lg|vg|merci|bonjour|salut|cordialement|gracias|hola|saludos|grazie|ciao|obrigado)"
    r"(?:[\s,]+(?:\[name\]|\w+)(?:\s*,|\s+(?:and|&|und|et|y)))?[\s,!]+$"
    # Alone in front of the name, or with a comma: "as well as", "the right one".
    r"|(?<![^\n])[ \t]*\+1[\s,:]+$|(?:^|\W)(?:right|correct|agreed?|exactly|indeed|well),\s+$",
    re.IGNORECASE,
)
# "Copper, tin and lead" is said to nobody, nor is "Copper: 9 g".
_CALLED = re.compile(
    r"!\s|[,:]\s+(?:you(?:[’']\w+)?|your|thanks|thank\s+you|thx|please|try|check|did|do|are\s+you|(?:can|could|would|have)\s+you"
    r"|I(?:[’']\w+)?\s+(?:agree|think|tried|have|am|would|will))\b"
)
_GREETING_ENDS = re.compile(r"\s*(?:[.,;:!?)…]|$|\n)|\s+(?:for|and|und|für|pour|et|por|y)\b", re.IGNORECASE)
_SPOKE = re.compile(
    r"\s+(?:wrote|writes|said|says|asked|replied|suggested|posted|mentioned|explained|pointed\s+out|told\s+(?:me|us|you)"
    r"|schrieb|schreibt|sagte|sagt|meinte|a\s+écrit|a\s+dit|escribió|dijo|ha\s+scritto)\b"
    r"|['’]s\s+(?:posts?|answers?|repl(?:y|ies)|comments?|suggestions?|links?|advice)\b",
    re.IGNORECASE,
)
_GREETED_IN_CHINESE, _SPOKE_IN_CHINESE = (
    re.compile(r"(?:谢谢|感谢|多谢|你好|您好)[,，]?$"),
    re.compile(r"说(?![明法服辞])|写道|老师|同学|您好|回复"),
)
_TITLE = re.compile(
    r"(?:^|[^\w.])(?:(?:Mr|MR|Mrs|MRS|Ms|Mx|Miss|Mister|Sir|Dr|DR|Prof|PROF|Professor|Doctor|Doktor|Herrn?|HERRN?|Frau|FRAU"
    r"|Mme|Mlle|Monsieur|Madame|Señora?|Sra|Signora?)\.?|(?<!\d )(?<!\d)M\.)"
    r"\s+(?:(?:med|rer|nat|phil|ing|h|c)\.\s?){0,4}$"
)
_TITLE_BEHIND = re.compile(r"\s?(?:先生|女士|小姐|さん|様)")
_SIGNED = re.compile(r"[.!?,)…\]][ \t]*\n\s*(?:--+|[—–])?[ \t]*$")
_ARTICLE = re.compile(
    r"(?:^|\W)(?:the|an?|der|die|das|den|dem|des|eine?[mnrs]?|les?|la|une?|el|los|las|il|gli)\s+$", re.IGNORECASE
)
_DETERMINER = re.compile(
    r"(?:^|\W)(?:my|your|our|their|his|her|its|this|these|those|each|every|any|some|no|another"
    r"|(?:[mdsk]ein|ihr|unser|dies|jed)(?:e[mnrs]?)?|m(?:on|a|es)|ce(?:t|tte|s)?)\s+$",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?:^|\W)(?:I|we|they|he|she|it|ich|wir|er|je|nous|ils?)\s+$", re.IGNORECASE)
_IN_A_SENTENCE = re.compile(r"(?:^|[\s(])[^\W\dA-Z_][\w’'-]*[,;]?\s+$|\d[,;]?\s+$")
# What is called after somebody is no word on a person of the thread.
_EPONYM = re.compile(
    r"(?:['’]s?)?\s+(?:laws?|theorems?|equations?|rules?|principles?|methods?|effects?|constants?|numbers?|formulas?"
    r"|inequalit(?:y|ies)|lemmas?|tests?|diseases?|syndromes?|algorithms?|distributions?|functions?|transforms?)\b"
)
# No part of a handle, as of "jdoe42".
_TOKEN = re.compile(rf"(?<![\w@'’])(?:(?!{CJK})[^\W\d_]|['’])++(?![\d_])")
# Of English, German and Romance languages; an abbreviation may begin otherwise, and has few letters or no vowel.
_NO_WORD = re.compile(
    r"(?=[a-z]{4})(?=.*[aeiouy])(?!.?[aeiouy]|b[lr]|c[hlrz]|d[hjrwz]|f[jlr]|g[hlnrw]|k[hlnrvw]|ll|mn|ng|p[fhlnrst]|rh"
    r"|s[bcfghklmnpqtvwz]|t[chrswz]|v[lr]|w[hr]|z[hw])"
)
_PERSONS_PAGE = re.compile(r"(?<=/)(?:u|users?|members?|profiles?|people)/(?:\d+[/-])?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Forms of names, by where they mean a person. A blank in one stands for any sign that handles have in place of a
    blank, or for nothing; "?" for any letter, with or without a point."""

    where: Mapping[Where, tuple[str, ...]] = field(default_factory=dict)
    _forms: tuple[tuple[Where, str, frozenset[str]], ...] = field(init=False, repr=False, compare=False)
    _by_part: Mapping[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)
    """Places in `_forms` by the longest part of each, which most texts have not."""

    def __post_init__(self) -> None:
        forms = tuple((where, form, _parts(form)) for where, forms in self.where.items() for form in forms)
        by_part = defaultdict[str, list[int]](list)
        for at, (_, _, parts) in enumerate(forms):
            by_part[max(parts, key=lambda part: (len(part), part))].append(at)
        object.__setattr__(self, "_forms", forms)
        object.__setattr__(self, "_by_part", {part: tuple(places) for part, places in by_part.items()})

    @classmethod
    def read(cls, kept: Mapping[str, Sequence[str]]) -> "KnownNames":
        return cls({where: tuple(kept[where]) for where in get_args(Where) if kept.get(where)})

    def kept(self) -> dict[str, list[str]]:
        """As JSON; {} where there are none."""
        return {where: list(forms) for where, forms in self.where.items()}

    def taken_out(self, text: str) -> str:
        for where, form in self._forms_in(text):
            parts, end = list[str](), 0
            for found in _meant(text, form, where):
                parts += text[end : found.start()].removesuffix("@"), "[name]"
                end = found.end()
            text = "".join((*parts, text[end:]))
        return text

    def found_in(self, text: str, known: str = "") -> list[str]:
        """What is taken out of a text that was made of `known`, and is not spelled so there: what a law is called after
        was left, and none with a title."""
        found = [
            each.span()
            for where, form in self._forms_in(text)
            for each in _meant(text, form, where)
            if _is_titled(text, each.start(), each.end()) or not re.search(rf"\b{re.escape(each[0])}\b", known)
        ]
        # Of "M. Quist" the part is no name of its own.
        whole, last = list[str](), 0
        for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
            if end > last:
                whole.append(text[start:end])
                last = end
        return list(dict.fromkeys(whole))

    def left_in(self, text: str) -> list[str]:
        """Words of a text without names that are a name where they mean a person."""
        forms = (form for where, form in self._forms_in(text) if where != "titled")
        return list(dict.fromkeys(form for form in forms if _pattern(form, text).search(text)))

    def without_in_address(self, url: str, title: str) -> str:
        """As forums write names into the addresses of threads: in small letters, with other signs for blanks. Each
        gives way to "-", which leaves an address that mostly leads there still. Forms that are ordinary words do where
        the `title` has them as a name, or on the way to a person's page. The host stays: a moderator may be called like
        the forum."""
        start, host, plain = address_parts(url)
        clean, said = plain, _letters(plain)
        in_title = frozenset(self._forms_in(title))
        for where, forms in self.where.items():
            for form in forms:
                if not _may_be_in(said, form):
                    continue
                spelled = _spelled_in_address(form)
                if where == "anywhere" or ((where, form) in in_title and any(_meant(title, form, where))):
                    clean = spelled.sub("-", clean)
                elif spelled.search(clean):
                    clean = _without_segment(clean, spelled)
        return url if clean == plain else address_of(start, host, clean)

    def without_in_host(self, host: str) -> str:
        """With "-" in the place of names within its parts, of which the last is no name."""
        *parts, last = host.split(".")
        said = _letters(host)
        for form in (*self.where.get("anywhere", ()), *self.where.get("capital", ())):
            if _may_be_in(said, form):
                parts = [_spelled_in_address(form).sub("-", part) for part in parts]
        return ".".join((*parts, last))

    def _forms_in(self, text: str) -> Iterator[tuple[Where, str]]:
        """Those that may be in it, without a pattern for each."""
        said = _folded(text)
        for at in sorted(at for part, places in self._by_part.items() if part in said for at in places):
            where, form, parts = self._forms[at]
            if all(part in said for part in parts):
                yield where, form


NO_NAMES = KnownNames()


class NamesAndTexts(NamedTuple):
    """`question` with its title; `place` is the forum's name and the host of its address."""

    names: Sequence[str]
    question: str
    others: Sequence[str]
    place: str


def names_of(row: NamesAndTexts) -> KnownNames:
    """A name that is an ordinary word would take that word out of all texts. It is one where the forum is called so, or
    where a small form of it follows an article or a pronoun. One of a single word also is where the question has it in
    small letters, since who asks does not know yet who will reply; who asks writes names of several words, and what no
    word looks like, in small letters too. No other row counts: another thread would make this one another item."""
    forms = [form for name in row.names for form in _forms(name)]
    keys = {each.key for each in forms if not each.titled}
    words: dict[str, WordKind] = dict.fromkeys(
        keys.intersection(_key(each) for each in re.split(r"[\W_]+", row.place)), "noun"
    )
    seen = set(words)
    for text, asks in ((row.question, True), *((each, False) for each in row.others)):
        for key, kind, sure in _as_words(text, keys):
            seen.add(key)
            if sure or (asks and " " not in key and not _NO_WORD.match(key)):
                words[key] = _stronger(words.get(key), kind)
    return _known(forms, words, seen)


WordKind = Literal["noun", "word"]
"""A noun has a capital in German, and in the names of places and firms: there its capital says nothing."""


def _stronger(one: WordKind | None, other: WordKind) -> WordKind:
    return "noun" if "noun" in (one, other) else "word"


@dataclass(frozen=True, slots=True)
class _Form:
    """A `part` of a name, which is too short for any place but beside a title where it is `titled`; one with an initial
    or in another order is `of` the whole, and one without some of its words a `piece` of it."""

    text: str
    part: bool = False
    titled: bool = False
    exact: bool = False
    of: str = ""
    piece: bool = False

    @property
    def key(self) -> str:
        return _key(self.text)


def _forms(name: str) -> Iterator[_Form]:
    name = unicodedata.normalize("NFC", " ".join(without_unseen(_unescaped(name)).split()))
    if re.search(CJK, name):
        if len(name) >= _FEWEST_SIGNS:
            yield _Form(name)
            # The family's name comes first.
            yield from (_Form(name[:size], titled=True) for size in (1, 2) if size < len(name) <= 4)
            if len(name) == 3 and name[0] in _FAMILIES and not _SPOKE_IN_CHINESE.match(name, 1):
                yield _Form(name[1:], part=True)
        return
    words = re.findall(r"(?:[^\W\d_]|['’])+", re.sub(r"(?<=[^\W\dA-Z_])(?=[A-Z])", " ", name))
    # With signs that no word has.
    exact = bool(re.search(r"[^\w\s'’]|[\d_]", name))
    if len(name) >= (_FEWEST_LETTERS if exact else _FEWEST_SIGNS):
        yield _Form(name, exact=exact)
    if not words or words == [name]:
        return
    whole, first, last = " ".join(words), words[0], words[-1]
    if len(words) > 1 and whole != name:
        yield _Form(whole)
    own = _own_names(name)
    if 2 < len(own) <= _MOST_WORDS or (len(own) == 2 and len(words) > 2):
        named = [each for each in own if each[-1:].islower() and re.search(r"[^\W\d_]{3}", each)]
        for one, other in combinations(named, 2):
            initials = " ".join(each[0] for each in one.split())
            yield from (_Form(text, of=whole, piece=True) for text in (f"{one} {other}", f"{initials} {other}"))
        yield from (_Form(each, part=True) for each in own if " " in each)
    if len(words) == 2 and min(map(len, words)) >= _FEWEST_LETTERS:
        initial = first[0]
        found = [f"{initial} {last}", f"{first} {last[0]}", f"{first} ? {last}", f"{initial} ? {last}"]
        found += [f"{last}, {initial}.", f"{last}, {initial} ?."]
        # Of a handle the words may be two nouns that follow each other.
        found += [f"{last} {first}", f"{last}, {first}"] if name == whole and whole.istitle() else []
        yield from (_Form(text, of=whole) for text in found)
    yield from (_Form(each, part=True, titled=len(each) < _FEWEST_LETTERS) for each in words if len(each) > 1)


def _own_names(name: str) -> list[str]:
    """Of a name with capitals, its names: "Jean Luc" of Jean-Luc, "van der Berg" in one."""
    found = re.findall(rf"(?:(?<=\s)(?:{_PARTICLES})\s+)*[^\W\d_][^\s_]*", name)
    plain = [re.sub(r"[-.]+", " ", each).strip() for each in found]
    return (
        plain
        if all(re.fullmatch(r"(?:[^\W\d_]|['’ ])+", each) and each.split()[-1].istitle() for each in plain)
        else []
    )


_PARTICLES = (
    "[Vv]an|[Vv]on|[Dd]e[rnl]?|[Dd]el?la|[Dd]i|[Dd]as?|[Dd]os|[Dd]u|[Ll]a|[Ll]e|[Tt]e[rn]?|[Zz]ur?|[Ee]l|[Bb]in"
)
_FAMILIES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪"
    "范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔向汤張陳楊黃趙吳孫馬鄭謝許韓馮鄧葉蘇"
)
"""Before any other sign the rest is no given name: "battery" of old battery."""


def without_unseen(text: str) -> str:
    """Without signs of no width within words, but for those that are spelling in other scripts than the Latin."""
    return text if text.isascii() else _UNSEEN.sub("", text)


_UNSEEN = re.compile(r"(?<=\S)[\xad\u200b\u2060\ufeff]+(?=\S)|(?<=[!-\u024f])[\u200c-\u200f]+(?=[!-\u024f\uff20])")


_ESCAPED = re.compile(r"&#?\w{1,32};")


def _unescaped(name: str) -> str:
    """Stack Exchange escapes names as HTML, some twice."""
    while (plain := _ESCAPED.sub(lambda found: unescape(found[0]), name)) != name:
        name = plain
    return name


def _known(forms: Sequence[_Form], words: Mapping[str, WordKind], seen: Collection[str]) -> KnownNames:
    where = defaultdict[Where, dict[str, None]](dict)
    for form in forms:
        if (place := _where(form, words, seen)) is not None:
            where[place][form.text] = None
    longest = {place: tuple(sorted(where[place], key=len, reverse=True)) for place in get_args(Where) if where[place]}
    return KnownNames(longest)


def _where(form: _Form, words: Mapping[str, WordKind], seen: Collection[str]) -> Where | None:
    if form.titled:
        return "titled"
    if form.exact:
        return "anywhere"
    if form.of:
        return None if _key(form.of) in words or (form.piece and form.key in seen) else "capital"
    kind, capital = words.get(form.key), form.text[:1].isupper()
    if len(form.text) < _FEWEST_LETTERS and not re.search(CJK, form.text):
        return "addressed" if capital else None
    if form.part:
        # "Battery" of BatteryGuy, and the country of a Jordan Smith, are what a thread is about.
        return "addressed" if form.key in seen else "called"
    if kind is None:
        return "anywhere"
    return "within" if kind == "word" and capital else "addressed"


def _as_words(text: str, keys: Collection[str]) -> Iterator[tuple[str, WordKind, bool]]:
    """Those that a text has as words, and whether what stands before them leaves no doubt. A script without capitals
    does not tell a word from a name."""
    for key, start, end in _places(text, keys):
        said = text[start:end]
        if said.lower() == said.upper() or _is_addressed(text, start, end):
            continue
        before = text[max(0, start - _SEEN) : start]
        article = bool(_ARTICLE.search(before))
        if said == said.lower():
            yield key, "word", article or bool(_PRONOUN.search(before) or _DETERMINER.search(before))
        elif article:
            yield key, "noun", False


def _places(text: str, keys: Collection[str]) -> Iterator[tuple[str, int, int]]:
    tokens, firsts = list(_TOKEN.finditer(text)), {key.partition(" ")[0] for key in keys}
    for at, token in enumerate(tokens):
        if _bare(token[0]) in firsts:
            for last, each in enumerate(tokens[at : at + _MOST_WORDS], start=at):
                if last > at and not re.fullmatch(r"[\s-]{1,2}", text[tokens[last - 1].end() : each.start()]):
                    break
                if (key := _key(text[token.start() : each.end()])) in keys:
                    yield key, token.start(), each.end()


def _meant(text: str, form: str, where: Where) -> Iterator[re.Match[str]]:
    return (found for found in _pattern(form, text).finditer(text) if _is_meant(text, found, form, where))


def _is_meant(text: str, found: re.Match[str], form: str, where: Where) -> bool:
    if where == "titled":
        return _is_titled(text, found.start(), found.end())
    if _is_addressed(text, found.start(), found.end()):
        return True
    if where == "called":
        return _is_called(text, found.start(), found.end())
    if where == "addressed" or (form.istitle() and form.isalpha() and _EPONYM.match(text, found.end())):
        return False
    # Of "A. van der Berg" two words have none.
    small = form.split() if form[:1].isupper() else ()
    capitals = all(word[:1].isupper() or word in small for word in re.split(r"[\s._-]+", found[0]) if word)
    if where == "anywhere":
        # Solar panels are no genitive of who is called Solar Panel.
        return capitals or not _has_ending(text, found, form)
    return capitals and (where == "capital" or _is_within(text, found.start()))


def _has_ending(text: str, found: re.Match[str], form: str) -> bool:
    if " " not in form:
        return False
    declined = re.search(_CYRILLIC, form) and _key(found[0]) != _key(form)
    return bool(declined) or bool(re.match(r"s(?!\w)", text[found.end() : found.end() + 2]))


def _is_within(text: str, start: int) -> bool:
    before = text[max(0, start - _SEEN) : start]
    return bool(_IN_A_SENTENCE.search(before)) and not _ARTICLE.search(before)


def _is_titled(text: str, start: int, end: int) -> bool:
    """With a capital: "the Prof will know"."""
    said, before = text[start : start + 1], text[max(0, start - _SEEN) : start]
    return (said.isupper() and bool(_TITLE.search(before))) or bool(_TITLE_BEHIND.match(text, end))


def _is_called(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _SEEN) : start]
    begins = not before.strip() or "\n" in before[len(before.rstrip()) :]
    return text[start].isupper() and begins and bool(_CALLED.match(text[end : end + _SEEN] + "\n"))


def _is_addressed(text: str, start: int, end: int) -> bool:
    if _is_titled(text, start, end):
        return True
    before, after = text[max(0, start - _SEEN) : start], text[end : end + _SEEN]
    if before.endswith(("@", "＠")) or (_GREETED.search(before) and _GREETING_ENDS.match(after)):
        return True
    if _GREETED_IN_CHINESE.search(before) or (re.match(CJK, text[start:end]) and _SPOKE_IN_CHINESE.match(after)):
        return True
    if end + _SEEN >= len(text) and not after.strip(" \t\n.") and _SIGNED.search(before):
        return True
    return bool(_SPOKE.match(after)) and not _ARTICLE.search(before)


def _pattern(form: str, text: str) -> re.Pattern[str]:
    """A name of several words, which is no word of a language, is also found with accents that it has not. That takes
    three times as long to compile: only where the text has such a word."""
    words = [word for word in form.split(" ") if word.isascii() and word not in _INITIALS]
    if text.isascii() or " " not in form or not words:
        return _spelled(form)
    accented = _accented_words(text)
    return _spelled(form, accents=any(_folded(word) in accented for word in words))


@lru_cache(maxsize=4)
def _accented_words(text: str) -> str:
    return _folded(" ".join(word for word in text.split() if not word.isascii()))


@lru_cache(maxsize=20_000)
def _spelled(form: str, accents: bool = False) -> re.Pattern[str]:
    """In Unicode's composed and decomposed form, with either apostrophe, umlauts as two letters or one, and letters
    with accents also without. A name of several words also has an ending, and one in Hangul what is written behind
    names, which are no part of what is found but in Cyrillic letters."""
    if re.search(CJK, form):
        return re.compile(re.escape(form))
    words = form.split(" ")
    apart = min(map(len, words)) < _FEWEST_LETTERS and not re.search(_HANGUL, form)
    spelled = rf"[\s._-]{'+' if apart else '*'}".join(
        _INITIALS.get(word) or _written(word, accents, declined=len(words) > 1) for word in words
    )
    behind = _BEHIND_HANGUL if re.search(_HANGUL, words[-1]) else "s?" if len(words) > 1 else ""
    # Without regard to case a class with all Chinese signs takes milliseconds to compile.
    return re.compile(rf"(?<!{LETTER})(?i:{spelled})(?={behind}(?!{LETTER}|{MARK}))")


_BEHIND_HANGUL = (
    "(?:님|씨|군|양|선생님|교수님|박사님)?(?:께서|에게서|에게|한테|께|은|는|이|가|을|를|의|과|와|도|만|으로|로|이라고|라고|이라는|라는"
    "|처럼|보다|부터|까지|이랑|랑|하고|이나|나|아|야|입니다|이다){0,2}"
)


def _written(word: str, accents: bool, declined: bool) -> str:
    if declined and _declines(word):
        return f"{_written(_stem(word), accents, declined=False)}{_CYRILLIC}{{0,3}}"
    letters = re.findall("[aouAOU]e|ss|.", unicodedata.normalize("NFC", word))
    return "".join(_written_letter(each, accents) for each in letters)


def _written_letter(letter: str, accents: bool) -> str:
    if letter in "'’":
        return "['’]"
    if letter == "ss":
        return "(?:ss|ß)"
    if len(letter) == 2:
        umlaut = unicodedata.normalize("NFC", f"{letter[0]}\u0308")
        return f"(?:{letter}|{umlaut}|{letter[0]}\u0308)"
    plain = _without_accents(letter)
    if plain != letter:
        return f"(?:{letter}|{re.escape(plain)}{MARK}*|{letter.casefold().translate(_UMLAUTS)})"
    accented = _ACCENTED.get(letter.lower(), "") if accents else ""
    return f"[{letter}{accented}]{MARK}*" if accented else re.escape(letter)


def _declines(word: str) -> bool:
    return len(word) >= _FEWEST_LETTERS and bool(re.fullmatch(f"{_CYRILLIC}+", word))


def _stem(word: str) -> str:
    """Of a word in Cyrillic letters, what stays where it is declined."""
    stem = re.sub("[аеёиоуыэюяйьії]+$", "", word) if _declines(word) else word
    return stem if len(stem) >= _FEWEST_SIGNS else word


def address_parts(url: str) -> tuple[str, str, str]:
    """Scheme, host and all behind it, unquoted."""
    # A second "://" is of an address that the path or query holds.
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}", host, unquote(f"{slash}{path}")


def address_of(start: str, host: str, path: str) -> str:
    return f"{start}{host}{quote(path, safe=_IN_A_PATH)}"


_IN_A_PATH = "/?#&=+;:@!$'()*,~%"


@lru_cache(maxsize=20_000)
def _spelled_in_address(form: str) -> re.Pattern[str]:
    parts = [re.findall(r"[^\W_]+", each) for each in _as_slugs(form)]
    within = "|".join(r"[\W_]*".join(each) for each in parts if each) or r"(?!)"
    if not re.search(CJK, form):
        ending = "(?=s(?![^\\W\\d_]))|" if " " in form else ""
        within = rf"(?<![^\W\d_])(?:{within})(?:{ending}(?![^\W\d_]))"
    return re.compile(within, re.IGNORECASE)


def _without_segment(path: str, spelled: re.Pattern[str]) -> str:
    for page in reversed(list(_PERSONS_PAGE.finditer(path))):
        if found := spelled.match(path, page.end()):
            path = f"{path[: found.start()]}-{path[found.end() :]}"
    return path


def _as_slugs(form: str) -> tuple[str, ...]:
    return form, _without_accents(form), _without_accents(_in_two_letters(form))


def _without_accents(text: str) -> str:
    bare = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return bare.translate(_STROKES)


_STROKES = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ı": "i", "æ": "ae", "Æ": "AE"}
    | {"œ": "oe", "Œ": "OE", "þ": "th", "Þ": "Th", "ß": "ss", "ẞ": "SS"}
)
"""Letters that have no other form in Unicode."""


def _accented() -> dict[str, str]:
    found = defaultdict[str, str](str)
    for letter in map(chr, (*range(0xDF, 0x180), *range(0x1E00, 0x1F00))):
        if letter.islower() and len(plain := _without_accents(letter)) == 1 and plain.isascii():
            found[plain] += letter
    return found


_ACCENTED = _accented()
"""Small letters with accents, by the letter without."""
_INITIALS = {"?": r"[^\W\d_]\.?", "?.": r"[^\W\d_]\."}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe"})


def _in_two_letters(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold().translate(_UMLAUTS)


def _folded(text: str) -> str:
    """Umlauts in either form, and letters with and without accents, are the same."""
    return re.sub("(?<=[aou])e", "", _letters(text).replace("’", "'"))


def _parts(form: str) -> frozenset[str]:
    """What a folded text has wherever the form is spelled in it. Behind another word an "e" may be folded away."""
    words = form.split(" ")
    first, *others = map(_stem, words) if len(words) > 1 else words
    return frozenset((_folded(first), *(_folded(each).removeprefix("e") for each in others if each not in _INITIALS)))


def _may_be_in(address: str, form: str) -> bool:
    return any(all(part in address for part in parts) for parts in _parts_in_address(form))


@lru_cache(maxsize=20_000)
def _parts_in_address(form: str) -> tuple[tuple[str, ...], ...]:
    """An address has all of one of these where it has the form."""
    found = (re.findall(r"[^\W_]+", each) for each in _as_slugs(form))
    return tuple(tuple(map(_letters, parts)) for parts in found if parts)


def _letters(text: str) -> str:
    """Equal for all letters that a pattern takes for one without regard to case."""
    return text.casefold() if text.isascii() else _without_accents(text).casefold()


def _bare(text: str) -> str:
    return (text if text.isascii() or re.search(CJK, text) else _without_accents(text)).casefold().replace("’", "'")


def _key(text: str) -> str:
    return " ".join(re.split(r"[\s._-]+", _bare(text).strip()))
