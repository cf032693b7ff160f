"""Zero-width joiners that are spelling, brought past extractors that drop every invisible character.

In Persian and in the scripts of India they decide how a word is written, and in emoji what it shows. Elsewhere
(soft hyphens, zero-width blanks) they are no text, and go.
"""

import re

_JOINER = re.compile("(?<=[\u0600-\u08ff\u0900-\u0dff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]")
_REFERENCE = re.compile("&(?:(zwnj|#8204|#x200c)|zwj|#8205|#x200d);", re.IGNORECASE)
# Letters of a script that no page is written in.
_STAND_INS = {"\u200c": "\U00010300", "\u200d": "\U00010301"}
_BACK = str.maketrans({stand_in: joiner for joiner, stand_in in _STAND_INS.items()})


def joiners_hidden(html: str) -> str:
    """With a letter in the place of each joiner."""
    html = _REFERENCE.sub(lambda reference: "\u200c" if reference[1] else "\u200d", html)
    return _JOINER.sub(lambda joiner: _STAND_INS[joiner[0]], html.translate(_BACK))


def joiners_back(text: str) -> str:
    """What `joiners_hidden` hid, character by character, so that places in the text stay what they are."""
    return text.translate(_BACK)
