"""What a question asks in general (for all, whether there is one, a limit, a proof, an extreme), and up to where."""

import re

ASKING = 1_200
"""Characters of the end of a prompt in which a question asks; what stands before them is told."""

_ENGLISH = (
    r"for\s(?:all|every|any|each)|every|there\s(?:exists?|is\sno|are\s(?:no|infinitely))|exists?|existence"
    r"|pro(?:ve|of|ved)|infinite(?:ly)?|infinity|limits?|limiting|converge(?:s|nt|nce)?|diverge(?:s|nt|nce)?|asymptotic(?:ally)?"
    r"|always|never|minimum|minimal|minimi[sz]e[sd]?|maximum|maximal|maximi[sz]e[sd]?|supremum|infimum|smallest|largest"
    r"|necessary|sufficient|all\s(?:positive|natural|real|integers?|primes?|n|x|such)"
)
_CHINESE = (
    r"所有|任意|任何|对一切|每[个一]|存在|证明|无穷|无限|极限|收敛|发散|渐近|恒|总是|最小|最大|充分|必要|上确界|下确界"
)
_GENERAL = re.compile(rf"\b(?:{_ENGLISH})\b|{_CHINESE}", re.IGNORECASE)
# What is said of the form of the answer asks nothing.
_FORM = re.compile(
    r"\b(?:all\s(?:that\sapply|of\sthe\s(?:above|following)|right\schoices)|every\s(?:option|statement|correct))\b|所有正确",
    re.IGNORECASE,
)
_MOST = 8
_BOUND = re.compile(
    r"(?:\b(?:up\sto|at\smost|no\smore\sthan|exceed(?:ing)?|less\sthan|fewer\sthan|below|under|to|and|through|until|first)"
    r"|≤|<=?|\\leq?(?:slant)?|\\l?dots,?|\.\.\.,?|…,?|前|到|至|不超过|小于|不大于)[\s$]{0,3}"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,5}|\d{1,15})(?:\^\{?(?P<power>\d{1,2}))?",
    re.IGNORECASE,
)


def general_words(prompt: str) -> tuple[str, ...]:
    """In their order, lower-cased, each once and the first few alone."""
    asking = _FORM.sub(" ", prompt[-ASKING:])
    found = (" ".join(match[0].lower().split()) for match in _GENERAL.finditer(asking))
    return tuple(dict.fromkeys(found))[:_MOST]


def bounds(prompt: str) -> frozenset[int]:
    """The numbers up to which a question asks ("n up to 1,000", "1 ≤ n ≤ 10^6"), and both neighbours of each, since a
    loop may leave the last one out."""
    found: set[int] = set()
    for match in _BOUND.finditer(prompt):
        base, power = int(match["digits"].replace(",", "")), int(match["power"] or 1)
        if power == 1 or base <= 10:
            found.add(base**power)
    return frozenset(near for bound in found for near in (bound - 1, bound, bound + 1))
