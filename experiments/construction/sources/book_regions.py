"""Regions of a book's pages: definitions, theorems, named paragraphs and lists, cut out by how lines are set.

They are proposals for statements: what can stand alone, and what is true, is for the stages and people behind them.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolablate.experiments.construction.sources.book_pages import BookPage, Box, Line, around, body_size

Kind = Literal["definition", "theorem", "named", "list"]

FEWEST_CHARS, MOST_CHARS = 40, 1_000
"""Of a region's text; of Chinese, a third of the fewest."""


@dataclass(frozen=True, slots=True)
class Region:
    """`text` is a name, a colon, and on the next line what the book says. `boxes` are by the index of their page: a
    region may go on over the page's end."""

    kind: Kind
    text: str
    page: BookPage
    boxes: tuple[tuple[int, Box], ...]

    def row(self) -> dict[str, Any]:
        """As items of a pipeline of statements have it."""
        boxes = [{"page": index + 1, "box": [round(side, 1) for side in box]} for index, box in self.boxes]
        return {"text": self.text, "page": self.page.number, "kind": self.kind, "boxes": boxes}


def regions_of(pages: Sequence[BookPage]) -> Iterator[Region]:
    """In the order of the book."""
    body = body_size(pages)
    blocks = list(_over_pages(_blocks(pages, _leading(pages, body))))
    heading = ""
    at = 0
    while at < len(blocks):
        block = blocks[at]
        if block.is_heading(body):
            heading = _without_number(block.text)
        elif block.is_set_as_body(body):
            items = _items_behind(blocks, at, body)
            if items and _needs_its_items(block, items):
                yield from _region("list", heading, [block, *items])
                at += len(items)
            else:
                yield from _alone(block, heading)
        at += 1


def seen_in(pages: Sequence[BookPage]) -> str:
    """What regions would be made of, counted: why there are none."""
    body = body_size(pages)
    blocks = list(_over_pages(_blocks(pages, _leading(pages, body))))
    texts = [block for block in blocks if block.is_set_as_body(body)]
    seen = {
        "in the type of most text": len(texts),
        "headings": sum(block.is_heading(body) for block in blocks),
        "programs": sum(block.is_code for block in blocks),
        "items of lists": sum(bool(block.marker) for block in texts),
        "with a head in bold type": sum(bool(_bold_head(block, block.text)) for block in texts),
        "named a definition or theorem": sum(bool(_NAMED.match(block.text)) for block in texts),
    }
    told = ", ".join(f"{count} {what}" for what, count in seen.items())
    return f"{len(blocks)} blocks were told apart by gaps and indents: {told}"


# Blocks: lines that belong together.


@dataclass(frozen=True, slots=True)
class _Block:
    lines: tuple[tuple[BookPage, Line], ...]
    marker: str = ""

    @property
    def text(self) -> str:
        """Without the marker of a list's item."""
        pieces: list[str] = []
        for _, line in self.lines:
            pieces += [line.text, "" if line.broken else " "]
        return "".join(pieces).strip().removeprefix(self.marker).strip()

    @property
    def first(self) -> Line:
        return self.lines[0][1]

    @property
    def boxes(self) -> dict[int, Box]:
        found: dict[int, Box] = {}
        for page, line in self.lines:
            found[page.index] = around(found.get(page.index, line.box), line.box)
        return found

    @property
    def is_code(self) -> bool:
        return all(line.mono for _, line in self.lines)

    def is_heading(self, body: float) -> bool:
        larger = self.first.size > 1.05 * body and len(self.lines) <= _LONGEST_HEADING
        return larger and not self.is_code

    def is_set_as_body(self, body: float) -> bool:
        """Neither code, nor a note below the page, nor a heading."""
        bold = all(line.bold for _, line in self.lines)
        return _near(self.first.size, body) and not self.is_code and not bold


_LONGEST_HEADING = 3
_MARKER = re.compile(r"(?:[•◦▪‣●○■·–—−*-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])(?=\s)")
_BULLETS = "•◦▪‣●○■"
_ENDED = re.compile(r"[.:;,!?。：；，！？][\"'”’)\]]*$|\b(?:and|or)$")
_SENTENCE_END = re.compile(r"[.:!?。：！？][\"'”’)\]]*$")


_COMMON = 0.25
"""Of the commonest step's count."""


def _leading(pages: Sequence[BookPage], body: float) -> float:
    """The step from line to line of what is set as most is, in points: the least of the common ones. Where paragraphs
    are of a line or two, the gap between two of them is the commonest step."""
    steps = [
        step
        for page in pages
        for one, other in zip(page.lines, page.lines[1:], strict=False)
        if not one.mono and _near(one.size, body) and 0 < (step := other.baseline - one.baseline) < 3 * body
    ]
    # By whole points, since the least of them is not the same from font to font.
    times = Counter(map(round, steps))
    common = [step for step, count in times.items() if count >= _COMMON * max(times.values())]
    return statistics.median(step for step in steps if abs(step - min(common)) <= 1) if steps else 0.0


def _near(size: float, body: float) -> bool:
    return abs(size - body) <= 0.05 * body


def _blocks(pages: Sequence[BookPage], leading: float) -> Iterator[_Block]:
    for page in pages:
        lines: list[tuple[BookPage, Line]] = []
        marker = ""
        for line in page.lines:
            before = lines[-1][1] if lines else None
            own = _marker(line, before)
            if before is not None and (own or _begins(line, [each for _, each in lines], marker, leading)):
                yield _Block(tuple(lines), marker)
                lines = []
            if not lines:
                marker = own
            lines.append((page, line))
        if lines:
            yield _Block(tuple(lines), marker)


def _marker(line: Line, before: Line | None) -> str:
    """That an item of a list begins with. Other signs than bullets may begin a line by chance: what is before has no
    end then."""
    found = _MARKER.match(line.text)
    if not found:
        return ""
    sure = found[0] in _BULLETS or before is None or _ENDED.search(before.text) or before.mono
    return found[0] if sure else ""


def _begins(line: Line, block: Sequence[Line], marker: str, leading: float) -> bool:
    """Whether a line begins another block."""
    before = block[-1]
    step = line.baseline - before.baseline
    if step <= 0 or step > 1.2 * leading * max(1.0, before.size / block[0].size):
        return True
    if abs(line.size - before.size) > 0.08 * before.size or line.mono != before.mono:
        return True
    hanging = marker and len(block) > 1 and block[1].box[0] > block[0].box[0] + 1
    if hanging and line.box[0] < block[1].box[0] - 0.5 * line.size:
        return True
    indented = line.box[0] > before.box[0] + 0.8 * line.size
    return bool(indented and not marker and _SENTENCE_END.search(before.text))


def _over_pages(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """What a page's end cuts in the middle of a sentence is one block."""
    last: _Block | None = None
    for block in blocks:
        if last is not None and _goes_on(last, block):
            last = _Block((*last.lines, *block.lines), last.marker)
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last


def _goes_on(last: _Block, block: _Block) -> bool:
    (page, end), (next_page, line) = last.lines[-1], block.lines[0]
    at_end = next_page.index == page.index + 1 and page.lines[-1] is end and next_page.lines[0] is line
    alike = _near(line.size, end.size) and not (last.is_code or block.is_code or block.marker)
    return at_end and alike and not _ENDED.search(end.text.removesuffix(","))


# Which blocks say something, and under which name.

_NAMED = re.compile(
    r"(?P<kind>Definition|Theorem|Lemma|Proposition|Corollary|Axiom|Law|Principle|Postulate|定义|定理|引理|命题|推论|公理)"
    r"\s*(?:\d[\d.]*)?\s*(?:[(（](?P<name>[^()（）]{2,80})[)）])?\s*[.:：]?\s+(?=\S)"
)
_DEFINES = re.compile(
    r"(?:(?:An?|The)\s+)?(?P<term>[^\s.,;:()][^.,;:()]{1,60}?(?:\s*\([^()]{1,20}\))?)\s+"
    # A function that is called by, with or at something is not named so.
    r"(?:is|are)\s+(?:(?:called(?!\s+(?:by|with(?:out)?|when|if|from|in|at|for|on|once|to|as|after|before|automatically)\b)|"
    r"known as|defined (?:as|to be|by)|said to be)\b|(?:an?|one of|sets? of)\s)"
    r"|(?:(?:An?|The)\s+)?(?P<other>[^\s.,;:()][^.,;:()]{1,60}?)\s+(?:denotes?|means?|refers? to)\s"
)
_NO_TERM = re.compile(
    r"(?:this|that|these|those|it|its|there|here|they|we|you|he|what|which|who|if|when|where|in|on|at|as|for|by|to|of|and|"
    r"but|or|so|since|because|although|while|note|also|another|each|all|any|some|one|both|thus|then|such|below|above|"
    r"currently|with|only|other|neither|most|many|not|no|following|next|first|second|last|same)\b",
    re.IGNORECASE,
)
_IN_NO_TERM = re.compile(r"\b(?:that|which|is|are|was|were|to|if|has|have)\b")
_MOST_WORDS = 6
_NO_STATEMENT = re.compile(
    r"(?:Examples?|Exercises?|Problems?|Proof|Solutions?|Questions?|Answers?|Hints?|Figure|Fig|Tables?|Listing|例|例题|练习|证明|解|问题)[\s\d.]*",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"(?:Notes?|Remarks?|Warnings?|Important|Tips?|Attention|Caution|注|注意|备注)[\s\d.]*", re.IGNORECASE
)
_BEGINS_SMALL = re.compile(r"[a-z]")
_WHOLE = re.compile(r"[.!?。！？][\"'”’)\]]*$")
_EXPECTS = re.compile(r"[:：]$").search
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_PROSE = re.compile(r"[\w\s.,;:!?'\"()‘’“”\-–—/。，；：！？（）《》、]")


def _alone(block: _Block, heading: str) -> Iterator[Region]:
    text = block.text
    if block.marker:
        yield from _region("list", heading, [block])
    elif found := _NAMED.match(text):
        kind: Kind = "definition" if found["kind"] in ("Definition", "定义") else "theorem"
        yield from _region(kind, found["name"] or found["kind"], [block], text[found.end() :])
    elif head := _bold_head(block, text):
        name = head.rstrip(" .:：")
        said = text[len(head) :].strip()
        # Without a point, and before a small letter, it is the beginning of its sentence.
        said = text if name == head and not said[:1].isupper() else said
        if not _NO_STATEMENT.fullmatch(name):
            yield from _region("named", heading if _NO_NAME.fullmatch(name) else name, [block], said)
    elif (found := _DEFINES.match(text)) and _is_term(term := found["term"] or found["other"]):
        yield from _region("definition", term, [block])


def _bold_head(block: _Block, text: str) -> str:
    """What a paragraph begins with in bold type, where a point or a colon ends it, or it is a term; "" where nothing
    does."""
    head = text[: block.first.head].strip()
    return head if head != text and (head.endswith((".", ":", "：")) or (head and _is_term(head))) else ""


def _is_term(words: str) -> bool:
    return len(words.split()) <= _MOST_WORDS and not _NO_TERM.match(words) and not _IN_NO_TERM.search(words)


def _items_behind(blocks: Sequence[_Block], at: int, body: float) -> list[_Block]:
    items = []
    for block in blocks[at + 1 :]:
        if not (block.marker and block.is_set_as_body(body)):
            break
        items.append(block)
    return items


def _needs_its_items(block: _Block, items: Sequence[_Block]) -> bool:
    """Whether a paragraph ends in a colon, and no item is a sentence: they say something together only."""
    return block.text.endswith((":", "：")) and not block.marker and not any(map(_is_sentence, items))


def _is_sentence(item: _Block) -> bool:
    return bool(_WHOLE.search(item.text)) and len(item.text) >= FEWEST_CHARS and not _BEGINS_SMALL.match(item.text)


def _region(kind: Kind, name: str, blocks: Sequence[_Block], said: str = "") -> Iterator[Region]:
    """Nothing where it is no whole sentence, is mostly formulas, or is too short or too long."""
    together = len(blocks) > 1
    lines = [f"{block.marker} {block.text}".strip() if together else said or block.text for block in blocks]
    text = "\n".join(lines)
    fewest = FEWEST_CHARS / 3 if _CHINESE.search(text) else FEWEST_CHARS
    # Items that are words or parts of sentences often have no stop.
    unstopped = together and not any(_ENDED.search(line) for line in lines[1:])
    whole = (unstopped or _WHOLE.search(text)) and not any(map(_EXPECTS, lines[1:])) and not _BEGINS_SMALL.match(text)
    if not (name and whole and fewest <= len(text) <= MOST_CHARS and _is_prose(text)):
        return
    boxes: dict[int, Box] = {}
    for block in blocks:
        for index, box in block.boxes.items():
            boxes[index] = around(boxes.get(index, box), box)
    yield Region(kind, f"{name}:\n{text}", blocks[0].lines[0][0], tuple(sorted(boxes.items())))


def _is_prose(text: str) -> bool:
    return len(_PROSE.findall(text)) >= 0.95 * len(text)


def _without_number(heading: str) -> str:
    return re.sub(r"^(?:(?:Chapter|Section|Appendix)\s+)?[\dA-Z](?:[\d.])*\s+(?=\S)", "", heading).strip() or heading
