"""toolablate.traces.records.questions"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from toolablate.traces.records._base import Record, TaggedRecord, digest_json
from toolablate.traces.records.pictures import Picture


class _Target(TaggedRecord):
    tags: ClassVar[tuple[str, ...]] = ("kind",)


class ChoiceTarget(_Target):
    """The right letters of a multiple-choice question, for instance ("A",) or ("A", "C"); all are required."""

    kind: Literal["choice"] = "choice"
    letters: tuple[str, ...] = Field(min_length=1)


class NumberTarget(_Target):
    """A number; an answer within `absolute` or within `relative` (a share of the target) of it is right."""

    kind: Literal["number"] = "number"
    value: float
    relative: float = Field(default=0.0, ge=0)
    absolute: float = Field(default=0.0, ge=0)


Scale = Literal["", "thousand", "million", "billion", "percent"]


def with_scale(text: str, scale: str) -> str:
    """An amount with its scale in words: "$1,496.5 million", "13.98%". A scale that the text says already stays one."""
    if scale == "percent":
        return text if "%" in text or scale in text.casefold() else f"{text}%"
    return text if not scale or scale in text.casefold() else f"{text} {scale}"


class SpansTarget(_Target):
    """A set of text spans or numbers, compared by the benchmark's named rule.

    `scale` is what the numbers among them are counted in: "1,496.5" with "million" is 1,496,500,000.
    """

    kind: Literal["spans"] = "spans"
    spans: tuple[str, ...] = Field(min_length=1)
    scale: Scale = ""

    @property
    def stated(self) -> tuple[str, ...]:
        """The spans as an answer says them, each with the scale."""
        return tuple(with_scale(span, self.scale) for span in self.spans)


class ReferenceTarget(_Target):
    """A reference answer in words, with which a judge compares."""

    kind: Literal["reference"] = "reference"
    answer: str = Field(min_length=1)


class TextTarget(_Target):
    """Texts (`text`) or mathematical expressions in LaTeX or plain text (`math`), each of which is right by itself."""

    kind: Literal["text", "math"] = "text"
    answers: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)


class PatternTarget(_Target):
    """A regular expression (RE2's syntax) that is found in a right reply."""

    kind: Literal["regex"] = "regex"
    pattern: str = Field(min_length=1)


class CodeTarget(_Target):
    """Python code that raises nothing after right code was run. Where it defines `check`, as HumanEval's does, `check`
    is called with the function named `entry_point`."""

    kind: Literal["code"] = "code"
    tests: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    entry_point: str = ""


_AROUND = " \t\r\n\"'`*_“”‘’「」.。"
_NOTHING = frozenset({"", "n/a", "not applicable", "不适用"})


def is_na(text: str) -> bool:
    """Whether a text for an item says that there is none: blank, "N/A" or "not applicable" alone, whatever the case,
    with quotes around it or a full stop after it."""
    return " ".join(text.strip(_AROUND).casefold().split()).replace("n / a", "n/a") in _NOTHING


class ChecklistItem(Record):
    """An item that an answer is looked through for.

    `reference` is what the reference has for it, None for nothing. A `literal` item is read from the JSON object that
    the answer is, by its name, and compared by equality; no model is asked about it.
    """

    name: str = Field(min_length=1)
    definition: str = ""
    reference: str | None = None
    literal: bool = False

    @property
    def said(self) -> str:
        """The reference's text, "" for "N/A"."""
        text = (self.reference or "").strip()
        return "" if is_na(text) else text


class ChecklistTarget(_Target):
    """A checklist, which a judge compares with what an answer says of each item."""

    kind: Literal["checklist"] = "checklist"
    items: tuple[ChecklistItem, ...] = Field(min_length=1)

    @property
    def texts(self) -> tuple[str, ...]:
        """What the reference says, item by item. A literal item's is a label, as "1", that any text may hold."""
        return tuple(dict.fromkeys(item.said for item in self.items if item.said and not item.literal))


Target = Annotated[
    ChoiceTarget
    | NumberTarget
    | SpansTarget
    | ReferenceTarget
    | TextTarget
    | PatternTarget
    | CodeTarget
    | ChecklistTarget,
    Field(discriminator="kind"),
]


class JudgePrompt(Record):
    """How a benchmark itself asks a judge: a system message ("" for none), and a user message in which the answer to be
    judged stands between `before` and `after`."""

    system: str = ""
    before: str = ""
    after: str = ""


class Rubric(Record):
    """What a judge goes by besides the target.

    `reference` is the reference answer in the benchmark's own words, "" where the target says it all; `points` is what
    an answer has to meet, all of it, and goes before the reference. `prompt` is None where the benchmark has none.
    """

    reference: str = ""
    points: str = ""
    prompt: JudgePrompt | None = None


class QuestionFile(Record):
    """A file that comes with a question: whatever runs code finds it in its working folder as `name`.

    `sha256` (64 hexadecimal digits) and `size` (bytes) say what it holds; `path` says where it was read, relative to
    the folder of the question file, and is no part of what the file is.
    """

    name: str = Field(min_length=1)
    path: str = ""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class QuestionDocument(Record):
    """A text that a question is about: shown in the prompt, searched by tools or read by code, as a condition says.

    A store keeps each text once, whichever questions it belongs to.
    """

    name: str = Field(min_length=1)
    text: str = Field(min_length=1)


class Question(TaggedRecord):
    """One item. `source` says where it comes from; `cluster` groups questions that share a source text.

    `as_is` says that the prompt is all that is asked: it holds the choices, if any, and no line is added that says how
    to end the reply. `images` are shown with the prompt, each behind its mark `<image 1>` in it or in a choice, and
    before it where there is none. `rubric` is for judges. `blocked_hosts` (a host with its subdomains, or `host/path`)
    are kept from models for this question alone, besides those that a plan blocks for all.
    """

    version: Literal[1] = 1
    id: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    choices: tuple[str, ...] = ()
    as_is: bool = False
    target: Target
    rubric: Rubric | None = None
    files: tuple[QuestionFile, ...] = ()
    documents: tuple[QuestionDocument, ...] = ()
    images: tuple[Picture, ...] = ()
    blocked_hosts: tuple[str, ...] = ()
    domain: str = ""
    difficulty: str = ""
    language: str = "en"
    cluster: str = ""
    source: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    not_identity: ClassVar[frozenset[str]] = frozenset(
        {"target", "rubric", "domain", "difficulty", "cluster", "source"}
    )
    noted: ClassVar[frozenset[str]] = frozenset(
        {
            "canary",
            "clarity",
            "computable",
            "computed",
            "difficulty_before",
            "forum",
            "guess_rate",
            "kind",
            "licence",
            "pass_rate",
            "pass_rate_ci95",
            "phrasings",
            "retrievable",
            "retrieved",
            "source_urls",
        }
    )
    """Keys of the metadata that say something about a question and change nothing that a model is asked."""

    def identity(self) -> str:
        """Digest of what a model is asked, 32 hexadecimal digits.

        Of the target only its form enters it, since the question says how to answer. After a mended answer key or
        label the trials are the same, and are scored again, not run again. Of a file and a document
        its name and content enter it; of the metadata all keys but those `noted`.
        """
        several = self.target.kind == "choice" and len(self.target.letters) > 1
        files = tuple(file.model_copy(update={"path": ""}) for file in self.files)
        metadata = {key: value for key, value in self.metadata.items() if key not in self.noted}
        content = Record.identity(self.model_copy(update={"files": files, "metadata": metadata}))
        return digest_json([content, self.target.kind, several])

    def key_identity(self) -> str:
        """Digest of what answers are scored by, 32 hexadecimal digits: the target, and the rubric if there is one."""
        key = self.target.identity()
        return key if self.rubric is None else digest_json([key, self.rubric.identity()])
