"""The stages of statements, as Encyclo-K makes them: filter what cannot stand alone, check the specifications, falsify,
check what came."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, floor
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.judging.answers import Ask
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.json_replies import ReplyForm, ask_for, request_for
from toolablate.experiments.construction.languages import another_language
from toolablate.experiments.construction.question_checks import (
    address_faults,
    normal,
    personal_faults,
    same_key,
    says_the_same,
    unseen_faults,
    unseen_in,
    without_unseen,
)
from toolablate.experiments.construction.stages import (
    Content,
    Dropped,
    FullText,
    Kept,
    NoContext,
    Outcome,
    Role,
    worked_on,
)
from toolablate.traces.records import digest_json


class RegionBox(BaseModel):
    """A part of a page, which counts from 1: left, top, right, bottom in points from its upper left corner."""

    model_config = ConfigDict(frozen=True)

    page: int
    box: Annotated[list[float], Field(min_length=4, max_length=4)]


class StatementRow(BaseModel):
    """A correct statement of a textbook: `text` is what it says, under a first line that is its name and a colon where
    it has one; `boxes` are where it stands in the book's file, and `kind` what `build pages` took it for, which no
    stage reads."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: FullText
    discipline: FullText
    field: str = ""
    subfield: str = ""
    book: str = ""
    page: str = ""
    licence: str = ""
    boxes: list[RegionBox] = Field(default_factory=list)
    kind: str = ""


_TEXT = "a text in quotes"
ALLOWED = {
    **dict.fromkeys(("text", "discipline"), "a text in quotes that is not blank"),
    **dict.fromkeys(("field", "subfield", "book", "page", "licence", "kind"), _TEXT),
    "boxes": "a list of objects with page and box",
}


def load_statement_items(path: str | Path) -> dict[str, Content]:
    """The content of each item by its id, the digest of its text and book; of rows with equal ones the first is kept.
    Raises InputError that names the file, the row, the key, what was found and what is allowed."""
    items: dict[str, Content] = {}
    for _, row in typed_rows(path, StatementRow, ALLOWED):
        content = row.model_dump(mode="json", exclude={"kind"})
        items.setdefault(digest_json(worked_on(content)), content)
    return items


# By rule: what needs something that is not there. In this order, and counted so.

# What stands before a word that is one by itself: Chinese puts no blanks between words.
_ALONE = r"(?<![^\s，。、；：（(在是的从由对与和及为于即指以据按如见看])"
_KINDS = r"fig(?:ure|s)?\.?|tables?|diagrams?|photo(?:graph)?s?|charts?|maps?"
# No measure ("a page 4 kB large"), formula ("the formula 2H2") or term ("equation 3x = 6").
_UNIT = r"(?-i:[kMGTµmcn]?(?:B|m|g|s|Hz|V|A|W|Pa|N|J|K|mol|l|L|bit)\b)"
_PLACE = rf"\d++(?:[.-]\d++)*+(?!\s*(?:[=+*/^<>×·≤≥²³%°]|{_UNIT})|(?-i:[A-Z]|[b-z]?[xyz]\b))"
_RULES = (
    (
        "needs a figure",
        re.compile(
            # "A table 8 entries wide" names none.
            rf"\b(?:(?:see|in|from|by|of|on|and|with|to|the|voir|la|les)\s+(?:{_KINDS})\s*\(?\d|(?:{_KINDS})\s*\(?\d[\d.-]*[a-z]?\)?\s+"
            r"(?:is|are|was|shows?|gives?|lists?|illustrates?|depicts?|presents?|summari[sz]es|compares)\b"
            r"|(?-i:Fig(?:ure|s)?|FIG(?:URE)?|Table|TABLE|Diagram|Photo(?:graph)?|Chart|Map)\.?\s*\(?\d|figs?\.\s*\d"
            r"|(?:shown|depicted|seen|see)\s+(?:in\s+the\s+(?:figure|picture|diagram|table)|(?:the\s+)?(?:figure|picture|diagram|table)s?\s+(?:below|above)|below|above))"
            rf"|[(（]\s*(?:{_KINDS})\s*\d[\d.-]*[a-z]?\s*[)）,;]"
            rf"|[如见][上下左右][图表]|{_ALONE}[图表]\s*\d+(?:[.-]\d+)*(?![\dA-Za-z个种])"
            r"|(?<!常)[如见][图表](?=所示|中|\s*[,，。)）])",
            re.IGNORECASE,
        ),
    ),
    (
        "refers to a place of the book",
        re.compile(
            r"\b(?:chapter|(?<!cross )(?<!cross-)section|sect?\.|appendix|paragraph|page|p\.|eq(?:uation)?s?\.?|"
            rf"formula|theorem|lemma|definition|(?<!for )example|exercise)\s*\(?{_PLACE}"
            r"|第\s*[\d一二三四五六七八九十百]+\s*[章节]|[(（]\d+(?:[.-]\d+)*[a-z]?[)）]\s*式|式\s*[(（]\d"
            # The number of a formula. Years and measures stand in brackets, too.
            r"|(?:\b(?:by|from|in|see|using|into)|[由从见入据])\s*[(（][1-9]\d?[.-]\d{1,3}[a-z]?[)）]"
            r"|[=$][^\n]{0,200}[(（][1-9]\d?[.-]\d{1,3}[a-z]?[)）]"
            r"\s*+(?:[.。,，;；]\s*+)?+(?:$|(?:where|in which)\b|其中|式中)",
            re.IGNORECASE,
        ),
    ),
    (
        "speaks of where it stands",
        re.compile(
            r"\b(?:this|the (?:present|previous|next|following|preceding))\s+"
            r"(?:chapter|section|book|region|country|page|figure)\b"
            r"|\b(?:our|my)\s+(?:country|region|nation|university)\b"
            r"|\b(?:as (?:mentioned|noted|shown|stated) (?:above|earlier|before)|mentioned above|aforementioned)\b"
            # Where currencies are compared, "本国" is any country.
            rf"|我国|{_ALONE}本[章节书](?!律|写)|本地区|该地区|如前所述|上述|上文",
            re.IGNORECASE,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class StandsAlone(NoContext):
    """Drops by rule what needs a figure, a place of the book or a where. The first rule that fits is the reason."""

    name: ClassVar[str] = "filter"
    version: ClassVar[int] = 4
    role: ClassVar[None] = None

    def settings(self) -> Mapping[str, Any]:
        return {}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        return Dropped(*found) if (found := cannot_stand_alone(content["text"])) else Kept(content)


def cannot_stand_alone(text: str) -> tuple[str, str] | None:
    """The first rule that says so, and the words by which it does."""
    return next(((reason, found[0]) for reason, rule in _RULES if (found := rule.search(text))), None)


# By a model: the three specifications of Encyclo-K (3.1.1).


class Specifications(ReplyForm):
    independent: bool
    clear: bool
    concise: bool
    reason: str


SPECIFY_PROMPT = """You check statements of a textbook for a benchmark. Each will be shown alone. Decide:
- independent: it is one whole piece of knowledge, and needs no other part of the book.
- clear: it means one thing to whoever reads it anywhere; no word points to a place or a time that is not named.
- concise: nothing in it is there for the book alone, such as numbers of formulas.
- reason: one sentence on what fails; "" where nothing does."""


@dataclass(frozen=True, slots=True)
class Specify(NoContext):
    asks: int
    prompt: str
    name: ClassVar[str] = "specify"
    version: ClassVar[int] = 1
    role: ClassVar[Role] = "checker"

    def settings(self) -> Mapping[str, Any]:
        return {"words": self.prompt}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        request = request_for(Specifications, self.prompt, [("statement", content["text"])], "Check this statement.")
        found = await ask_for(request, Specifications, ask, self.asks)
        for key, reason in (("independent", "not independent"), ("clear", "not clear"), ("concise", "not concise")):
            if not getattr(found, key):
                return Dropped(reason, found.reason)
        return Kept(content)


# Its false twin.

Strategy = Literal["concept", "causality", "detail", "time", "logic", "scope"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)


class Falsified(ReplyForm):
    strategy: Strategy
    transformed_content: Annotated[str, Field(min_length=1)]
    incorrect_reason: Annotated[str, Field(min_length=1)]


# The six kinds of error and five demands are those of the paper on Encyclo-K (3.1.2).
FALSIFY_PROMPT = """You turn a correct statement of a textbook into an incorrect one. Only those who understand \
it should notice.
- strategy: what you change: "concept" (one for another), "causality" (cause and effect), "detail" (a number, a unit, \
a condition), "time" (an order or a date), "logic" (a conclusion that does not follow) or "scope" (some for all, or \
the reverse).
- transformed_content: the incorrect statement. It is wrong beyond dispute, in the words, tone and form of the \
original, about as long, without contradicting itself. Its first line, the name, stays as it is. Do not merely deny it.
- incorrect_reason: what is wrong, and what it should be.
Keep the language."""

# What says of the statement itself that it is false, rather than say something false.
_WRONG = r"(?:false|untrue|incorrect|wrong|not (?:true|correct|right|the case))"
_CHANGED = r"(?:falsified|modified|altered|changed|fabricated|inverted)"
_TEXT_NAMES = r"(?:statement|version|text|sentence|claim|passage|twin)"
_SELF_DENIAL = re.compile(
    rf"\bit(?: is|'s) {_WRONG},? (?:that|to (?:say|claim|state))\b"
    rf"|\b(?:this|th(?:is|e|at)(?: (?:above|following|previous))? (?:statement|claim|assertion|sentence)) is {_WRONG}\b"
    rf"|(?:^|[.;:(] ?)that is {_WRONG}\b|[(\[]{_WRONG}[)\].!]|(?:^|\n|[.:] ){_WRONG} ?[:.!]"
    # Inside it, "(modified)" may belong to a term.
    rf"|[(\[](?:th(?:is|e) (?:{_TEXT_NAMES} )?(?:is|was) )?(?:{_WRONG}|{_CHANGED})(?: {_TEXT_NAMES})?[)\]][.!]?\s*$"
    rf"|^\s*[(\[]?(?:{_WRONG}|{_CHANGED})(?: {_TEXT_NAMES})?[)\]:]|[(\[](?:{_WRONG}|{_CHANGED}) {_TEXT_NAMES}[)\]]"
    r"|\bthe original (?:said|says|stated)\b"
    rf"|\b(?:the )?(?:original|correct) {_TEXT_NAMES} (?:is|was|has|had|said|says|states|stated|reads?)\b"
    rf"|\b{_CHANGED} from the original\b"
    r"|[(\[](?:falsch|verfälscht|gefälscht|geändert|verändert)[)\]]|\bim original (?:steht|stand|heißt|hieß)\b"
    r"|[(（\[【](?:错误|假|已?(?:篡改|修改|改动))(?:的?(?:陈述|说法|版本))?[)）\]】]|原(?:文|句|话)(?:是|为|说|写)"
    r"|\bes ist (?:falsch|nicht (?:wahr|richtig)),? dass\b|\bdiese (?:aussage|behauptung) ist (?:falsch|nicht wahr)\b"
    r"|(?:这|该|此|上述)(?:种|个)?(?:说法|陈述|命题|论断)?(?:是)?(?:错误|不正确|不对|假)的",
    re.IGNORECASE,
)
_DENIALS = re.compile(
    r"\b(?:not|no|never|nicht|nie|niemals|kein(?:e[mnrs]?)?)\b|并[不非]|没|不(?=[是会能得应必需])"
    # Behind a word it denies what is said of that; anywhere else it begins a term, as "un-" does: 不饱和脂肪酸.
    r"|(?<=[^\W的地得和与或及有含为是于由呈在对将把从以当若如其该此种类个])[不未非无]"
)
# "Needs no film" denies "needs a film".
_ARTICLES = re.compile(r"\b(?:an?|any|some|eine?[mnrs]?)\b")
# Verbs that come and go with a denial, and what they change of others: "does not boil", "boils".
_AUXILIARIES = re.compile(r"\b(?:do|does|did)\b|是")
_ENDING = re.compile(r"(?:ies|ied|y|e|s|d)+$")
_LONGEST_ENDING = 12
_DOUBLED = re.compile(r"([a-z])\1$")
SHORTEST, LONGEST = 0.5, 2.0
"""Of the correct statement's length."""


@dataclass(frozen=True)
class DropRepeats:
    """Drops a correct statement that says the same as an earlier one, also of another book."""

    name: ClassVar[str] = "deduplicate"
    version: ClassVar[int] = 1
    role: ClassVar[None] = None

    def settings(self) -> Mapping[str, Any]:
        return {}

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        first: dict[str, str] = {}
        for item, content in contents.items():
            first.setdefault(same_key(content["text"]), item)
        earlier = {item: first[same_key(content["text"])] for item, content in contents.items()}
        return {item: other for item, other in earlier.items() if other != item}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        return Dropped("duplicate", f"repeats {context}", context) if context else Kept(content)


@dataclass(frozen=True, slots=True)
class Falsify(NoContext):
    asks: int
    prompt: str
    name: ClassVar[str] = "falsify"
    version: ClassVar[int] = 6
    role: ClassVar[Role] = "writer"

    def settings(self) -> Mapping[str, Any]:
        return {"words": self.prompt}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        book = content["book"] or "not named"
        request = request_for(
            Falsified, self.prompt, [("book", book), ("statement", content["text"])], "Write the incorrect statement."
        )

        def faults(found: Falsified) -> list[str]:
            correct, reason = content["text"], found.incorrect_reason
            made_up = personal_faults("incorrect_reason", reason, correct)
            made_up += address_faults("incorrect_reason", reason, correct)
            return [*twin_faults(correct, found.transformed_content), *made_up]

        found = await ask_for(request, Falsified, ask, self.asks, faults)
        twin = {"text": found.transformed_content, "reason": found.incorrect_reason, "strategy": found.strategy}
        return Kept({**content, "false": twin})


_SAY_ELSE = "change what it says: another thing, number, condition, order, cause or scope in the place of one"


def twin_faults(correct: str, false: str) -> list[str]:
    """What is wrong with an incorrect statement beside the correct one, whatever it says."""
    faults = []
    if says_the_same(false, correct):
        faults.append(f"transformed_content: says the same as the correct statement; {_SAY_ELSE}")
    elif _denials(false) != _denials(correct) and _undenied(false) == _undenied(correct):
        faults.append(f"transformed_content: merely denies the correct statement; {_SAY_ELSE}")
    elif _SELF_DENIAL.search(_plain(false)) and not _SELF_DENIAL.search(_plain(correct)):
        faults.append(f"transformed_content: says of itself that it is false; {_SAY_ELSE}")
    if not SHORTEST * len(correct) <= len(false) <= LONGEST * len(correct):
        faults.append(
            f"transformed_content: has {len(false)} characters, and the correct statement {len(correct)};"
            f" write {ceil(SHORTEST * len(correct))} to {floor(LONGEST * len(correct))}"
        )
    if named_and_said(false)[0] != named_and_said(correct)[0]:
        faults.append("transformed_content: its first line, the name, is another; repeat it as it is")
    faults += unseen_faults("transformed_content", false, correct)
    faults += personal_faults("transformed_content", false, correct)
    faults += address_faults("transformed_content", false, correct)
    if another_language(false, correct):
        faults.append("transformed_content: is in another language; keep that of the correct statement")
    return faults


def named_and_said(text: str) -> tuple[str, str]:
    """A statement's name, with its colon, and what it says. "" where the first line is no name."""
    name, _, said = map(str.strip, text.partition("\n"))
    return (name, said) if said and name.endswith((":", "：")) else ("", text.strip())


def set_alike(correct: str, false: str) -> tuple[str, str]:
    """Both as they are, where they have the same blanks, ends of lines and signs that nobody sees; else as far apart
    from that as it takes: a pair has to differ in what it says alone."""
    correct, false = ("\n".join(map(str.rstrip, text.strip().splitlines())) for text in (correct, false))
    for form in (str, _with_single_blanks, _in_one_line):
        pair = form(correct), form(false)
        if _blanks(pair[0]) == _blanks(pair[1]):
            break
    return pair


def _blanks(text: str) -> tuple[Counter[str], frozenset[str]]:
    return Counter(re.findall(r"\s{2,}|[^\S ]", text)), unseen_in(text)


def _with_single_blanks(text: str) -> str:
    lines = (" ".join(line.split()) for line in without_unseen(text).splitlines())
    return "\n".join(filter(None, lines))


def _in_one_line(text: str) -> str:
    """Below its name."""
    return "\n".join(filter(None, (" ".join(part.split()) for part in named_and_said(without_unseen(text)))))


def _plain(text: str) -> str:
    """Without contractions: "isn't" is "is not"."""
    text = text.casefold().replace("’", "'")
    for short, whole in (("can't", "can not"), ("cannot", "can not"), ("won't", "will not"), ("shan't", "shall not")):
        text = text.replace(short, whole)
    return re.sub(r"n't\b", " not", text)


def _denials(text: str) -> int:
    text, of_itself = _SELF_DENIAL.subn(" ", _plain(text))
    return of_itself + len(_DENIALS.findall(text))


def _undenied(text: str) -> str:
    """The words without what denies, and the verbs, articles and endings that go with it."""
    text = _plain(normal(text))
    for gone in (_SELF_DENIAL, _DENIALS, _AUXILIARIES, _ARTICLES):
        text = gone.sub(" ", text)
    return "".join(map(_stem, re.findall(r"\w+", same_key(text))))


def _stem(word: str) -> str:
    head, tail = word[:-_LONGEST_ENDING], word[-_LONGEST_ENDING:]
    return _DOUBLED.sub(r"\1", f"{head}{_ENDING.sub('', tail)}")


@dataclass(frozen=True)
class CheckTwin:
    """Drops an incorrect statement that is one of the `correct` ones, by id, also where that one was dropped or waits,
    or was mended; or of which there are two. As `distinct` it looks at what people mended."""

    correct: Callable[[], Mapping[str, Content]]
    name: str = "check"
    version: ClassVar[int] = 4
    role: ClassVar[None] = None

    def settings(self) -> Mapping[str, Any]:
        return {}

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        correct = {same_key(content["text"]): item for item, content in (*contents.items(), *self.correct().items())}
        seen: dict[str, str] = {}
        found = dict[str, tuple[str, ...]]()
        for item, content in contents.items():
            false = same_key(content["false"]["text"])
            if false in correct:
                found[item] = "equals a correct statement", f"that of {correct[false]}"
            elif false in seen:
                found[item] = "is there twice", f"also as that of {seen[false]}", seen[false]
            seen.setdefault(false, item)
        return found

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        return Dropped(*context) if context else Kept(content)
