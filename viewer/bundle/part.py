"""Which pages a bundle holds, and in which files."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from toolablate.analysis.selection import Selection
from toolablate.traces.errors import InputError
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.selection import PARAMETERS, TEXTS, asked, columns

TABLES: Mapping[str, frozenset[str]] = {
    "questions": frozenset({*PARAMETERS.values(), "text"}),
    "failures": frozenset({"model", "condition", "domain", "difficulty"}),
}
"""Pages of many trials, with the filters of the table of questions that mean the same there. Where a bundle has another
filter the page is left out, as are pages that are not among these: they would show the rest of the store."""
_ONCE = ("failures",)
"""Those that take one value of each filter."""

_FILTERS = (*PARAMETERS.values(), "text")
_CARRIED = frozenset({*_FILTERS, *TEXTS, "sort"})
_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_DIGEST = re.compile(r"[0-9a-f]{32,}")
_ID_CHARS = 16

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class BundlePart:
    """`filters` are pairs of a query, sorted; `questions` and `trials` are ids. `tables` are filters of other tables
    that are held: those that the overview of a whole store leads to, and each table itself. `missing` are addresses
    that the viewer does not serve."""

    filters: Pairs
    questions: frozenset[str]
    trials: frozenset[str]
    tables: set[tuple[str, Pairs]] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)

    @property
    def query(self) -> str:
        return f"?{urlencode(self.filters)}" if self.filters else ""

    def held(self, href: str, at: str) -> tuple[str, str] | None:
        """The address of a held page and the fragment that a link on the page `at` leads to; None where it is not
        held."""
        split = urlsplit(urljoin(f"http://store{at}", href))
        if split.scheme != "http" or split.netloc != "store":
            return None
        names = [unquote(each) for each in split.path.split("/")[1:]]
        address = self._address(names, parse_qsl(split.query, keep_blank_values=True), at)
        if address is None or address in self.missing:
            return None
        return (address, f"#{split.fragment}" if split.fragment else "")

    def _address(self, names: Sequence[str], query: Sequence[tuple[str, str]], at: str) -> str | None:
        asked_for = {name for name, _ in query}
        whole = asked_for <= _CARRIED
        match names:
            case [""] | ["find"] if not query:
                return f"/{names[0]}"
            case [table] if table in TABLES:
                return self._table(table, query, at)
            case ["question", question] if whole and question in self.questions:
                return f"/question/{quote(question, safe='')}{self.query}"
            # All events of a trial are on its page.
            case ["trial", trial] if asked_for <= _CARRIED | {"from"} and trial in self.trials:
                return f"/trial/{quote(trial, safe='')}{self.query}"
            case ["trial", trial, "event", number, "raw"] if asked_for == {"part"} and trial in self.trials:
                return f"/trial/{quote(trial, safe='')}/event/{number}/raw?{urlencode(query)}"
            case ["diff", left, right] if whole and {left, right} <= self.trials:
                return f"/diff/{quote(left, safe='')}/{quote(right, safe='')}{self.query}"
        return None

    def _table(self, table: str, query: Sequence[tuple[str, str]], at: str) -> str | None:
        filters = tuple(sorted(pair for pair in query if pair[0] != "page")) or self.filters
        if not self._takes(table):
            return None
        known = filters == self.filters or (table, filters) in self.tables
        within = {name for name, _ in filters}.isdisjoint({"sort", "column", "by", "like"})
        if not known and not self.filters and within and at in ("/", f"/{table}"):
            self.tables.add((table, filters))
            known = True
        if not known:
            return None
        pages = [pair for pair in query if pair[0] == "page" and pair[1] != "1"]
        asked_for = urlencode([*filters, *pages])
        return f"/{table}?{asked_for}" if asked_for else f"/{table}"

    def _takes(self, table: str) -> bool:
        names = [name for name, _ in self.filters]
        return TABLES[table].issuperset(names) and (table not in _ONCE or len(set(names)) == len(names))

    def file(self, address: str) -> str:
        """Where it is in the folder: short, of signs that every file system and web server takes as they are."""
        split = urlsplit(address)
        names = [_file_name(unquote(each)) for each in split.path.split("/")[1:]]
        own = [pair for pair in parse_qsl(split.query, keep_blank_values=True) if pair not in self.filters]
        if names[-1] == "raw":
            return f"{'/'.join(names[:-1])}-{_digest(urlencode(own))}.txt"
        page = "".join(f"-{value}" for name, value in own if name == "page" and value.isdigit())
        rest = [pair for pair in own if pair[0] != "page"]
        told = f"-{_digest(urlencode(rest))}" if rest else ""
        return f"{'/'.join(names) or 'index'}{told}{page}.html"


def part_of(index: ViewerIndex, where: Sequence[str], *, blind: str = "") -> BundlePart:
    """What the table of questions shows under these filters, `KEY=VALUE` each: the questions, and their trials of the
    models and conditions that it has columns of. Raises InputError for a filter that is none, or lets nothing pass."""
    facets = index.facets()
    pairs = tuple(sorted(dict.fromkeys(map(_pair, where))))
    try:
        selection = asked(QueryParams(list(pairs)), facets, blind=blind).selection
    except HTTPException as error:
        raise InputError(f"--where: {error.detail}", code="where") from None
    shown = {(each.model, each.condition) for each in columns(facets, selection)}
    questions, trials, page, pages = set[str](), set[str](), 1, 1
    while page <= pages:
        found = index.questions(selection, page=page, size=500)
        questions |= {row.question for row in found.rows}
        glances = (glance for row in found.rows for glance in row.glances if (glance.model, glance.condition) in shown)
        trials |= {trial.trial for glance in glances for trial in glance.trials}
        page, pages = page + 1, found.pages
    if pairs and not trials:
        raise InputError("--where: no trial has all of these", hint="Leave one out.", code="where")
    return BundlePart(pairs, frozenset(questions), frozenset(trials))


def trials_fitting(index: ViewerIndex, part: BundlePart) -> int:
    """How many trials the filters themselves mean, without those beside them."""
    selection = asked(QueryParams(list(part.filters)), index.facets()).selection if part.filters else Selection()
    return index.questions(selection, size=1).trials


def first_addresses(part: BundlePart) -> tuple[str, ...]:
    """Where one begins to walk; those that the viewer does not have are no error."""
    tables = (part.held(f"/{each}", "/") for each in TABLES)
    return ("/", "/find", *(held[0] for held in tables if held is not None))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or key not in _FILTERS:
        raise InputError(
            f"--where: found {text!r}", hint=f"KEY=VALUE, with a KEY of: {', '.join(_FILTERS)}.", code="where"
        )
    return key, value


def _file_name(name: str) -> str:
    if _DIGEST.fullmatch(name):
        return name[:_ID_CHARS]
    return (
        name
        if not name or _PLAIN.fullmatch(name)
        else f"{re.sub('[^a-z0-9]+', '-', name.lower())[:40]}-{_digest(name)}"
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:10]
