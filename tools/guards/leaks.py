"""Marks what holds the very question that is asked, together with its answer, and keeps back what a plan blocks.

A text holds the question where some passage of it covers nearly all of the question's words with runs of three words
that stand in the question too (characters where the script has no blanks). That is the containment of shingles of
A. Broder, "On the resemblance and containment of documents" (1997), measured in a passage and by covered words instead
of shingles, so that one changed word costs one word and not three; words that carry little weigh little. Numbers must
be the same, since another number makes another question. Short questions must be there almost word for word, and very
short ones ("Who wrote Hamlet?") are never looked for: any page that answers them would do.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolablate.tools.guards.guard import Inspection
from toolablate.tools.guards.hosts import BlockedHosts
from toolablate.tools.guards.letters import LETTER, named_as_answer
from toolablate.tools.guards.normal import normal_text
from toolablate.tools.guards.passages import Passages, Wanted, unescaped
from toolablate.tools.guards.screen import Screen
from toolablate.tools.guards.statements import statements
from toolablate.tools.plain import one_line
from toolablate.traces.records import Marker

EXCERPT_CHARS = 200
VICINITY = 200
"""Words around the question in which a short answer must be; a long one may be anywhere in the text."""

_LONG_ANSWER = 6
_SENTENCE = 12


class LeakGuard:
    """The guard of one question. `answers` are texts that each answer it; a single capital letter is one among choices.
    Of an answer of several sentences, lines or items each answers it too, if it is long enough to be looked for.

    `block` keeps leaks back. `blocked_hosts` (`example.org` with all hosts below it, `example.org/data`) are kept back
    always, copies by a service whose address names them too. Raises ValueError for a host that cannot be read.
    """

    def __init__(
        self,
        question: str,
        answers: Sequence[str],
        *,
        block: bool = False,
        blocked_hosts: frozenset[str] = frozenset(),
    ) -> None:
        self._block = block
        self._hosts = BlockedHosts(blocked_hosts)
        self._question = Wanted.of(question)
        self._screen = Screen(question)
        asked = Passages(normal_text(question))
        said = (each for answer in answers if answer.strip() for each in _said_by(answer))
        self._answers = [_Answer(each, asked) for each in dict.fromkeys(said)]

    def inspect(self, url: str, text: str) -> Inspection:
        markers = self._leaks(url, text)
        return Inspection(markers, blocked=(self._block and bool(markers)) or self._hosts.named_by(url))

    def _leaks(self, url: str, text: str) -> tuple[Marker, ...]:
        if not self._answers or not self._question.long_enough:
            return ()
        text = normal_text(unescaped(text))
        if not any(self._holds_question(stretch) for stretch in self._screen.stretches(text)):
            return ()
        passages = Passages(text)
        said = [answer.said_in(passages) for answer in self._answers]
        for start, end in passages.holding(self._question):
            if any(each.is_near(start, end) for each in said):
                excerpt = one_line(passages.text_of(start, end), EXCERPT_CHARS)
                return (Marker(kind="answer_leak", where=url, excerpt=excerpt),)
        return ()

    def _holds_question(self, text: str) -> bool:
        return any(True for _ in Passages(text).holding(self._question))


@dataclass(frozen=True, slots=True)
class _Said:
    """Where a text says an answer of `size` words, which the question itself says `besides` times: these do not count.

    A long answer is said `anywhere` or not at all.
    """

    places: Sequence[int] = ()
    size: int = 1
    besides: int = 0
    anywhere: bool = False

    def is_near(self, start: int, end: int) -> bool:
        """Whether it is said around the words between which the question is."""
        first = bisect_left(self.places, start - VICINITY)
        last = bisect_right(self.places, end + VICINITY - self.size)
        return self.anywhere or last - first > self.besides


class _Answer:
    """One answer, and how often the question itself says it."""

    def __init__(self, answer: str, question: Passages) -> None:
        self._letter = answer.strip() if LETTER.fullmatch(answer.strip()) else ""
        self._wanted = Wanted.of(answer)
        self._in_question = len(question.places(self._wanted.words))
        # A sentence that says the question again would be found wherever the question is.
        self._is_sentence = len(self._wanted.words) >= _SENTENCE and not any(question.holding(self._wanted))

    def said_in(self, passages: Passages) -> _Said:
        """A long one counts anywhere, since nobody says it by chance: nearly as it is, where it is a sentence."""
        words = self._wanted.words
        if self._letter:
            return _Said(passages.places_of(named_as_answer(self._letter)))
        if self._is_sentence:
            return _Said(anywhere=any(True for _ in passages.holding(self._wanted)))
        places = passages.places(words)
        if len(words) >= _LONG_ANSWER:
            return _Said(anywhere=len(places) > self._in_question)
        return _Said(places, len(words), self._in_question)


def _said_by(answer: str) -> Iterator[str]:
    """The answer without the marks of its lists, and what it says one by one."""
    parts = statements(answer)
    yield answer if len(parts) < 2 else "\n".join(parts)
    if len(parts) > 1:
        yield from (part for part in parts if Wanted.of(part).long_enough)
