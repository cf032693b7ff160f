"""What is searched for: a query as it is typed, and as it is meant."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from toolablate.tools.browser.find import widened
from toolablate.traces.errors import InputError
from toolablate.traces.terminal_text import one_line
from toolablate.viewer.finding.tokens import tokens_of

TEXT_FIELDS = {
    "": ("code", "output", "page", "reply", "answer"),
    "code": ("code",),
    "output": ("output", "page"),
    "page": ("page",),
    "reply": ("reply", "answer"),
    "answer": ("answer",),
}
"""The fields that are texts of a trial, "" for a word without a field, with the columns of the index each is in."""

FIELDS = {
    "question": "what was asked, choices included",
    "id": "the question's name, or the beginning of a trial's id",
    "code": "arguments of tool calls: code, queries",
    "output": "what tools showed the model",
    "page": "the same of searches, pages and documents alone",
    "reply": "what the model wrote and thought",
    "answer": "its final reply",
    "tool": "trials with a call of this tool; beside words, those of such calls",
    "status": "ok, error, invalid or failure (of the infrastructure); as tool",
    "condition": "its name",
    "model": "its name",
    "mechanism": "what the trial is attributed to",
}

LONGEST = 1_000
"""Characters of a query."""

MOST_TERMS = 50
_MAX_PROGRAM = 2_000
"""Instructions of a compiled pattern: RE2's time grows with their number, times the text."""
_MAX_MEMORY = 8_000_000

Kind = Literal["words", "prefix", "regex"]


@dataclass(frozen=True, slots=True)
class Term:
    """`text` is as it is typed, without field and marks; `tokens` are its words (none of a regular expression)."""

    field: str
    kind: Kind
    text: str
    tokens: tuple[str, ...] = ()
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """Of each group one term has to hold, and all groups have to."""

    text: str
    groups: tuple[tuple[Term, ...], ...]

    @property
    def terms(self) -> Iterator[Term]:
        return (term for group in self.groups for term in group)

    def has(self, field: str) -> bool:
        return any(term.field == field for term in self.terms)


_FIELD = re.compile(r"([A-Za-z][A-Za-z_]*):(?=\S)")
_BARE = re.compile(r"\S+")
_OR_HINT = "as in: log OR exp"


def parse(text: str, field: str = "") -> Query:
    """`field` is that of all terms without one. Raises InputError for what cannot be read."""
    if len(text) > LONGEST:
        raise _refused(f"it has {len(text):,} characters", f"at most {LONGEST:,} are read")
    if field and field not in FIELDS:
        raise _unknown(field)
    groups = _grouped(_terms(text, field))
    if not groups:
        raise _refused("there is nothing to look for", "as in: tool:python status:error log")
    if sum(map(len, groups)) > MOST_TERMS:
        raise _refused("it has too many terms", f"at most {MOST_TERMS} are read")
    return Query(text, tuple(map(tuple, groups)))


def _grouped(terms: Iterable[Term | None]) -> list[list[Term]]:
    """None is an OR between what is on both sides."""
    groups: list[list[Term]] = []
    joining = False
    for term in terms:
        if term is None:
            if joining or not groups:
                raise _refused("OR has nothing on its left", _OR_HINT)
            joining = True
        elif not joining:
            groups.append([term])
        elif term.negative or groups[-1][0].negative:
            raise _refused("OR joins terms without a minus", "leave out OR, or the minus")
        else:
            groups[-1].append(term)
            joining = False
    if joining:
        raise _refused("OR has nothing on its right", _OR_HINT)
    return groups


def compiled(pattern: str) -> Any:
    """An RE2 expression that ignores case: its time is linear in the text, whatever the pattern. Raises InputError."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    try:
        re2.compile(f"(?im){pattern}", options)
        made = re2.compile(f"(?im){widened(pattern)}", options)
    except UnicodeEncodeError:
        raise _refused(f"{one_line(pattern)!r} has half a character", "leave it out") from None
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise _refused(
            f"/{pattern}/ is no RE2 pattern: {said}", "RE2 has no look-around and no backreference; \\/ is a slash"
        ) from None
    finally:
        re2.purge()
    if made.programsize > _MAX_PROGRAM:
        raise _refused(f"/{pattern}/ repeats too much", "make its repeats smaller")
    return made


def literal_words(pattern: str) -> Iterator[tuple[str, Kind]]:
    """Words that stand in each text that a pattern matches, so that the others need not be read: of its runs of plain
    characters those that begin after a blank or a mark within the run, the last of a run by its beginning. None where
    that is not sure at a glance: at any `|`, flag, quotation or foreign sign."""
    if "|" in pattern or "(?" in pattern or "\\Q" in pattern or not pattern.isascii():
        return
    for run in _runs(pattern):
        words = list(re.finditer(r"[a-z0-9]+", run.casefold()))
        for word in words:
            if word.start() > 0:
                yield word.group(), ("words" if word.end() < len(run) else "prefix")


_PIECE = re.compile(
    r"[*+?]\??|\{\d*,?\d*\}\??|\\[pPx]\{[^}]*\}|\\x..|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|.", re.DOTALL
)


def _runs(pattern: str) -> Iterator[str]:
    """The literal runs outside of groups, without what may be left out or repeated."""
    run, depth = "", 0
    for found in _PIECE.finditer(pattern):
        piece = found.group()
        literal = "" if depth else _literal(piece)
        depth += (piece == "(") - (piece == ")")
        if literal:
            run += literal
            continue
        # A character before a quantifier may be absent, or there again: nothing is sure from it on.
        yield run[:-1] if piece[0] in "*+?{" else run
        run = ""
    yield run


def _literal(piece: str) -> str:
    if len(piece) == 2 and piece[0] == "\\":
        return "" if piece[1].isalnum() else piece[1]
    return piece if len(piece) == 1 and piece not in ".^$()[]{}*+?|\\" else ""


def _terms(text: str, field: str) -> Iterator[Term | None]:
    position = 0
    while bare := _BARE.search(text, position):
        if bare.group() in ("OR", "AND"):
            position = bare.end()
            if bare.group() == "OR":
                yield None
            continue
        negative = bare.group().startswith("-") and len(bare.group()) > 1
        start = bare.start() + negative
        named = _FIELD.match(text, start)
        if named and named[1].lower() not in FIELDS:
            raise _unknown(named[1])
        own = named[1].lower() if named else field
        term, position = _value(text, named.end() if named else start, own, negative=negative)
        yield term


def _value(text: str, start: int, field: str, *, negative: bool) -> tuple[Term, int]:
    """A term, and where what follows it begins."""
    mark = text[start]
    if mark == '"':
        end = text.find('"', start + 1)
        if end < 0:
            raise _refused("a quotation is not closed", 'as in: "divided by zero"')
        said, end = text[start + 1 : end], end + 1
    elif mark == "/" and (closing := re.compile(r"(?<!\\)(?:\\\\)*/").search(text, start + 1)):
        pattern, end = text[start + 1 : closing.end() - 1].replace("\\/", "/"), closing.end()
        if text[end : end + 1].strip():
            raise _refused("after a /regex/ comes a blank", 'a path is put into quotation marks: "/usr/bin"')
        if not pattern:
            raise _refused("a /regex/ is empty", "as in: code:/np\\.log\\d*/")
        compiled(pattern)
        return Term(field, "regex", pattern, negative=negative), end
    elif mark == "/":
        raise _refused("a /regex/ is not closed", 'a path is put into quotation marks: "/usr"')
    else:
        found = _BARE.match(text, start)
        assert found is not None
        said, end = found.group(), found.end()
    kind: Kind = "words"
    named = field not in TEXT_FIELDS and field != "question"
    if said.endswith("*") and (named or len(said) > 1) and mark != '"':
        said, kind = said[:-1], "prefix"
    elif text[end : end + 1] == "*" and mark == '"':
        end, kind = end + 1, "prefix"
    tokens = tuple(tokens_of(said))
    if not tokens and not (named and (said.strip() or kind == "prefix")):
        raise _refused(f"{one_line(said)!r} has no word", "marks are found by a /regex/, such as /==/")
    return Term(field, kind, said, tokens, negative), end


def _unknown(field: str) -> InputError:
    return InputError(
        f"A search has no field {one_line(field)!r}",
        hint=f"the fields: {', '.join(FIELDS)}. A colon of a text is put into quotation marks.",
        code="unknown_field",
    )


def _refused(what: str, hint: str) -> InputError:
    return InputError(f"The search cannot be read: {what}", hint=hint, code="query")
