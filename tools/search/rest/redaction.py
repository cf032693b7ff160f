"""Takes a key out of what comes back, however a service spells it."""

import base64
import re
from dataclasses import replace

from toolablate.tools.search.rest.client import ApiReply
from toolablate.traces.records import SearchResult

_SHOWN = "[key]"
# Services put what they found between tags, and some take it out of the text again.
_EMPHASIS = r"(?:<\\*/?[a-z]{1,10}>){0,2}"


class Redaction:
    """Replaces a key as it is, and as JSON, URLs, HTML and Base64 write it, each character in a way of its own."""

    def __init__(self, key: str) -> None:
        self._spellings = _spellings(key) if key else None

    def text(self, text: str) -> str:
        if self._spellings is None:
            return text
        # UTF-16 and UTF-32, in which JSON may come too, put zeros between the characters of a key.
        if "\0" in text and self._spellings.search(joined := text.replace("\0", "")):
            text = joined
        return self._spellings.sub(_SHOWN, text)

    def reply(self, reply: ApiReply) -> ApiReply:
        headers = {name: self.text(value) for name, value in reply.headers.items()}
        # As Latin-1, in which every byte is one character, whatever the encoding.
        body = self.text(reply.body.decode("latin-1")).encode("latin-1")
        return replace(reply, headers=headers, body=body)

    def result(self, result: SearchResult) -> SearchResult:
        """What is undone in reading a result, such as entities or the spelling of an address, can uncover a key."""
        texts = {name: self.text(getattr(result, name)) for name in ("url", "canonical_url", "title", "snippet")}
        return result.model_copy(update=texts)


def _spellings(key: str) -> re.Pattern[str]:
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    urlsafe = encoded.translate(str.maketrans("+/", "-_"))
    as_bytes = key.encode().decode("latin-1")
    spelt = [_EMPHASIS.join(map(_spelling, written)) for written in dict.fromkeys((key, as_bytes))]
    return re.compile("|".join([*spelt, re.escape(encoded), re.escape(urlsafe)]))


def _spelling(character: str) -> str:
    """One character as it is, or escaped once or more: `/`, `\\/`, `\\u002f`, `%2F`, `%252F`, `&#47;`, `&#x2F;`."""
    plain, code = re.escape(character), ord(character)
    hexadecimal = f"(?i:{code:02x})"
    named = {'"': "quot", "&": "amp", "'": "apos", "<": "lt", ">": "gt"}.get(character, "amp")
    entity = f"&(?:amp;){{0,2}}(?:#0{{0,5}}{code};|#[xX]0{{0,5}}{hexadecimal};|{named};)"
    return f"(?:{plain}|\\\\{{1,8}}(?:{plain}|u00{hexadecimal})|%(?:25){{0,3}}{hexadecimal}|{entity})"
