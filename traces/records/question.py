from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue

from toolablate.traces.records._base import Record, TaggedRecord, digest_json


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


class SpansTarget(_Target):
    """A set of text spans or numbers, compared by the benchmark's named rule."""

    kind: Literal["spans"] = "spans"
    spans: tuple[str, ...] = Field(min_length=1)


Target = Annotated[ChoiceTarget | NumberTarget | SpansTarget, Field(discriminator="kind")]


class QuestionFile(Record):
    """A file that comes with a question: whatever runs code finds it in its working folder as `name`.

    `sha256` (64 hexadecimal digits) and `size` (bytes) say what it holds; `path` says where it was read, relative to
    the folder of the question file, and is no part of what the file is.
    """

    name: str = Field(min_length=1)
    path: str = ""
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class Question(TaggedRecord):
    """One item. `source` says where it comes from; `cluster` groups questions that share a source text."""

    version: Literal[1] = 1
    id: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    choices: tuple[str, ...] = ()
    target: Target
    files: tuple[QuestionFile, ...] = ()
    domain: str = ""
    difficulty: str = ""
    language: str = "en"
    cluster: str = ""
    source: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    not_identity: ClassVar[frozenset[str]] = frozenset({"target", "domain", "difficulty", "cluster", "source"})

    def identity(self) -> str:
        """Digest of what a model is asked, 32 hexadecimal digits.

        Of the target only its form enters it, since the question says how to answer. After a mended answer key or
        label the trials are the same, and are scored again, not run again. Of a file its name and content enter it.
        """
        several = self.target.kind == "choice" and len(self.target.letters) > 1
        files = tuple(file.model_copy(update={"path": ""}) for file in self.files)
        content = Record.identity(self.model_copy(update={"files": files}))
        return digest_json([content, self.target.kind, several])
