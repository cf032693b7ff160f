"""Answers a query from the index of texts, and quotes what it found from the store."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from toolablate.analysis.event_texts import EventText, texts_of
from toolablate.analysis.found import Bools, Found, Hit, Ints, Share, Snippet, by_condition
from toolablate.traces.errors import InputError
from toolablate.traces.records import Mechanism
from toolablate.traces.store import Outlines
from toolablate.traces.terminal_text import one_line
from toolablate.viewer.finding.query import TEXT_FIELDS, Query, Term, compiled, literal_words
from toolablate.viewer.finding.scope import SearchScope, mask_of
from toolablate.viewer.finding.text_index import CALLS, SHARED
from toolablate.viewer.finding.tokens import Span, spans_of

SHOWN = 20
MOST_READ = 500
"""Traces that are read for a regular expression by default: a fraction of a second."""
SNIPPETS = 3
CONTEXT_CHARS = 90
MATCH_CHARS = 300
LONGEST_READ = 2_000_000
"""Characters of one text that a pattern is looked for in."""
_ASKED_SHOWN = 20
_OF_CALLS = ("code", "output", "page")
_STATUSES = ("ok", "error", "invalid", "failure")


@dataclass(frozen=True, slots=True)
class Entries:
    """Of the trials of a scope: `place` by the number of their entry, -1 for those of other trials."""

    place: Ints
    indexed: Bools


class Search:
    """One query at one moment of the index. `mechanisms` are needed where the query names one, by trial."""

    def __init__(
        self, connection: sqlite3.Connection, store: Path, scope: SearchScope, mechanisms: Mapping[str, str] | None
    ) -> None:
        self._connection, self._store, self._scope = connection, store, scope
        self._mechanisms = mechanisms
        self._entries = entries_of(connection, scope)
        self._calls = {
            key: (tool, status) for key, tool, status in connection.execute("SELECT key, tool, status FROM calls")
        }

    def run(
        self,
        query: Query,
        *,
        where: Mapping[str, str] | None = None,
        limit: int = SHOWN,
        offset: int = 0,
        most_read: int = MOST_READ,
    ) -> Found:
        """Raises InputError for a value of a field that there is not, StoreError, sqlite3.Error."""
        scope = self._scope
        universe = scope.chosen(where or {}, self._mechanisms) & self._entries.indexed
        unindexed = int((~self._entries.indexed).sum())
        calls = self._calls_meant(query)
        hit, patterns = universe.copy(), []
        for group in query.groups:
            if _binds(group):
                continue
            if any(term.kind == "regex" and term.field in TEXT_FIELDS for term in group):
                patterns.append(group)
                hit &= self._possible(group, calls)
            else:
                hit &= self._of_group(group, calls)
        if calls is not None:
            hit &= self._with_call(calls)
        read = candidates = None
        if patterns:
            candidates = int(hit.sum())
            hit, universe, read = self._read(hit, universe, patterns, calls, most_read)
        asked = self._asked(query)
        return Found(
            query=query.text,
            baseline=scope.baseline,
            all=Share(int(hit.sum()), int(universe.sum())),
            questions=len(np.unique(scope.question[hit])),
            by_condition=by_condition(
                *(scope.conditions, scope.baseline),
                condition=np.where(universe, scope.condition, -1),
                hit=hit,
                flip=scope.turned,
                scored=scope.scored,
                question=scope.question,
            ),
            hits=tuple(self._hits(query, hit, calls, limit, offset)),
            asked=asked[:_ASKED_SHOWN],
            asked_total=len(asked),
            read=read,
            candidates=candidates,
            unindexed=unindexed,
            simulated=bool(scope.columns["simulated"]),
        )

    # Which trials a term holds of.

    def _of_group(self, group: Sequence[Term], calls: frozenset[int] | None) -> Bools:
        found = np.zeros(len(self._scope), dtype=bool)
        for term in group:
            own = self._of_term(term, calls)
            found |= ~own if term.negative else own
        return found

    def _of_term(self, term: Term, calls: frozenset[int] | None) -> Bools:
        scope = self._scope
        match term.field:
            case "question":
                return np.isin(scope.question, self._questions(term))
            case "id":
                return self._of_id(term)
            case "condition":
                return np.isin(scope.condition, _named(term, scope.conditions))
            case "model":
                return np.isin(scope.model, _named(term, scope.models))
            case "tool" | "status":
                return self._with_call(self._calls_of(term))
            case "mechanism":
                return self._of_mechanism(term)
        found = self._of_documents(self._documents(term.field, term.tokens, term.kind == "prefix"), term.field, calls)
        named = self._calls_named(term, calls)
        return found | self._with_call(named) if named else found

    def _of_documents(self, documents: Ints, field: str, calls: frozenset[int] | None) -> Bools:
        if calls is not None and (field == "" or field in _OF_CALLS):
            documents = documents[np.isin(documents % CALLS, list(calls))]
        return self._of_entries(np.unique(documents // CALLS))

    def _of_entries(self, numbers: Ints) -> Bools:
        found = np.zeros(len(self._scope), dtype=bool)
        places = self._entries.place[numbers[numbers < len(self._entries.place)]]
        found[places[places >= 0]] = True
        return found

    def _documents(self, field: str, tokens: Sequence[str], prefix: bool) -> Ints:
        """Those in which these words stand in a row."""
        phrase = f'{{{" ".join(TEXT_FIELDS[field])}}} : "{" ".join(tokens)}"{" *" if prefix else ""}'
        own = self._numbers("SELECT rowid FROM words WHERE words MATCH ? AND rowid < ?", (phrase, SHARED))
        shared = self._numbers(
            "SELECT document FROM words JOIN places ON places.shared = words.rowid - ?2"
            " WHERE words MATCH ?1 AND words.rowid > ?2",
            (phrase, SHARED),
        )
        return np.concatenate([own, shared])

    def _numbers(self, query: str, values: Sequence[Any] = ()) -> Ints:
        return np.fromiter((row[0] for row in self._connection.execute(query, values)), dtype=np.int64)

    def _with_call(self, calls: frozenset[int]) -> Bools:
        documents = self._numbers("SELECT document FROM documents")
        return self._of_entries(np.unique(documents[np.isin(documents % CALLS, list(calls))] // CALLS))

    def _calls_meant(self, query: Query) -> frozenset[int] | None:
        """The kinds of calls that all terms about them allow; None where there are none."""
        meant: frozenset[int] | None = None
        for group in query.groups:
            if _binds(group):
                own = frozenset[int]().union(*map(self._calls_of, group))
                meant = own if meant is None else meant & own
        return meant

    def _calls_of(self, term: Term) -> frozenset[int]:
        column = 0 if term.field == "tool" else 1
        there = [call[column] for call in self._calls.values() if call[0]] if column == 0 else [*_STATUSES]
        fits = _fitting(term, there)
        return frozenset(key for key, call in self._calls.items() if fits(call[column]) and (column or call[0]))

    def _calls_named(self, term: Term, calls: frozenset[int] | None) -> frozenset[int]:
        """The kinds of calls whose tool a word without a field names: names are in no text, and few."""
        if term.field or term.kind == "regex":
            return frozenset()
        fits = _matcher(term)
        named = frozenset(key for key, (tool, _) in self._calls.items() if tool and fits(tool))
        return named if calls is None else named & calls

    def _of_id(self, term: Term) -> Bools:
        scope, fits = self._scope, _matcher(term)
        named = [place for place, name in enumerate(scope.question_names) if fits(name)]
        found = np.isin(scope.question, named)
        start = term.text.strip().casefold()
        if term.kind != "regex" and start:
            found |= mask_of(len(scope), (place for place, each in enumerate(scope.trials) if each.startswith(start)))
            ids = [place for place, each in enumerate(scope.question_ids) if each.startswith(start)]
            found |= np.isin(scope.question, ids)
        return found

    def _of_mechanism(self, term: Term) -> Bools:
        scope, fits, named = self._scope, _fitting(term, get_args(Mechanism)), self._mechanisms or {}
        return mask_of(
            len(scope), (place for place, each in enumerate(scope.trials) if each in named and fits(named[each]))
        )

    # Questions by what they ask.

    def _questions(self, term: Term) -> list[int]:
        """Their places in the scope."""
        if term.kind == "regex":
            pattern = compiled(term.text)
            rows = self._connection.execute("SELECT id, text FROM questions")
            ids = {identity for identity, text in rows if pattern.search(text[:LONGEST_READ])}
        else:
            phrase = f'"{" ".join(term.tokens)}"{" *" if term.kind == "prefix" else ""}'
            rows = self._connection.execute(
                "SELECT id FROM questions JOIN asked ON asked.rowid = questions.number WHERE asked MATCH ?", (phrase,)
            )
            ids = {identity for (identity,) in rows}
        return [place for place, identity in enumerate(self._scope.question_ids) if identity in ids]

    def _asked(self, query: Query) -> tuple[str, ...]:
        """The names of the questions whose own text has all words of the query: of one without fields."""
        if any(term.field for term in query.terms):
            return ()
        found = set(range(len(self._scope.question_names)))
        for group in query.groups:
            own = {place for term in group for place in self._questions(term)}
            found = found - own if group[0].negative else found & own
        return tuple(self._scope.question_names[place] for place in sorted(found))

    # Regular expressions, which are looked for in the texts themselves.

    def _possible(self, group: Sequence[Term], calls: frozenset[int] | None) -> Bools:
        """The trials that may fit: by words that stand in each match, where there are any."""
        found = np.zeros(len(self._scope), dtype=bool)
        for term in group:
            own = np.ones(len(self._scope), dtype=bool)
            if term.negative:
                return own
            if term.kind != "regex" or term.field not in TEXT_FIELDS:
                own = self._of_term(term, calls)
            else:
                for word, kind in literal_words(term.text):
                    documents = self._documents(term.field, (word,), kind == "prefix")
                    own &= self._of_documents(documents, term.field, calls)
            found |= own
        return found

    def _read(
        self,
        possible: Bools,
        universe: Bools,
        patterns: Sequence[Sequence[Term]],
        calls: frozenset[int] | None,
        most: int,
    ) -> tuple[Bools, Bools, int]:
        """Those that fit of the first candidates; the trials up to the last of them, in the order of ids, which is
        random; and how many were read. The share among these estimates that among all."""
        scope = self._scope
        places = np.flatnonzero(possible)
        if len(places) > most:
            universe = universe.copy()
            universe[places[most] :] = False
            places = places[:most]
        matchers = {term: _spans(term) for group in patterns for term in group}
        others = {
            term: self._of_term(term, calls)
            for term in matchers
            if term.field not in TEXT_FIELDS or term.kind != "regex"
        }
        fitting = []
        with Outlines(self._store) as outlines:
            for trial, events in outlines.events([scope.trials[int(place)] for place in places]):
                texts, place = list(texts_of(events)), scope.places[trial]
                holds = partial(self._holds, texts=texts, calls=calls, place=place, others=others, matchers=matchers)
                if all(any(holds(term) != term.negative for term in group) for group in patterns):
                    fitting.append(place)
        return mask_of(len(scope), fitting), universe, len(places)

    def _holds(
        self,
        term: Term,
        *,
        texts: Sequence[EventText],
        calls: frozenset[int] | None,
        place: int,
        others: Mapping[Term, Bools],
        matchers: Mapping[Term, Callable[[str], Iterator[Span]]],
    ) -> bool:
        if term in others:
            return bool(others[term][place])
        return any(
            next(matchers[term](each.text), None) is not None for each in texts if self._is_of(each, term.field, calls)
        )

    def _is_of(self, each: EventText, field: str, calls: frozenset[int] | None) -> bool:
        if each.column not in TEXT_FIELDS.get(field, ()):
            return False
        if calls is None or (field and field not in _OF_CALLS):
            return True
        return any((each.tool, each.status) == self._calls.get(key) for key in calls)

    # What is shown of the hits.

    def _hits(self, query: Query, hit: Bools, calls: frozenset[int] | None, limit: int, offset: int) -> Iterator[Hit]:
        scope = self._scope
        # Flips first, and of all questions one before a second of any.
        hits = np.flatnonzero(hit)
        order = hits[np.lexsort((hits, _ordinals(scope.question[hits]), ~scope.turned[hits]))]
        places = [int(place) for place in order[offset : offset + limit]]
        with Outlines(self._store) as outlines:
            read = dict(outlines.events([scope.trials[place] for place in places]))
        for place in places:
            columns = scope.columns
            yield Hit(
                trial=scope.trials[place],
                question=scope.question_names[int(scope.question[place])],
                model=scope.models[int(scope.model[place])],
                condition=scope.conditions[int(scope.condition[place])],
                repeat=columns["repeat"][place],
                verdict=columns["verdict"][place],
                value=columns["value"][place],
                flip="right_to_wrong" if scope.turned[place] else "",
                snippets=tuple(self._snippets(query, place, read.get(scope.trials[place], ()), calls)),
            )

    def _snippets(
        self, query: Query, place: int, events: Sequence[Mapping[str, Any]], calls: frozenset[int] | None
    ) -> Iterator[Snippet]:
        """The first place of each word, some in all; of a query without words the calls that it names."""
        terms = [term for term in query.terms if not term.negative]
        texts, given = list(texts_of(events)), 0
        for term in terms:
            if given == SNIPPETS:
                return
            found = None
            if term.field == "question":
                found = self._in_question(term, place)
            elif term.field in TEXT_FIELDS:
                spans = _spans(term)
                own = [each for each in texts if self._is_of(each, term.field, calls)]
                found = next((_cut(each, span) for each in own for span in spans(each.text)), None)
                named = {self._calls[key] for key in self._calls_named(term, calls)} if found is None else ()
                found = found or next((_cut(each, (0, 0)) for each in own if (each.tool, each.status) in named), None)
            if found is not None:
                given += 1
                yield found
        if not given and calls is not None:
            for each in [each for each in texts if each.tool and self._is_of(each, "", calls)][:SNIPPETS]:
                yield _cut(each, (0, 0))

    def _in_question(self, term: Term, place: int) -> Snippet | None:
        identity = self._scope.question_ids[int(self._scope.question[place])]
        row = self._connection.execute("SELECT text FROM questions WHERE id = ?", (identity,)).fetchone()
        span = next(_spans(term)(row[0]), None) if row else None
        return None if span is None else _cut(EventText(-1, "question", row[0]), span)


def entries_of(connection: sqlite3.Connection, scope: SearchScope) -> Entries:
    places = scope.places
    indexed = np.zeros(len(scope), dtype=bool)
    (highest,) = connection.execute("SELECT coalesce(max(number), 0) FROM entries").fetchone()
    found = np.full(highest + 1, -1, dtype=np.int64)
    for number, trial in connection.execute("SELECT number, trial FROM entries WHERE live"):
        place = places.get(trial)
        if place is not None:
            found[number] = place
            indexed[place] = True
    return Entries(found, indexed)


def _binds(group: Sequence[Term]) -> bool:
    """Whether it says which calls the words are to stand in."""
    return all(term.field in ("tool", "status") and not term.negative for term in group)


def _matcher(term: Term) -> Callable[[str], bool]:
    if term.kind == "regex":
        pattern = compiled(term.text)
        return lambda name: pattern.search(name) is not None
    wanted = term.text.casefold().strip()
    if term.kind == "prefix":
        return lambda name: name.casefold().startswith(wanted)
    return lambda name: name.casefold() == wanted


def _fitting(term: Term, there: Iterable[str]) -> Callable[[str], bool]:
    """Raises InputError for a value that is none of those that there are, since it would find nothing for ever."""
    fits, known = _matcher(term), sorted(set(there))
    if term.kind == "words" and not any(map(fits, known)):
        shown = ", ".join(one_line(name, max_chars=60) for name in known[:SHOWN]) or "none"
        raise InputError(
            f"{term.field}:{one_line(term.text, max_chars=60)}: there is no such {term.field}",
            hint=f"there are {shown}" if len(known) <= SHOWN else f"there are {shown} and {len(known) - SHOWN} more",
            code="unknown_value",
        )
    return fits


def _named(term: Term, names: Sequence[str]) -> list[int]:
    fits = _fitting(term, names)
    return [place for place, name in enumerate(names) if fits(name)]


def _spans(term: Term) -> Callable[[str], Iterator[Span]]:
    if term.kind != "regex":
        return partial(spans_of, tokens=term.tokens, prefix=term.kind == "prefix")
    pattern = compiled(term.text)

    def spans(text: str) -> Iterator[Span]:
        # Half a character is nothing that RE2 reads.
        plain = text[:LONGEST_READ].encode(errors="replace").decode()
        return (found.span() for found in pattern.finditer(plain))

    return spans


def _ordinals(questions: Ints) -> Ints:
    """Of each hit how many of the same question come before it."""
    order = np.argsort(questions, kind="stable")
    ordered = questions[order]
    first = np.searchsorted(ordered, ordered)
    found = np.empty(len(questions), dtype=np.int64)
    found[order] = np.arange(len(questions)) - first
    return found


def _cut(each: EventText, span: Span) -> Snippet:
    start, end = span
    first = max(0, start - CONTEXT_CHARS)
    match = each.text[start:end]
    after = each.text[end : end + (CONTEXT_CHARS if match else 2 * CONTEXT_CHARS)]
    return Snippet(
        event=None if each.column == "question" else each.event,
        field=each.column,
        before=("…" if first else "") + each.text[first:start],
        match=match[:MATCH_CHARS],
        after=after + ("…" if end + len(after) < len(each.text) else ""),
    )
