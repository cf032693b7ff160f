"""Letters that a reply names and takes back in one breath, and letters that it puts in their place.

"I do not think the answer is (B)", "the wrong answer is C", "those who say that C is right": none is its answer.
"""

import re

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
_TURN = rf"(?:but|though|although|however|yet|(?:{_INTERJECTION},?\s){{0,2}}{_INTERJECTION})"
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
    rf"(?<!\w)(?P<letter>[A-Z])[)\]]?[.,;!…—–-]{{0,3}}\s{{1,3}}(?i:{_TURN})[,.]?\s"
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
