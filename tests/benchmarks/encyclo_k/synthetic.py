"""Statements without meaning, as many as Encyclo-K has, and shared among its disciplines as there."""

from collections.abc import Iterator

from toolablate.benchmarks.encyclo_k.statements import Statement

DISCIPLINES = {
    # English and Chinese statements, correct ones, subfields, questions: tables 1 and 2 of the paper.
    "Science": (7317, 3289, 5309, 14, 1242),
    "Engineering": (4972, 2514, 3744, 23, 881),
    "Literature": (1877, 5176, 3529, 8, 825),
    "Medicine": (5420, 880, 3152, 5, 736),
    "History": (4392, 1500, 2948, 2, 686),
    "Law": (1620, 0, 810, 1, 189),
    "Economics": (354, 698, 526, 2, 124),
    "Agriculture": (955, 0, 478, 1, 112),
    "Education": (929, 0, 465, 2, 109),
    "Management": (158, 457, 308, 2, 73),
    "Philosophy": (54, 457, 256, 2, 61),
}


def statements() -> list[Statement]:
    """43,019 of 62 subfields, each of which is in one language; how large these are is not printed."""
    return [each for discipline in DISCIPLINES for each in _of(discipline)]


def _of(discipline: str) -> Iterator[Statement]:
    english, chinese, correct, subfields, _ = DISCIPLINES[discipline]
    in_chinese = max(1, round(subfields * chinese / (english + chinese))) if chinese else 0
    in_chinese = min(in_chinese, subfields - 1)
    parts = [
        *((size, "en") for size in _parts(english, subfields - in_chinese)),
        *((size, "zh") for size in _parts(chinese, in_chinese)),
    ]
    # As many incorrect ones as correct ones, but for a few correct ones that none was made from.
    unpaired = correct - (english + chinese - correct)
    for number, (size, language) in enumerate(parts):
        alone = unpaired if number == len(parts) - 1 else size % 2
        unpaired -= alone
        made = (size - alone) // 2
        yield from subfield(f"{discipline} {number}", discipline, language, size - made, made)


def subfield(name: str, discipline: str, language: str, correct: int, incorrect: int) -> Iterator[Statement]:
    for place in range(correct + incorrect):
        made = place >= correct
        origin = f"{name}-{place - correct if made else place}"
        yield Statement(
            id=f"{origin}-made" if made else origin,
            text=f"Statement {place} of {name}." if language == "en" else f"{name}的第{place}条陈述。",
            correct=not made,
            discipline=discipline,
            field=f"{discipline} {name[-1]}",
            subfield=name,
            language=language,
            of=origin if made else "",
        )


def _parts(total: int, count: int) -> Iterator[int]:
    pairs = total // 2
    for place in range(count):
        yield 2 * (pairs // count + (place < pairs % count)) + (total % 2 if place == 0 else 0)
