"""Takes out letters that a reply names and denies in one breath: "I do not think the answer is (B)"."""

import re

DENIED = "# not"
"""It denies, as did what it stands for: the text of an option in the same sentence is no answer either."""

_DOUBT = (
    r"(?:(?:\bnot|n['’]t|\bnever)\s(?:think|believe|say|sure|certain|convinced|clear|likely|true)|\bunlikely|\bdoubt|\bwhether|\bif)"
    r"(?:\s(?:that|if|whether))?(?:\sthe)?(?:\s(?:correct|right|best|final))?\s(?:answer|option|choice)"
    r"\s(?:is|was|were|(?:could|would|should|must)\sbe)\s"
)
_WRONG = r"(?:wrong|incorrect|false|not\s(?:the\s)?(?:correct|right|true)(?:\s(?:answer|option|choice|one))?)"
# What follows is the end of the denial: "but it is wrong to conclude" denies something else.
_DENIAL = re.compile(
    rf"(?i:{_DOUBT})[(\[]?[A-Z](?![\w'’])[)\]]?"
    r"|(?<!\w)(?P<letter>[A-Z])[)\]]?[.,]?\s(?i:but|though|although|however|yet),?\s"
    rf"(?i:it|this|that|(?:option\s)?[(\[]?(?-i:(?P=letter))[)\]]?)(?i:['’]s|\sis|\swas|\swould\sbe)\s(?i:{_WRONG})"
    r"(?=[.,;:!\n]|$|\s(?:because|since|as)\b)"
)


def without_denials(text: str) -> str:
    """The text with a mark in place of each letter that its own sentence, or one that begins with "but", takes back."""
    return _DENIAL.sub(DENIED, text)
