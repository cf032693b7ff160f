"""Names that a source gave of its people: where its texts mean a person by them, and where they are ordinary words."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

# Chinese and Japanese put nothing between a word and a name.
CJK = r"[\u3040-\u30ff\u3400-\u9fff]"
LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"

Where = Literal["anywhere", "capital", "within", "addressed", "titled"]
"""`capital`: written with capitals. `within`: so, and not where a sentence or a heading would. `addressed`: next to
what is said to a person or of one. `titled`: beside a title or form of address."""
_FEWEST_LETTERS, _FEWEST_SIGNS, _MOST_WORDS = 3, 2, 4
_SEEN = 60
"""Signs on either side, by which a name is told from a word."""

_GREETED = re.compile(
    r"(?:^|\W)(?:thanks|thank\s+you|thx|ty|cheers|hi|hello|hey|dear|welcome|sorry|regards|danke|hallo|moin|servus|liebe[rn]?"
    r"|gru(?:ß|ss)|gr(?:ü|ue)(?:ß|ss)e|lg|vg|merci|bonjour|salut|cordialement|gracias|hola|saludos|grazie|ciao|obrigado)"
    r"(?:[\s,]+(?:\[name\]|\w+)(?:\s*,|\s+(?:and|&|und|et|y)))?[\s,!]+$",
    re.IGNORECASE,
)
_GREETING_ENDS = re.compile(r"\s*(?:[.,;:!?)…]|$|\n)|\s+(?:for|and|und|für|pour|et|por|y)\b", re.IGNORECASE)
_SPOKE = re.compile(
    r"\s+(?:wrote|writes|said|says|asked|replied|suggested|posted|mentioned|explained|pointed\s+out|schrieb|schreibt"
    r"|sagte|sagt|meinte|a\s+écrit|a\s+dit|escribió|dijo|ha\s+scritto)\b"
    r"|['’]s\s+(?:posts?|answers?|repl(?:y|ies)|comments?|suggestions?|links?|advice)\b",
    re.IGNORECASE,
)
_GREETED_IN_CHINESE, _SPOKE_IN_CHINESE = (
    re.compile(r"(?:谢谢|感谢|多谢|你好|您好)[,，]?$"),
    re.compile(r"说|写道|老师|同学|您好|回复"),
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
_PRONOUN = re.compile(r"(?:^|\W)(?:I|we|they|he|she|it|ich|wir|er|je|nous|ils?)\s+$", re.IGNORECASE)
_IN_A_SENTENCE = re.compile(r"(?:^|[\s(])[^\W\dA-Z_][\w’'-]*[,;]?\s+$|\d[,;]?\s+$")
# What is called after somebody is no word on a person of the thread.
_EPONYM = re.compile(
    r"(?:['’]s?)?\s+(?:laws?|theorems?|equations?|rules?|principles?|methods?|effects?|constants?|numbers?|formulas?"
    r"|inequalit(?:y|ies)|lemmas?|tests?|diseases?|syndromes?|algorithms?|distributions?|functions?|transforms?)\b"
)
# No part of a handle, as of "jdoe42".
_TOKEN = re.compile(rf"{CJK}+|(?<![\w@'’])(?:(?!{CJK})[^\W\d_]|['’])++(?![\d_])")
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
        return list(dict.fromkeys(form for form in forms if _spelled(form).search(text)))

    def without_in_address(self, url: str, title: str) -> str:
        """As forums write names into the addresses of threads: in small letters, with other signs for blanks. Each
        gives way to "-", which leaves an address that mostly leads there still. Forms that are ordinary words do where
        the `title` has them as a name, or on the way to a person's page."""
        start, host, plain = address_parts(url)
        clean, before = plain, host
        said = _letters(f"{host}{plain}")
        for where, forms in self.where.items():
            for form in forms:
                if not any(part in said for part in _first_parts(form)):
                    continue
                spelled = _spelled_in_address(form)
                if where == "anywhere" or any(_meant(title, form, where)):
                    clean, host = spelled.sub("-", clean), spelled.sub("-", host)
                elif spelled.search(clean):
                    clean = _without_segment(clean, spelled)
        return url if (clean, host) == (plain, before) else address_of(start, host, clean)

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
    """A name that is one ordinary word would take that word out of all texts. It is one where the forum is called so,
    where the question has it in small letters (who asks does not know yet who will reply), or where it follows a small
    article or a pronoun. No other row counts: another thread would make this one another item."""
    forms = [form for name in row.names for form in _forms(name)]
    keys = {each.key for each in forms if not each.titled}
    words: dict[str, WordKind] = dict.fromkeys(
        keys.intersection(_key(each) for each in re.split(r"[\W_]+", row.place)), "noun"
    )
    wanted = _Wanted(keys)
    for text, asks in ((row.question, True), *((each, False) for each in row.others)):
        for key, kind, sure in _as_words(text, wanted):
            if sure or (asks and not re.match(CJK, key)):
                words[key] = _stronger(words.get(key), kind)
    return _known(forms, words)


WordKind = Literal["noun", "word"]
"""A noun has a capital in German, and in the names of places and firms: there its capital says nothing."""


def _stronger(one: WordKind | None, other: WordKind) -> WordKind:
    return "noun" if "noun" in (one, other) else "word"


@dataclass(frozen=True, slots=True)
class _Form:
    """A `part` of a name, which is too short for any place but beside a title where it is `titled`; one with an initial
    or in another order is `of` the whole."""

    text: str
    part: bool = False
    titled: bool = False
    exact: bool = False
    of: str = ""

    @property
    def key(self) -> str:
        return _key(self.text)


def _forms(name: str) -> Iterator[_Form]:
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if re.search(CJK, name):
        if len(name) >= _FEWEST_SIGNS:
            yield _Form(name)
            # The family's name comes first.
            yield from (_Form(name[:size], titled=True) for size in (1, 2) if size < len(name) <= 4)
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
    if len(words) == 2 and min(map(len, words)) >= _FEWEST_LETTERS:
        initial = first[0]
        found = [f"{initial} {last}", f"{first} {last[0]}", f"{first} ? {last}", f"{initial} ? {last}"]
        found += [f"{last}, {initial}.", f"{last}, {initial} ?."]
        # Of a handle the words may be two nouns that follow each other.
        found += [f"{last} {first}", f"{last}, {first}"] if name == whole and whole.istitle() else []
        yield from (_Form(text, of=whole) for text in found)
    yield from (_Form(each, part=True, titled=len(each) < _FEWEST_LETTERS) for each in words if len(each) > 1)


def _known(forms: Sequence[_Form], words: Mapping[str, WordKind]) -> KnownNames:
    where = defaultdict[Where, dict[str, None]](dict)
    for form in forms:
        if (place := _where(form, words)) is not None:
            where[place][form.text] = None
    longest = {place: tuple(sorted(where[place], key=len, reverse=True)) for place in get_args(Where) if where[place]}
    return KnownNames(longest)


def _where(form: _Form, words: Mapping[str, WordKind]) -> Where | None:
    if form.titled:
        return "titled"
    if form.exact:
        return "anywhere"
    if form.of:
        return None if _key(form.of) in words else "capital"
    kind, capital = words.get(form.key), form.text[:1].isupper()
    if len(form.text) < _FEWEST_LETTERS and not re.search(CJK, form.text):
        return "addressed" if capital else None
    if form.part:
        # "Battery" of BatteryGuy, and the country of a Jordan Smith, are what a thread is about.
        return "addressed"
    if kind is None:
        return "anywhere"
    return "within" if kind == "word" and capital else "addressed"


class _Wanted:
    def __init__(self, keys: Collection[str]) -> None:
        self.keys = keys
        self.firsts = {key.partition(" ")[0] for key in keys}
        self.signs = sorted({len(key) for key in keys if re.match(CJK, key)})


def _as_words(text: str, wanted: _Wanted) -> Iterator[tuple[str, WordKind, bool]]:
    """Keys of those that a text has as words, and whether what stands before them leaves no doubt."""
    for key, start, end in _places(text, wanted):
        said = text[start:end]
        if _is_addressed(text, start, end):
            continue
        if re.match(CJK, said):
            yield key, "noun", False
        else:
            before = text[max(0, start - _SEEN) : start]
            article = bool(_ARTICLE.search(before))
            if said == said.lower():
                yield key, "word", article or bool(_PRONOUN.search(before))
            elif article:
                yield key, "noun", False


def _places(text: str, wanted: _Wanted) -> Iterator[tuple[str, int, int]]:
    tokens = list(_TOKEN.finditer(text))
    for at, token in enumerate(tokens):
        if re.match(CJK, token[0]):
            for start, size in product(range(token.start(), token.end()), wanted.signs):
                if start + size <= token.end() and (key := text[start : start + size]) in wanted.keys:
                    yield key, start, start + size
        elif _bare(token[0]) in wanted.firsts:
            for last, each in enumerate(tokens[at : at + _MOST_WORDS], start=at):
                if last > at and not re.fullmatch(r"[\s-]{1,2}", text[tokens[last - 1].end() : each.start()]):
                    break
                if (key := _key(text[token.start() : each.end()])) in wanted.keys:
                    yield key, token.start(), each.end()


def _meant(text: str, form: str, where: Where) -> Iterator[re.Match[str]]:
    return (found for found in _spelled(form).finditer(text) if _is_meant(text, found, form, where))


def _is_meant(text: str, found: re.Match[str], form: str, where: Where) -> bool:
    if where == "titled":
        return _is_titled(text, found.start(), found.end())
    if _is_addressed(text, found.start(), found.end()):
        return True
    if where == "addressed" or (form.istitle() and form.isalpha() and _EPONYM.match(text, found.end())):
        return False
    capitals = all(word[:1].isupper() for word in re.split(r"[\s._-]+", found[0]) if word)
    return where == "anywhere" or (capitals and (where == "capital" or _is_within(text, found.start())))


def _is_within(text: str, start: int) -> bool:
    before = text[max(0, start - _SEEN) : start]
    return bool(_IN_A_SENTENCE.search(before)) and not _ARTICLE.search(before)


def _is_titled(text: str, start: int, end: int) -> bool:
    """With a capital: "the Prof will know"."""
    said, before = text[start : start + 1], text[max(0, start - _SEEN) : start]
    return (said.isupper() and bool(_TITLE.search(before))) or bool(_TITLE_BEHIND.match(text, end))


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


@lru_cache(maxsize=20_000)
def _spelled(form: str) -> re.Pattern[str]:
    """In Unicode's composed and decomposed form, with either apostrophe, and umlauts as two letters or one."""
    if re.search(CJK, form):
        return re.compile(re.escape(form))
    words = form.split(" ")
    blank = rf"[\s._-]{'*' if min(map(len, words)) >= _FEWEST_LETTERS else '+'}"
    forms = {
        blank.join(
            _INITIALS.get(word) or re.sub("['’]", "['’]", re.escape(unicodedata.normalize(each, word)))
            for word in spelled
        )
        for spelled in (words, list(map(_in_two_letters, words)), list(map(_in_one_letter, words)))
        for each in ("NFC", "NFD")
    }
    # Without regard to case a class with all Chinese signs takes milliseconds to compile.
    return re.compile(rf"(?<!{LETTER})(?i:{'|'.join(sorted(forms))})(?!{LETTER}|[\u0300-\u036f])")


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
    parts = [re.findall(r"[^\W_]+", each) for each in (form, _without_accents(form))]
    within = "|".join(r"[\W_]*".join(each) for each in parts if each) or r"(?!)"
    if not re.search(CJK, form):
        within = rf"(?<![^\W\d_])(?:{within})(?![^\W\d_])"
    return re.compile(within, re.IGNORECASE)


def _without_segment(path: str, spelled: re.Pattern[str]) -> str:
    for page in reversed(list(_PERSONS_PAGE.finditer(path))):
        if found := spelled.match(path, page.end()):
            path = f"{path[: found.start()]}-{path[found.end() :]}"
    return path


def _without_accents(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))


_INITIALS = {"?": r"[^\W\d_]\.?", "?.": r"[^\W\d_]\."}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def _in_two_letters(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold().translate(_UMLAUTS)


def _in_one_letter(word: str) -> str:
    """ "Samül" is written by nobody, so that it does no harm."""
    return re.sub("[aou]e", lambda found: unicodedata.normalize("NFC", f"{found[0][0]}\u0308"), word.casefold())


def _folded(text: str) -> str:
    """Umlauts in either form, and letters with and without accents, are the same."""
    return re.sub("(?<=[aou])e", "", _letters(text).replace("’", "'"))


def _parts(form: str) -> frozenset[str]:
    """What a folded text has wherever the form is spelled in it. Behind another word an "e" may be folded away."""
    first, *others = form.split(" ")
    return frozenset((_folded(first), *(_folded(each).removeprefix("e") for each in others if each not in _INITIALS)))


@lru_cache(maxsize=20_000)
def _first_parts(form: str) -> frozenset[str]:
    """One of these begins the form in an address."""
    found = (re.search(r"[^\W_]+", each) for each in (form, _without_accents(form)))
    return frozenset(_letters(each[0]) for each in found if each)


def _letters(text: str) -> str:
    """Equal for all letters that a pattern takes for one without regard to case."""
    return text.casefold() if text.isascii() else _without_accents(text).casefold().replace("ı", "i")


def _bare(text: str) -> str:
    return (text if text.isascii() or re.search(CJK, text) else _without_accents(text)).casefold().replace("’", "'")


def _key(text: str) -> str:
    return " ".join(re.split(r"[\s._-]+", _bare(text).strip()))
