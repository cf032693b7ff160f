"""What a question's own text and a plan's search say of it: whether its answer can be found, and computed."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from toolablate.analysis.statistics.intervals import Interval, bootstrap_interval, by_unit, clustered_share
from toolablate.experiments.computability import Computable, Computed, computable, computed
from toolablate.experiments.environment.web import answers_of, open_web, web_fingerprint
from toolablate.experiments.plans.plan import Plan, all_questions
from toolablate.experiments.record_file import RecordFile
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.records import Question, Retrieval, Retrieved, SearchResult, digest_json

if TYPE_CHECKING:
    from toolablate.tools.browser import PageSource
    from toolablate.tools.search import SearchSource

# Phrasings of a question, by rule.


PHRASINGS = "phrasings"
SOURCES = "source_urls"
MOST_PHRASINGS = 4
_MOST_CHARS = 300
"""Of a query: services cut or refuse longer ones."""

_KEYWORDS = 8
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[\u3400-\u9fff]+")


def phrasings_of(question: Question, count: int) -> tuple[str, ...]:
    """At most `count` different queries: those of the question's metadata (`phrasings`, a list of texts), then by rule
    its last question (or last sentence), its beginning, its longest words in their order, and its first sentence."""
    prompt = " ".join(question.prompt.split())
    sentences = [each.strip() for each in _SENTENCE.split(question.prompt) if each.strip()]
    asked = [each for each in sentences if each.endswith(("?", "？"))]
    words = list(dict.fromkeys(_WORD.findall(prompt)))
    longest = set(sorted(words, key=lambda word: -len(word))[:_KEYWORDS])
    by_rule = (
        (asked or sentences)[-1:],
        [prompt],
        [" ".join(word for word in words if word in longest)],
        sentences[:1],
    )
    found = (*_texts(question, PHRASINGS), *(text for texts in by_rule for text in texts))
    cut = (_cut(" ".join(text.split())) for text in found)
    return tuple(dict.fromkeys(filter(None, cut)))[:count]


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS].rpartition(" ")[0] or text[:_MOST_CHARS]


def _texts(question: Question, key: str) -> tuple[str, ...]:
    """Of the metadata a text, or a list of texts. Raises InputError for anything else."""
    given = question.metadata.get(key, [])
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(each, str) and each.strip() for each in texts):
        raise InputError(
            f"question {question.id!r}: metadata.{key} must be a text or a list of texts", code="bad_metadata"
        )
    return tuple(str(each) for each in texts)


# What is looked for in results and pages.


class Sought:
    """The sources of one question, by address, and its answers, each beside the question's own words.

    A page says the answer where it stands in a stretch of text that has half of the question's eight longest words; of
    an answer of several sentences or items one is enough. Letters of options are no answer.
    """

    def __init__(self, question: Question) -> None:
        from toolablate.tools.guards.leaks import LETTER, Screen, said_by
        from toolablate.tools.guards.passages import SoughtPassage
        from toolablate.tools.search.ranked_results import canonical_url

        self.sources = frozenset(_place(canonical_url(url)) for url in _texts(question, SOURCES))
        self._shortened = [_as_it_was(each) for each in self.sources if _TAKEN_OUT.search(each)]
        answers = [each for each in answers_of(question) if not LETTER.fullmatch(each.strip())]
        said = dict.fromkeys(part for answer in answers for part in said_by(answer))
        self.answers = tuple(said)
        self._wanted = [passage for each in said if (passage := SoughtPassage.of(each)).words]
        self._screen = Screen(question.prompt)

    @property
    def anything(self) -> bool:
        return bool(self.sources or self._wanted)

    def is_source(self, canonical: str) -> bool:
        place = _place(canonical)
        return place in self.sources or any(each.fullmatch(place) for each in self._shortened)

    def answered_by(self, text: str) -> bool:
        from toolablate.tools.guards.passages import Passages, normal_text, unescaped

        for stretch in self._screen.stretches(normal_text(unescaped(text))):
            passages = Passages(stretch)
            for wanted in self._wanted:
                if passages.places(wanted.words) or (wanted.long_enough and any(passages.holding(wanted))):
                    return True
        return False


def _place(url: str) -> str:
    """Without scheme, `www.` and a last slash, by which sites are named either way."""
    return url.partition("://")[2].removeprefix("www.").rstrip("/")


_TAKEN_OUT = re.compile(r"(?<=[/=])-(?=[/&]|$)|--+")
"""A name or an account that is published as "-", alone or between hyphens."""


def _as_it_was(place: str) -> re.Pattern[str]:
    """Matches the address that an address was before names and accounts were taken out of it."""
    return re.compile("[^/&=]*".join(map(re.escape, _TAKEN_OUT.split(place))))


# Asks a plan's search, and keeps what came of it.


class RetrievalFile(RecordFile[Retrieval]):
    """What searches found, by what was asked."""

    def __init__(self, path: Path) -> None:
        head = b'{"version":1,"question":"'
        super().__init__(
            path, Retrieval, lambda each: each.asked, head=head, what="retrieval", in_use="name another --record"
        )


@dataclass(frozen=True, slots=True)
class AnnotationRequest:
    """`phrasings` of each question are asked, `results` of each search looked at, and of the first `opened` their pages
    read."""

    phrasings: int = MOST_PHRASINGS
    results: int = 10
    opened: int = 3


@dataclass(frozen=True, slots=True)
class RetrievalShare:
    """The share of questions of one `domain` (None: of all) of which any phrasing finds source or answer, and the mean
    share of phrasings that do; each in [0, 1], with its 95 % interval over independent questions."""

    domain: str | None
    questions: int
    any_phrasing: float
    ci95: Interval
    phrasings: float
    phrasings_ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Annotated:
    """`questions` with their metadata; `retrieved` counts them by what was found at best, `computable` by the rule,
    `computed` by what programs gave.
    `untestable` questions have neither a source nor an answer that could be looked for; `failed` searches had no
    result because of the service, by the first reason of each kind, and `unread` pages could not be read."""

    questions: tuple[Question, ...]
    retrieved: Mapping[Retrieved, int]
    computable: Mapping[Computable, int]
    computed: Mapping[Computed, int]
    shares: tuple[RetrievalShare, ...]
    untestable: int
    asked: int
    failed: Mapping[str, int]
    unread: int
    searched: str


Tell = Callable[[int, int], None]


def annotate(plan: Plan, wanted: AnnotationRequest, record: Path, *, programs: Path | None, tell: Tell) -> Annotated:
    """Asks what `record` does not hold yet, and reads what programs gave in the store `programs`.

    The plan's search is asked, live, recorded or replayed; without a table [search] each question's own documents are
    searched; without these only computability is told. Hosts that the plan or a question blocks are not left out: what
    models may not see can be retrievable all the same.

    Raises ToolablateError where nothing can be asked or kept."""
    questions = all_questions(plan)
    if programs is not None:
        questions = _with_computed(questions, computed(programs, questions))
    if plan.search is None and not any(question.documents for question in questions):
        return _annotated(questions, {}, {}, "")
    return asyncio.run(_annotate(plan, questions, wanted, record, tell))


def _with_computed(questions: Sequence[Question], found: Mapping[str, Computed]) -> tuple[Question, ...]:
    """What an earlier store said of a question does not stay."""
    told = []
    for question in questions:
        metadata = {key: value for key, value in question.metadata.items() if key != "computed"}
        if (said := found.get(question.identity())) is not None:
            metadata["computed"] = said
        told.append(question.model_copy(update={"metadata": metadata}))
    return tuple(told)


async def _annotate(
    plan: Plan, questions: Sequence[Question], wanted: AnnotationRequest, record: Path, tell: Tell
) -> Annotated:
    sought = {question.identity(): Sought(question) for question in questions}
    async with AsyncExitStack() as stack:
        place, name = await _opened(plan, stack)
        kept = stack.enter_context(RetrievalFile(record))
        asker = _Asker(wanted, name, place, kept, sought)
        todo = [(question, phrasing) for question in questions for phrasing in asker.left(question)]
        done = 0
        for start in range(0, len(todo), _AT_ONCE):
            await asyncio.gather(*(asker.ask(*each) for each in todo[start : start + _AT_ONCE]))
            done = min(start + _AT_ONCE, len(todo))
            tell(done, len(todo))
        found = {question.identity(): asker.found(question) for question in questions}
    return _annotated(
        questions, found, asker.failures, name, untestable=sum(not each.anything for each in sought.values())
    )


_AT_ONCE = 4
_Place = Callable[[Question], "tuple[SearchSource, PageSource] | None"]


async def _opened(plan: Plan, stack: AsyncExitStack) -> tuple[_Place, str]:
    """Where a question is looked for, and the name of that."""
    if plan.search is None:
        from toolablate.tools.corpus import QuestionDocuments
        from toolablate.tools.corpus.question_documents import FINGERPRINT

        documents = QuestionDocuments()
        stack.callback(documents.close)

        def own(question: Question) -> "tuple[SearchSource, PageSource] | None":
            if not question.documents:
                return None
            return documents.search(question.documents), documents.pages(question.documents)

        return own, f"documents {FINGERPRINT}"
    parts = frozenset({"search", "pages"})
    web = await open_web(plan, parts, stack)
    assert web.search is not None
    assert web.pages is not None
    of_all = (web.search, web.pages)
    fingerprint = web_fingerprint(plan, parts)
    return lambda _: of_all, f"{fingerprint['search']}; {fingerprint['web']}"


@dataclass(slots=True)
class _Asker:
    wanted: AnnotationRequest
    name: str
    place: _Place
    kept: RetrievalFile
    sought: Mapping[str, Sought]
    failures: Counter[str] = field(default_factory=Counter)

    def keys(self, question: Question) -> dict[str, tuple[str, str, str, str, int, int]]:
        """By phrasing."""
        identity = question.identity()
        sought = self.sought[identity]
        if not sought.anything or self.place(question) is None:
            return {}
        digest = digest_json([sorted(sought.sources), *sought.answers])
        return {
            phrasing: (identity, digest, self.name, phrasing, self.wanted.results, self.wanted.opened)
            for phrasing in phrasings_of(question, self.wanted.phrasings)
        }

    def left(self, question: Question) -> list[str]:
        return [phrasing for phrasing, key in self.keys(question).items() if key not in self.kept.found]

    def found(self, question: Question) -> list[Retrieval]:
        return [self.kept.found[key] for key in self.keys(question).values() if key in self.kept.found]

    async def ask(self, question: Question, phrasing: str) -> None:
        """A search that failed is counted, and asked again by the same command."""
        from toolablate.tools import SearchQuery

        place = self.place(question)
        assert place is not None
        search, pages = place
        try:
            outcome = await search.find(SearchQuery(phrasing, self.wanted.results))
        except ToolablateError as error:
            self.failures[error.message] += 1
            return
        reply = outcome.reply
        if reply is None or reply.status not in ("ok", "empty"):
            self.failures[outcome.message or (reply and f"{reply.provider}: {reply.status}") or "no reply"] += 1
            return
        self.kept.append(await self._looked_at(question, phrasing, reply.results[: self.wanted.results], pages))

    async def _looked_at(
        self, question: Question, phrasing: str, results: Sequence[SearchResult], pages: "PageSource"
    ) -> Retrieval:
        """The best result: a source before an answer, then by rank. Pages are read only until an answer is found."""
        sought, unread = self.sought[question.identity()], 0
        best: tuple[Retrieved, SearchResult] | None = next(
            (("source", result) for result in results if sought.is_source(result.canonical_url)), None
        )
        for result in results if best is None else ():
            answers = sought.answered_by(f"{result.title}\n{result.snippet}")
            if not answers and result.rank <= self.wanted.opened:
                text = await _read(pages, result.url)
                unread += text is None
                answers = text is not None and sought.answered_by(text)
            if answers:
                best = ("answer", result)
                break
        _, digest, *_ = self.keys(question)[phrasing]
        return Retrieval(
            question=question.identity(),
            sought=digest,
            search=self.name,
            phrasing=phrasing,
            results=self.wanted.results,
            opened=self.wanted.opened,
            found=best[0] if best else "nothing",
            rank=best[1].rank if best else None,
            url=best[1].url if best else "",
            unread=unread,
            at=datetime.now(UTC),
        )


async def _read(pages: "PageSource", url: str) -> str | None:
    from toolablate.tools import PageUnreadableError

    try:
        return (await pages.read(url)).text
    except (PageUnreadableError, ToolablateError):
        return None


# What was found, as metadata and in sum.


def _annotated(
    questions: Sequence[Question],
    found: Mapping[str, Sequence[Retrieval]],
    failed: Mapping[str, int],
    searched: str,
    *,
    untestable: int = 0,
) -> Annotated:
    annotated, retrieved = [], Counter[Retrieved]()
    by_rule = Counter[Computable]()
    shares: dict[str, list[tuple[bool, float, str]]] = defaultdict(list)
    for question in questions:
        rule = computable(question)
        by_rule[rule] += 1
        # What a person wrote stands.
        metadata = {"computable": rule, **question.metadata}
        if own := found.get(question.identity()):
            hits = [each for each in own if each.found != "nothing"]
            best: Retrieved = min((each.found for each in own), key=get_args(Retrieved).index)
            retrieved[best] += 1
            share = len(hits) / len(own)
            metadata |= {"retrievable": round(share, 3), "retrieved": best}
            shares[question.domain].append((bool(hits), share, question.cluster or question.id))
        annotated.append(question.model_copy(update={"metadata": metadata}))
    return Annotated(
        tuple(annotated),
        {name: retrieved[name] for name in get_args(Retrieved)},
        {name: by_rule[name] for name in get_args(Computable)},
        {name: sum(each.metadata.get("computed") == name for each in annotated) for name in get_args(Computed)},
        tuple(_shares(shares)),
        untestable,
        sum(map(len, found.values())),
        dict(failed),
        sum(each.unread for own in found.values() for each in own),
        searched,
    )


def _shares(found: Mapping[str, Sequence[tuple[bool, float, str]]]) -> Iterator[RetrievalShare]:
    """By domain, if there are several, then of all."""
    of_all = [each for domain in sorted(found) for each in found[domain]]
    for domain, own in (*(sorted(found.items()) if len(found) > 1 else ()), *([(None, of_all)] if of_all else [])):
        hits, found_by, units = zip(*own, strict=True)
        sums, sizes = by_unit(units, found_by, [1.0] * len(own))
        yield RetrievalShare(
            domain,
            len(own),
            *clustered_share(hits, units),
            sum(found_by) / len(own),
            bootstrap_interval(sums, sizes),
        )
