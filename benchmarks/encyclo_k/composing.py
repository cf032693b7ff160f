"""Composes questions of statements, from a seed alone.

Source: Encyclo-K (2026), sections 3.1.3, 4.1 and A.3. Which statements may meet in a question is not said there. Here
they are of one subfield, since published questions have one and accuracy is given by subfield; and of one language. The
printed counts of questions do not follow from rounding up by discipline, for Law has 189 (at most 0.1167 questions per
statement) and Science 1,242 (at least 0.1170). They fit 5,000 questions shared in proportion to the correct statements
(the points of knowledge) of each subfield and rounded up there, which is what is done here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from toolablate.benchmarks.encyclo_k.dealing import Pack, packs
from toolablate.benchmarks.encyclo_k.draws import Draws
from toolablate.benchmarks.encyclo_k.options import Bounds, check_options, draw_options
from toolablate.benchmarks.encyclo_k.sharing import clusters
from toolablate.benchmarks.encyclo_k.statements import Statement
from toolablate.benchmarks.encyclo_k.wording import Asked, ask, numeral
from toolablate.benchmarks.lettering import LETTERS
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, Question

SOURCE = "encyclo-k"
BETWEEN_NUMERALS = ", "


@dataclass(frozen=True, slots=True, order=True)
class Subfield:
    """Where the statements of a question come from. Statements of one subfield in two languages are two of these."""

    discipline: str
    field: str
    name: str
    language: str

    def __str__(self) -> str:
        parts = [" ".join(part.split()) for part in (self.discipline, self.field, self.name) if part]
        return f"{' > '.join(parts)} ({self.language})"


@dataclass(frozen=True, slots=True)
class Form:
    """How many statements, options, and statements in an option a question has: each uniform over its range."""

    statements: Bounds = (8, 10)
    options: Bounds = (4, 8)
    combination: Bounds = (2, 4)


def compose(
    statements: Iterable[Statement],
    seed: int,
    questions: int,
    *,
    statements_per_question: Bounds = (8, 10),
    options: Bounds = (4, 8),
    combination: Bounds = (2, 4),
) -> tuple[Question, ...]:
    """Questions that ask which statements are correct, or which are incorrect.

    `questions` is how many are shared out: each subfield's part, proportional to its correct statements, is rounded up,
    so that there are more in the end, by less than there are subfields; 5,000 become the paper's 5,038. Statements of
    one subfield in two languages count as two. The order of the statements does not matter.

    Questions that share a point of knowledge (a statement, or one and what was made of it) are not independent, nor are
    those linked by others: they form a `cluster`. Points are dealt in small packs, evenly: where there are enough of
    them no question shares any, and where there are not, clusters have a handful of questions.

    Raises InputError for numbers that no question could have, for a subfield that has too few statements, and for two
    statements of a subfield with the same text, of which only one is correct.
    """
    form = Form(statements_per_question, options, combination)
    check_options(form.statements, form.options, form.combination, len(LETTERS))
    shares = share_out(by_subfield(statements), questions)
    composed = [
        drawn for subfield, found, share in shares for drawn in _of_subfield(subfield, found, share, seed, form)
    ]
    names = [f"{SOURCE}-{seed}-{place:04d}" for place in range(1, len(composed) + 1)]
    shared = clusters(
        [
            [key for each in drawn.statements for key in (("point", each.point), ("text", each.text))]
            for drawn in composed
        ],
        names,
    )
    return tuple(
        drawn.question(name, seed, cluster) for drawn, name, cluster in zip(composed, names, shared, strict=True)
    )


def by_subfield(statements: Iterable[Statement]) -> dict[Subfield, list[Statement]]:
    found: dict[Subfield, list[Statement]] = defaultdict(list)
    for each in sorted(statements, key=lambda statement: statement.id):
        found[Subfield(each.discipline, each.field, each.subfield, each.language)].append(each)
    return dict(sorted(found.items()))


def share_out(
    subfields: Mapping[Subfield, Sequence[Statement]], questions: int
) -> list[tuple[Subfield, Sequence[Statement], int]]:
    """How many questions each subfield gets, rounded up. Raises InputError where there is no correct statement."""
    points = {subfield: sum(each.correct for each in found) for subfield, found in subfields.items()}
    total = sum(points.values())
    if not total or questions < 1:
        raise InputError(
            f"{questions} questions cannot be shared out over {total} correct statements",
            hint="There must be at least one of each.",
            code="no_questions",
        )
    return [(subfield, found, -(-questions * points[subfield] // total)) for subfield, found in subfields.items()]


@dataclass(frozen=True, slots=True)
class Composed:
    """A question before it has a name: its statements in their order, its options as places of these."""

    subfield: Subfield
    statements: Sequence[Statement]
    options: Sequence[frozenset[int]]
    right: int
    asked: Asked
    words: str

    def question(self, name: str, seed: int, cluster: str) -> Question:
        lines = [f"{numeral(place)}. {each.text}" for place, each in enumerate(self.statements, start=1)]
        return Question(
            id=name,
            prompt="\n".join([self.words, *lines]),
            choices=tuple(BETWEEN_NUMERALS.join(numeral(at + 1) for at in sorted(each)) for each in self.options),
            target=ChoiceTarget(letters=(LETTERS[self.right],)),
            domain=self.subfield.discipline,
            language=self.subfield.language,
            cluster=cluster,
            source=SOURCE,
            metadata={
                "discipline": self.subfield.discipline,
                "field": self.subfield.field,
                "subfield": self.subfield.name,
                "statements": [each.id for each in self.statements],
                "correct": [each.correct for each in self.statements],
                "asked": self.asked,
                "seed": seed,
            },
        )


def _of_subfield(
    subfield: Subfield, statements: Sequence[Statement], questions: int, seed: int, form: Form
) -> Iterator[Composed]:
    if not questions:
        return
    parts = (str(seed), subfield.discipline, subfield.field, subfield.name, subfield.language)
    draws = Draws("\0".join(parts))
    dealt_from = packs(
        statements, draws, place=str(subfield), per_question=form.statements, combination=form.combination
    )
    for _, pack in zip(range(questions), cycle(dealt_from), strict=False):
        yield _composed(subfield, pack, draws, form)


def _composed(subfield: Subfield, pack: Pack, draws: Draws, form: Form) -> Composed:
    count = draws.between(form.statements)
    options = draw_options(draws, count, draws.between(form.options), form.combination)
    right = draws.below(len(options))
    asked: Asked = draws.one(("correct", "incorrect"))
    wanted = asked == "correct"
    held = len(options[right])
    dealt = pack.deal({wanted: held, not wanted: count - held})
    found = {kind: iter(draws.shuffled(each)) for kind, each in dealt.items()}
    statements = [next(found[wanted if place in options[right] else not wanted]) for place in range(count)]
    return Composed(subfield, statements, options, right, asked, ask(draws, subfield.language, asked))
