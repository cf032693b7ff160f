"""Letters of options in a reply: how they are written, judged and denied."""

import re
from collections.abc import Mapping

from toolablate.benchmarks.answer_extraction.announcements import (
    TOLD_APART,
    ExtractedAnswer,
    before_another_question,
    is_complete,
    match_text,
    normalised_choice,
)

BRACKETED = re.compile(
    r"[(\[{<]\s?(?:(?P<letter>[A-Z])\s?[)\]}>](?![a-z])|(?P<small>[a-z])\s?[)\]}>](?=[.,;\s]{0,3}(?:$|\n)))"
)
HEDGE = re.compile(r"\bor\b|或", re.IGNORECASE)

_OPENING = re.compile(r"[(\[{<\"'“‘「『\s]+")
_RUN = re.compile(r"([A-Z]{2,26}|[A-Z](?: [A-Z]){1,25})(?=\s*(?:$|\n|[.,;!?)\]}>\"'”’」』]))")
_BARE = re.compile(
    r"(?P<letter>[A-Z])(?![A-Za-z0-9'’^\\]|_(?!_{0,2}(?:[^\w({]|$))|-\w|\s?[=≈]|\s?<(?!/)|[/+]\s?[a-z0-9]|\([a-z]\))"
    r"|(?P<small>[a-z])(?=\s*[.)\]}]*\s*(?:$|\n))"
)
# Small letters are letters where they fill the line: "a, c".
_SMALL = r"[(\[\"'“]?[a-z][)\]\"'”]?"
_SMALL_LIST = re.compile(
    rf"(?P<letters>{_SMALL}(?:(?:\s?[,;、/&+]\s?(?:and\s|or\s)?|\s(?:and|or)\s|\s?[和与及或]\s?|\s)(?:{_SMALL})){{1,25}})"
    r"(?=[\s.)\]}]{0,8}(?:$|\n)|,?\s(?:because|since)\b)"
)
_SEPARATOR = re.compile(
    r"[\s)\]}>\"'”’」』]{0,4}(?:,\s{0,2}(?:and|or|以及)?|;|、|/|&|\+|\band\b|\bor\b|以及|和|与|及|或)\s{0,2}"
    r"(?:both\s|options?\s|choices?\s|选项)?[\"'“‘「『]?",
    re.IGNORECASE,
)
_LONE_SMALL = re.compile(r"(?<![a-z])[a-z](?![a-z])")
_PART = re.compile(r"(?<!\w)[a-z]\)")
_NEXT_WORD = re.compile(r"[ \t]+([A-Za-z][a-z]*)")
# fmt: off
_CONNECTIVES = frozenset((
    "and", "or", "because", "since", "as", "for", "is", "are", "was", "which", "that", "in", "due", "with", "given",
    "from", "but", "if", "when", "where", "while", "so", "only", "at", "by", "on", "of", "not", "rather", "based",
    "according", "who", "the", "this", "it", "i",
))
# fmt: on


def match_letters(head: str, texts: Mapping[str, str]) -> tuple[list[str], int]:
    """The letters at the beginning, in the order given, and how many characters they take; none is ([], 0).

    `texts` are the normalised choices by letter: "B cells" is letter B only where the text of B begins so.
    """
    run = _RUN.match(head, _after_opening(head, 0))
    if run and _is_run(run.group(1), texts):
        return list(run.group(1).replace(" ", "")), run.end()
    small = _SMALL_LIST.match(head)
    if small and not (")" in small[0] and any(_PART.search(text) for text in texts.values())):
        return [letter.upper() for letter in _LONE_SMALL.findall(small["letters"])], small.end()
    found: list[str] = []
    position = end = 0
    while match := _match_one(head, position, texts, first=not found):
        found.append((match["letter"] or match["small"]).upper())
        end = match.end()
        separator = _SEPARATOR.match(head, end)
        if separator is None:
            break
        position = separator.end()
    return found, end


def _is_run(run: str, texts: Mapping[str, str]) -> bool:
    letters = run.replace(" ", "")
    return len(set(letters)) == len(letters) and (not texts or set(letters) <= set(texts))


def _after_opening(head: str, position: int) -> int:
    opening = _OPENING.match(head, position)
    return opening.end() if opening else position


def _match_one(head: str, position: int, texts: Mapping[str, str], *, first: bool) -> re.Match[str] | None:
    if bracketed := BRACKETED.match(head, position):
        return bracketed
    match = _BARE.match(head, _after_opening(head, position))
    if match is None or match["small"] or _is_letter(match["letter"], head, match.end(), texts, first=first):
        return match
    return None


def _is_letter(letter: str, head: str, end: int, texts: Mapping[str, str], *, first: bool) -> bool:
    """Whether a capital is a letter of a choice rather than an article, a pronoun or a name ("A bird", "B cells")."""
    word = _NEXT_WORD.match(head, end)
    if word is None:
        return True
    if word.group(1) in _CONNECTIVES:
        return first or letter not in "AI"
    own_text = texts.get(letter, "")
    if own_text and normalised_choice(head[end : end + 40]).startswith(own_text[:TOLD_APART]):
        return True
    return word.group(1)[0].isupper() and letter not in "AI"


# Letters that a reply names and takes back in one breath, and letters that it puts in their place.


DENIED = "# not"
"""It denies, as did what it stands for: the text of an option in the same sentence is no answer either."""

_LETTER = r"[(\[]?[A-Z](?![A-Za-z0-9_'’])[)\]]?"
_LONE_LETTER = r"[(\[]?[A-Z][)\]]?(?:[.,;!\n]|\s{0,8}$)"
_IS = r"(?:is|was|were|(?:could|would|should|must)\sbe)"
_DOUBT = (
    r"(?:(?:\bnot|n['’]t|\bnever)\s(?:think|believe|say|sure|certain|convinced|clear|likely|true)"
    r"|\bunlikely|(?<!\bno\s)(?<!to\s)\bdoubt|\bwhether|\bif|\b(?:first|initially|originally)\s(?:thought|believed|assumed|said))"
    r"(?:\s(?:that|if|whether))?"
)
_OTHERS = (
    r"\b(?:those|people|anyone|someone|somebody|everyone|some|many|others|critics|they|he|she|one\s(?:may|might|could)"
    r"|(?:author|speaker|writer|teacher|student|friend)s?)"
    r"(?:\s[\w'’]{1,14}){0,3}?"
    r"\s(?:say|says|said|think|thinks|thought|believe[sd]?|claim(?:s|ed)?|argue[sd]?|assume[sd]?|suppose[sd]?|guess(?:ed)?)"
    r"(?:\sthat)?"
    r"|\b(?:mistake|error|wrong|incorrect|mistaken|tempting|misleading)(?:\s(?:is|was|would\sbe))?"
    r"\sto\s(?:say|think|believe|claim|assume|conclude)(?:\sthat)?"
)
_ANSWER_IS = rf"(?:\sthe)?(?:\s(?:correct|right|best|final))?\s(?:answer|option|choice)\s{_IS}\s"
_CALLED_RIGHT = rf"\s(?:(?:option|choice|answer)\s)?(?-i:{_LETTER})\s{_IS}\s(?:the\s)?(?:correct|right|best|answer)\b"
_WRONG = r"(?:wrong|incorrect|false|not\s(?:the\s)?(?:correct|right|true)(?:\s(?:answer|option|choice|one))?)"
_INTERJECTION = r"(?:no|wait|actually|hmm|hold\son|sorry)"
_TURN_OF_SPEECH = rf"(?:but|though|although|however|yet|(?:{_INTERJECTION},?\s){{0,2}}{_INTERJECTION})"
# What follows is the end of the denial: "but it is wrong to conclude" denies something else.
_THERE = r"(?=[.,;:!\n]|$|\s(?:because|since|as)\b)"

_DENIALS = (
    rf"(?i:(?:{_DOUBT}|{_OTHERS})(?:{_ANSWER_IS}(?-i:{_LETTER})|{_CALLED_RIGHT}))",
    rf"(?i:\b(?:wrong|incorrect|false)\s(?:answer|choice)\s{_IS}\s){_LETTER}",
    r"(?i:\b(?P<answer>answer)(?:\s(?:(?:is|was|would|could|should|can)"
    r"(?:(?:\s(?:definitely|certainly|clearly|surely|obviously|probably|therefore))?\snot|n['’]t)"
    rf"|cannot|can['’]t)|\s?[:=]\s{{0,2}}not)\s(?:be\s)?(?:option\s)?){_LETTER}",
    rf"(?i:\b(?:answer|option|choice)\s(?:could|might|may)\sbe\s(?:option\s)?){_LETTER}",
    rf"(?i:\banswer\s(?:is|was|be)\s(?:option\s)?){_LETTER}(?=\s?\?)",
    rf"(?<!\w)(?P<letter>[A-Z])[)\]]?[.,;!…—–-]{{0,3}}\s{{1,3}}(?i:{_TURN_OF_SPEECH})[,.]?\s"
    rf"(?i:(?:it|this|that|(?:option\s)?[(\[]?(?-i:(?P=letter))[)\]]?)(?:['’]s|\sis|\swas|\swould\sbe)\s{_WRONG}){_THERE}",
    rf"(?<!\w)[A-Z][)\]]?[.!]\s{{1,3}}(?i:(?:{_INTERJECTION},?\s)?(?:this|that)(?:['’]s|\sis|\swas)\s{_WRONG}){_THERE}",
    rf"(?<!\w)[A-Z][)\]]?\s\((?i:{_WRONG})\)",
    rf"(?P<chinese>答案|选项)?(?:不(?:是|为|选|应选|应该是|可能是|会是)|并非|绝不是)\s?{_LETTER}(?=\s?(?:[.,;!\n而]|$))",
    r"(?:(?:有人|有些人|很多人|不少人|许多人|他们|不|如果|假如|若|是否)(?:会|可能)?(?:认为|觉得|说)?(?:正确)?|错误的?)"
    rf"(?:答案|选项)(?:是|为)\s?{_LETTER}",
)
_DENIAL = re.compile("|".join(_DENIALS))

_SECOND_THOUGHT = (
    r"(?:actually|wait|sorry|correction|hmm|hold\son|scratch\sthat|make\sthat|I\smean|on\ssecond\sthoughts?"
    r"|no(?=\s?[,.:—–-]|\swait\b))"
)
_INSTEAD = (
    r"(?i:(?:but|so|and|hence|rather|instead|it|this|that|is|it['’]s|must|should|be|actually|option|the|right|correct"
    r"|answer|one)[\s,]{1,2})|[而应该是选为项]"
)
_CORRECTIONS = (
    rf"{DENIED}[,;.:!]?\s?(?:{_INSTEAD}){{1,8}}(?={_LONE_LETTER})",
    rf"(?<=[.!?,;)\n—–-])\s{{0,2}}(?:(?i:{_SECOND_THOUGHT}(?:\sno)?)[\s,.:;!—–-]{{1,3}}){{1,4}}"
    rf"(?i:(?:it|this|that)(?:['’]s|\s(?:is|must\sbe|should\sbe))\s)?(?i:(?:option|choice|answer)\s)?(?={_LONE_LETTER})",
    rf"(?:不对|错了|等等|更正)[,.:!]?\s?(?:(?:更正[:,]?|应该?|选项?|是|为)\s?){{0,3}}(?={_LONE_LETTER})",
)
CORRECTION = re.compile("|".join(_CORRECTIONS))
"""Announces what takes a letter's place: "Answer: C. Actually no, D.", "the answer is not A, but B"."""


_OTHER = re.compile(rf"[,;]?\s{{0,3}}\(?(?:and\s|but\s)?(?:not|rather\sthan|instead\sof)\s{_LETTER}\)?")


def without_contrasts(text: str) -> str:
    """The text without the letters that it sets the answer apart from: "B (not D)", "B rather than D"."""
    return _OTHER.sub("", text)


def without_denials(text: str) -> str:
    """The text with a mark in place of each letter that its own sentence, or one that begins with "but", takes back."""
    return _DENIAL.sub(_mark, text)


def _mark(match: re.Match[str]) -> str:
    # The announcement stays: what follows a denied letter may be the answer.
    return f"{match['answer']} is {DENIED}" if match["answer"] else f"{match['chinese'] or ''}{DENIED}"


# Reads the letters of choices from what follows an announcement.


NONE_FITS = "the reply says that no choice fits"

_DECORATION = re.compile(r"(?:[\s:=>~\"'“”‘’_]|[-–—](?!\S))+")
_LEAD = re.compile(
    r"(?:\\f?boxed\s?\{|(?:the\s)?(?:options?|choices?|letters?|answers?)\b|both\b|either\b|(?:most\s)?likely\b|probably\b|clearly\b"
    r"|therefore\b|thus\b|indeed\b|actually\b|really\b|perhaps\b|maybe\b|in\sfact\b"
    r"|(?:indicated|represented|given)\sby\b|选项|选择|应该|应|选|是|为)[\s,:]*",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"[(\[\"' ]{0,3}(?:n/?a\b|none\b|neither\b|nothing\b|unknown\b|undefined\b|undetermined\b|cannot\b|can't\b"
    r"|impossible\b|unable\b|(?:not|no)\s(?:\w{1,12}\s)?"
    r"(?:listed|given|provided|among|in|present|available|included|shown|one|any|possible|answer)\b|没有|无法|不存在)",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:but|however|although|though)\b|但|不过", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|neither|nor|except|incorrect|wrong|instead|than)\b|n't\b|不|非|错", re.IGNORECASE)
_NONE_AFTER_ALL = re.compile(
    r"\b(?:none|neither|no\s(?:option|choice|answer)|wrong|incorrect|not\s(?:correct|right))\b", re.IGNORECASE
)
_CLOSEST = re.compile(r"\bclosest\s(?:(?:option|choice|answer|value|one)\s)?(?:to|is|would\sbe)\s", re.IGNORECASE)
_NEXT_PART = re.compile(r"[)\].\s]{0,6}(?:for\s(?:part\s)?)?\(?[b-e]\)\s", re.IGNORECASE)
_FURTHER = re.compile(
    r"[)\]]?,?\s(?:for|which)\b[^()\[\]\n]{1,160}?(?<!\.),?\s(?P<joint>and|or)\s[(\[](?P<letter>[A-Z])[)\]]"
)
_CONDITIONAL = re.compile(
    r"[)\]]?,?\s(?:if|when|unless)\b[^()\[\]\n]{1,160}?\s(?:and|or|but|otherwise|else)\s(?:it\s(?:is|would\sbe)\s)?"
    r"[(\[]?(?P<letter>[A-Z])[)\]]?(?=\s(?:if|when|otherwise)\b|[.,;\n]|$)"
)
_OR_ELSE = re.compile(r"[)\]]?,?\sor\s[(\[]")
_SMALL_IN_BRACKETS = re.compile(r"[(\[](?P<letter>[a-z])[)\]]\s")
_SMALL_LETTERED = re.compile(r"(?P<letter>[a-z])[).:]\s{1,2}(?=\S)")
_LETTERED_TEXT = re.compile(r"[)\]]?(?:[.:]\s|\)\s?)(?P<text>\S[^\n]{0,80})")
_WORD = re.compile(r"\w+")


def read_head(head: str, allowed: str, texts: Mapping[str, str]) -> ExtractedAnswer | None:
    """Reads what follows an announcement; None where that is prose that decides nothing."""
    refused = _REFUSAL.match(head) is not None
    spelled = match_text(head, texts)
    found, length = ([], 0) if refused else match_letters(head, texts)
    if not (found or refused):
        found, length = _match_small(head, texts)
    # "AB" may be two letters or a blood group; a single letter is always a letter.
    if spelled and spelled[1] >= length + (len(found) == 1):
        return ExtractedAnswer((spelled[0],))
    if found:
        further = _FURTHER.match(head, length) if len(found) == 1 else None
        if further:
            return judged([*found, further["letter"]], further["joint"], allowed)
        other = _CONDITIONAL.match(head, length)
        if other and other["letter"] != found[0]:
            return ExtractedAnswer(None, f"undecided between {found[0]} and {other['letter']}")
        if _OR_ELSE.match(head, length):
            return ExtractedAnswer(None, f"undecided between {found[0]} and something else")
        return judged(found, head[:length], allowed)
    aside = _read_aside(head.partition("\n")[0], allowed, texts)
    return ExtractedAnswer(None, NONE_FITS) if refused and aside is None else aside


def read_part(head: str, texts: Mapping[str, str]) -> str | None:
    """The letter that a head gives for one part of the question only: the next part begins right after it."""
    found, length = match_letters(head, texts)
    return found[0] if len(found) == 1 and _NEXT_PART.match(head, length) else None


def is_foreign(head: str, letter: str, texts: Mapping[str, str]) -> bool:
    """Whether a letter stands there with a text that shares no word with the letter's choice ("C. 15 N").

    It then belongs to another question, which the reply went on to; or the reply took the wrong letter.
    """
    _, length = match_letters(head, texts)
    lettered = _LETTERED_TEXT.match(head, length) if head[:length].rstrip(")]").endswith(letter) else None
    if lettered is None or not texts.get(letter):
        return False
    words, own = (set(_WORD.findall(text)) for text in (lettered["text"].casefold(), texts[letter]))
    return bool(words) and not words & own


def undecorated(head: str) -> str:
    for _ in range(8):
        start = len(head)
        for pattern in (_DECORATION, _LEAD):
            if match := pattern.match(head):
                head = head[match.end() :]
        if len(head) == start:
            break
    return head


def judged(found: list[str], wording: str, allowed: str) -> ExtractedAnswer:
    beyond = next((letter for letter in found if letter not in allowed), None)
    if beyond is not None:
        return ExtractedAnswer(None, f"the answer {beyond} is none of {allowed[0]} to {allowed[-1]}")
    letters = tuple(sorted(set(found)))
    if len(letters) > 1 and HEDGE.search(wording):
        return ExtractedAnswer(None, f"undecided between {' and '.join(letters)}")
    return ExtractedAnswer(letters)


def _match_small(head: str, texts: Mapping[str, str]) -> tuple[list[str], int]:
    """A small letter before the text of its choice; or in brackets, unless the choices use such letters for parts of
    their own ("(a) 2 m, (b) 3 m")."""
    lettered = _SMALL_LETTERED.match(head)
    if lettered and (letter := lettered["letter"].upper()) in texts:
        own = match_text(head[lettered.end() :], {letter: texts[letter]})
        return ([letter], lettered.end()) if own else ([], 0)
    small = _SMALL_IN_BRACKETS.match(head)
    if small is None or any(f"{small['letter']})" in text for text in texts.values()):
        return [], 0
    return [small["letter"].upper()], small.end()


def _read_aside(line: str, allowed: str, texts: Mapping[str, str]) -> ExtractedAnswer | None:
    """A single bracketed letter further on: "12 minutes (F)", "not listed, but closest to (B)" or to the text of B."""
    turns = list(_TURN.finditer(line))
    # A remark may follow: "not listed, but closest to (B). However, that is not exact."
    named = next((turn for turn in reversed(turns) if BRACKETED.search(line, turn.end())), None)
    if named and _NONE_AFTER_ALL.search(line, turns[-1].end()):
        return None
    for turn in turns[-1:]:
        line = line[(named or turn).end() :]
    closest = _CLOSEST.search(line)
    if closest and (spelled := match_text(line[closest.end() :], texts)):
        return ExtractedAnswer((spelled[0],))
    # Braces are LaTeX's: "21.4 ^{\\circ} {C}" names no choice.
    brackets = [match for match in BRACKETED.finditer(line) if match["letter"] and match[0][0] in "(["]
    letters = {match["letter"] for match in brackets}
    if len(letters) != 1 or not letters <= set(allowed) or _NEGATION.search(line[: brackets[0].start()]):
        return None
    return ExtractedAnswer((letters.pop(),))


# Reads letters that a reply calls right without announcing an answer: "option C is correct", "I choose (C)".


_RIGHT = (
    r"(?:the\s)?(?:most\s|only\s)?(?:correct|right|best|appropriate|accurate|true|closest|(?<=the\s)answer)\b"
    # Not for itself: "correct only if", "the closest to being wrong".
    r"(?!\s(?:only\s)?(?:if|except|unless|to\sbeing)\b)"
)
_SURELY = r"(?:(?:therefore|thus|indeed)\s)?"
# Bare, a letter is an option's only where it begins a clause: "vitamin C is the best" names none.
_CLAUSE = r"(?:^|[.,;:!?*-]\s{0,2}|\b(?:[Ss]o|[Tt]hus|[Tt]herefore|[Hh]ence|that|think|believe|conclude)\s)"
# "Choose C = 5", "choose A or B".
_CHOSEN = r"(?![\w'’-]|\)?\s?[=≈<>/]|\)?,?\s(?:to\sbe|such|so\sthat|from|or|and)\b)"
_LOOSE = re.compile(
    rf"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Ss]tatement)\s\(?([A-Z])\)?,?\s(?:is|as)\s{_SURELY}{_RIGHT}"
    rf"|(?<!\w)\(([A-Z])\)\sis\s{_SURELY}{_RIGHT}"
    rf"|{_CLAUSE}([A-Z])\sis\s{_SURELY}{_RIGHT}"
    rf"|\b(?:choose|select|pick|chose|selected|go\swith)\s(?:option\s|choice\s|answer\s)?\(?([A-Z]){_CHOSEN}"
    r"|(?<![和与及或、])([A-Z])\s?(?:选?项)?(?:是|为)?(?:正确|对)(?:(?:的|答案|选项)|(?=[\s.,;!]|$))",
    re.MULTILINE,
)
# What is like an option may be anything that is talked about, and is the answer only where the reply comes to its end.
_LIKE = re.compile(
    r"\b(?:corresponds?|corresponding|equivalent|closest)\sto\s(?:option|answer|choice)\s\(?([A-Z])(?![\w'’-])"
    r"|\b(?:aligns\swith|matches|(?:is|be))\s(?:option|answer|choice)\s\(([A-Z])\)"
    r"|\bas\s(?:stated|described|mentioned|given|shown|listed|indicated|suggested|explained|noted|outlined|seen)\s(?:in|by)\s"
    r"(?:option|answer|choice)\s\(?([A-Z])(?![\w'’-])"
    r"|对应的?(?:是|为)?(?:选项|答案)(?:是|为)?\s?\(?([A-Z])(?![A-Za-z])"
)
# "The stage is: J. Resolution": the text of the letter's own choice has to follow.
_LETTERED = re.compile(r"\b(?:the|is|be|was|as|called):?\s{1,3}[(\[]?(?P<letter>[A-Z])[)\].:]{1,2}\s{1,3}(?=\S)")
_LISTED = re.compile(r"\b(?:options|choices|statements|first|next)\b", re.IGNORECASE)
_CLOSING = re.compile(r"\b(?:is|are|was|were|be|as|or\sanswer)\s\(([A-Z])\)(?=[\s.,:]|$)")
_ASSESSED = re.compile(
    r"(?<!\w)\(?([A-Z])\)?\s(?:is|are|was|would\sbe)\s(?:not\s)?(?:in)?(?:correct|right|wrong|false|true)\b"
)
_DENIED = re.compile(r"\b(?:not|incorrect|wrong|false|less)\b|n't\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_LAST_SENTENCES = 3


def read_loose(text: str, allowed: str, texts: Mapping[str, str]) -> ExtractedAnswer | None:
    """Weaker announcements: "option C is correct", "I choose (C)", "the best explanation is (C)." at the very end, "it
    is C. Wheat" with the text of the choice.

    Several letters that are called right stand beside each other, and none is the answer. A reply that broke off while
    it went through the options might have called more of them right.
    """
    text = before_another_question(text)
    last = _closing(text.rpartition("\n")[2])
    if last is not None:
        return judged([last[1]], "", allowed)
    found = list(_LOOSE.finditer(text))
    letters = sorted({letter for match in found for letter in match.groups() if letter})
    if not letters:
        like = next(_LIKE.finditer(text, _start_of_last(text)), None)
        return (
            judged([letter for letter in like.groups() if letter], "", allowed) if like else _read_lettered(text, texts)
        )
    if len(letters) > 1:
        return ExtractedAnswer(None, f"the reply calls several letters right: {', '.join(letters)}")
    if not is_complete(text) and _ASSESSED.search(text, found[-1].end()):
        return None
    return judged(letters, "", allowed)


def _read_lettered(text: str, texts: Mapping[str, str]) -> ExtractedAnswer | None:
    """The one letter that stands beside the text of its choice, in the last sentences."""
    found: set[str] = set()
    for match in list(_LETTERED.finditer(text, _start_of_last(text)))[-len(texts) :]:
        letter, own = match["letter"], texts.get(match["letter"], "")
        before = text[max(0, match.start() - 100) : match.start("letter")].rpartition(". ")[2]
        if not own or not normalised_choice(text[match.end() : match.end() + 100]).startswith(own[:TOLD_APART]):
            continue
        if _DENIED.search(before) or _LISTED.search(before) or _is_contested(letter, text[match.end() :]):
            return None
        found.add(letter)
    return ExtractedAnswer((found.pop(),)) if len(found) == 1 else None


def _start_of_last(text: str) -> int:
    """Where the last sentences begin: the answer, and perhaps a remark on it."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return ends[-_LAST_SENTENCES] if len(ends) >= _LAST_SENTENCES else 0


def _closing(line: str) -> re.Match[str] | None:
    """The last "is (C)" of a line, unless its sentence has another or a later one supports another letter."""
    found = list(_CLOSING.finditer(line))[-2:]
    if not found or _is_contested(found[-1][1], line[found[-1].end() :]):
        return None
    before, last = found[0], found[-1]
    if before[1] != last[1] and not _SENTENCE_END.search(line, before.end(), last.start()):
        return None
    return last


def _is_contested(letter: str, rest: str) -> bool:
    """Whether a later sentence supports another letter."""
    for sentence in _SENTENCE_END.split(rest):
        others = {bracket["letter"] for bracket in BRACKETED.finditer(sentence)} - {letter, None}
        if others and not _DENIED.search(sentence):
            return True
    return False
