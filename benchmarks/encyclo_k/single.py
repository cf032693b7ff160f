"""Statements judged one by one, to set beside the questions that they are composed into."""

from collections.abc import Iterable, Sequence

from toolablate.benchmarks.encyclo_k.composing import SOURCE
from toolablate.benchmarks.encyclo_k.draws import Draws
from toolablate.benchmarks.encyclo_k.statements import Statement
from toolablate.benchmarks.encyclo_k.wording import JUDGED, spoken
from toolablate.benchmarks.lettering import LETTERS
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, Question


def single_statements(
    questions: Iterable[Question], statements: Iterable[Statement], seed: int
) -> tuple[Question, ...]:
    """One question for each statement of composed questions, in the order in which they first occur: does it hold true?

    Which of the two choices stands first is drawn for each. A statement and what was made of it are one cluster.
    Raises InputError where a question has a statement that is not among `statements`, or was not composed here.
    """
    known = {statement.id: statement for statement in statements}
    wanted: dict[str, Statement] = {}
    for question in questions:
        for identity in statement_ids(question):
            if identity not in known:
                raise InputError(
                    f"question {question.id!r} has the statement {identity!r}, which is not among those given",
                    hint="Give the statements that the questions were composed of.",
                    code="unknown_statement",
                )
            wanted[identity] = known[identity]
    return tuple(_judged(statement, seed) for statement in wanted.values())


def statement_ids(question: Question) -> Sequence[str]:
    """Of a composed question, in the order of their numerals; of any other none."""
    found = question.metadata.get("statements")
    return [str(each) for each in found] if isinstance(found, list) else []


def _judged(statement: Statement, seed: int) -> Question:
    sentence, holds, fails = JUDGED[spoken(statement.language)]
    first = Draws(f"{seed}\0{statement.id}").below(2) == 0
    right = LETTERS[0] if first == statement.correct else LETTERS[1]
    return Question(
        id=f"{SOURCE}-single-{statement.id}",
        prompt=f"{sentence}\n{statement.text}",
        choices=(holds, fails) if first else (fails, holds),
        target=ChoiceTarget(letters=(right,)),
        domain=statement.discipline,
        language=statement.language,
        cluster=statement.point,
        source=SOURCE,
        metadata={
            "discipline": statement.discipline,
            "field": statement.field,
            "subfield": statement.subfield,
            "statement": statement.id,
        },
    )
