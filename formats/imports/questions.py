"""The same question in two logs is one question."""

from collections import defaultdict
from collections.abc import Iterable

from toolablate.formats.imports.log import Sample
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.records import Question, digest_json


def content_of(question: Question) -> str:
    """Digest of what is asked, whatever the question is called and however it is scored."""
    return digest_json(
        [question.prompt, list(question.choices), question.target.kind, question.language, question.metadata]
    )


class Questions:
    """The questions of a store by what they ask; those of further logs are taken in."""

    def __init__(self, known: Iterable[Question]) -> None:
        self._by_content: dict[str, list[Question]] = defaultdict(list)
        for question in known:
            self._by_content[content_of(question)].append(question)

    def of_log(self) -> "QuestionsOfLog":
        return QuestionsOfLog(self._by_content)


class QuestionsOfLog:
    """Tells which question each sample of one log is. Two samples that the log tells apart are two questions, even
    where they ask the same."""

    def __init__(self, by_content: dict[str, list[Question]]) -> None:
        self._by_content = by_content
        self._found: dict[tuple[str, str], Question] = {}
        self._taken: dict[str, set[str]] = defaultdict(set)

    def find(self, sample: Sample) -> Question:
        """Raises InputError where it is known with another answer key, since its scores could not be compared."""
        content = content_of(sample.question)
        key = content, sample.name
        if key not in self._found:
            self._found[key] = self._match(sample.question, content)
            self._taken[content].add(self._found[key].identity())
        question = self._found[key]
        if question.key_identity() != sample.question.key_identity():
            raise InputError(
                f"{sample.where}: the same question, {one_line(question.id, max_chars=80)!r},"
                " is known with another key",
                hint="Scores by different keys cannot be compared: import this log into another store (--store).",
                code="other_key",
            )
        return question

    def _match(self, question: Question, content: str) -> Question:
        known = self._by_content[content]
        free = [each for each in known if each.identity() not in self._taken[content]]
        named = [each for each in free if each.id == question.id]
        if named or free:
            return (named or free)[0]
        known.append(question)
        return question
