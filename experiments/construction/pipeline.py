"""A pipeline as it is written: what comes in, who is asked, how strict the stages are."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PrivateAttr, StrictBool, StringConstraints, model_validator

from toolablate.experiments.construction.plan_files import load_plan
from toolablate.experiments.construction.stages import Role
from toolablate.experiments.plans.plan import RunnerSection, with_source
from toolablate.experiments.plans.prices import names_a_file, open_prices, with_prices
from toolablate.experiments.plans.sections import JudgeModel, RepliesSection, Section
from toolablate.traces.errors import InputError
from toolablate.traces.paths import PathText
from toolablate.traces.records import Model, OpenAIModel, Price

PUBLISHED = (
    "questions.jsonl",
    "lpfqa.jsonl",
    "threads.jsonl",
    "falsified_threads.jsonl",
    "statements.jsonl",
    "book.jsonl",
    "falsified_book.jsonl",
    "card.md",
)
"""What may be written into `output`."""


def is_published(file: Path) -> bool:
    return file.name in PUBLISHED and file.is_file() and not file.is_symlink()


def require_own_set(pipeline: "Pipeline", canary: str) -> None:
    """Raises InputError where `output` has a set that is not known to be of this pipeline: the card has not this
    `canary`, which is of its workbench ("" of one that has published nothing), or the set is of the other kind."""
    folder = Path(pipeline.output)
    there = {each.name for each in folder.iterdir() if is_published(each)} if folder.is_dir() else set()
    other = "questions.jsonl" if pipeline.kind == "statements" else "statements.jsonl"
    if not there or (other not in there and canary and canary in _card_in(folder)):
        return
    file = pipeline.file or Path("pipeline.toml")
    raise InputError(
        f"output: {folder} has what another pipeline or workbench published, and would be replaced",
        hint=f'write `output = "{folder.name}_{file.stem}"` into {file.name}, or delete {folder} if nobody needs it',
        code="unwritable",
    )


def _card_in(folder: Path) -> str:
    try:
        return (folder / "card.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


PromptName = Literal[
    "read",
    "assess",
    "filter",
    "deduplicate",
    "convert_options",
    "convert_short_answer",
    "read_region",
    "specify",
    "falsify",
]
_OF_STATEMENTS = ("read_region", "specify", "falsify")
_OF_READERS = ("read", "read_region")

Share = Annotated[float, Field(gt=0, le=1)]
Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class DuplicatesSection(Section):
    """Two questions of the same words with one answer are one; of others the checker is asked, from the similarity
    `near` (Jaccard, 5-grams of characters) on of the originals, and from `same` on of what people accepted. `against`
    are question files that no new question may repeat."""

    same: Share = 0.8
    near: Share = 0.5
    against: tuple[PathText, ...] = ()

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.near > self.same:
            raise ValueError(f"duplicates.near: at most duplicates.same ({self.same}), found {self.near}")
        return self


class FilterSection(Section):
    """`domains` are those a question may have; () takes what the checker says. `clarity` is the least that is kept, of
    1 to 5; `difficulty` is how many of the four criteria of difficulty have to hold: all, as LPFQA's paper demands."""

    domains: tuple[Name, ...] = ()
    clarity: int = Field(default=3, ge=1, le=5)
    difficulty: int = Field(default=4, ge=0, le=4)


class ReviewSection(Section):
    """`reviewers` have to agree on an item; 0 publishes what no person has read. More than these adjudicate.
    `proofreaders` have to agree on a correct statement before it is falsified; with 0 nobody is asked."""

    reviewers: int = Field(default=2, ge=0, le=5)
    proofreaders: int = Field(default=0, ge=0, le=5)


class WorldsSection(Section):
    """What is published has two corpora then, a true one and a falsified one: of the book that statements are of, whose
    `pages` are a JSONL, or of the `threads` that questions are made of."""

    pages: PathText = ""
    threads: StrictBool = False


class CardSection(Section):
    """What the data card says besides figures. `audit` is a JSONL of what people said of published items that `build
    audit` drew."""

    title: str = ""
    licence: str = ""
    contact: str = ""
    audit: PathText = ""


class Pipeline(Section):
    """A validated pipeline; paths in it are absolute.

    `items` is a JSONL of questions with answers, or of statements of textbooks, by `kind`; with a `reader` in `roles`,
    of captured pages or regions of books that these are read from. `workbench` is the SQLite file of all that was made
    of them, `output` the folder of what is published. `asks` is how often a model is asked
    at most until a reply can be used, and `request_chars` how long a request may be; `seed` is that of the order of
    options. `prompts` are text files in the place of toolablate's own.
    """

    kind: Literal["questions", "statements"] = "questions"
    items: PathText = Field(min_length=1)
    workbench: PathText = ""
    output: PathText = "published"
    seed: int = 0
    asks: int = Field(default=3, gt=0)
    request_chars: int = Field(default=200_000, gt=0)
    roles: dict[Role, Name] = Field(default_factory=dict)
    prompts: dict[PromptName, PathText] = Field(default_factory=dict)
    models: tuple[JudgeModel, ...] = Field(min_length=1)
    prices: PathText = Field(default=Price.table, min_length=1)
    duplicates: DuplicatesSection = DuplicatesSection()
    filter: FilterSection = FilterSection()
    review: ReviewSection = ReviewSection()
    card: CardSection = CardSection()
    worlds: WorldsSection = WorldsSection()
    replies: RepliesSection = RepliesSection()
    runner: RunnerSection = RunnerSection()
    _file: Path | None = PrivateAttr(default=None)
    _of_forums: bool = PrivateAttr(default=False)

    @property
    def of_forums(self) -> bool:
        """Whether `items` is a file of forums, which are reviewed and nothing else (`load_reviewed`)."""
        return self._of_forums

    @property
    def file(self) -> Path | None:
        """Where it is written, for errors that are found later."""
        return self._file

    @model_validator(mode="after")
    def _roles_are_models(self) -> Self:
        names = [model.name for model in self.models]
        if len(set(names)) < len(names):
            raise ValueError("models: two have one name; names must be distinct")
        for role, name in self.roles.items():
            if name not in names:
                raise ValueError(f"roles.{role}: there is no model {name!r}; there are {', '.join(names)}")
        return self

    @model_validator(mode="after")
    def _prompts_are_asked_with(self) -> Self:
        for name in self.prompts:
            if (name in _OF_STATEMENTS) != (self.kind == "statements"):
                raise ValueError(f"prompts.{name}: no stage of {self.kind} has it")
            if name in _OF_READERS and not self.reads:
                raise ValueError(f"prompts.{name}: no stage has it without a `reader` in `roles`")
        return self

    @model_validator(mode="after")
    def _statements_are_proofread(self) -> Self:
        if self.review.proofreaders and self.kind != "statements":
            raise ValueError(f"review.proofreaders: of statements, before they are falsified; {self.kind} have none")
        return self

    @model_validator(mode="after")
    def _worlds_are_of_the_kind(self) -> Self:
        if self.worlds.pages and self.kind != "statements":
            raise ValueError(f"worlds.pages: a book's, of statements; {self.kind} have worlds.threads")
        if self.worlds.threads and self.kind != "questions":
            raise ValueError(f"worlds.threads: those of questions; {self.kind} have worlds.pages")
        return self

    @model_validator(mode="after")
    def _a_reader_sees(self) -> Self:
        if not self.reads:
            return self
        model = self.model_of("reader")
        if isinstance(model, OpenAIModel) and model.capabilities.images is False:
            raise ValueError(f"roles.reader: model {model.name!r} is declared to see no images; name one that does")
        return self

    @property
    def reads(self) -> bool:
        """Whether items are captured pages or regions of books, which a model reads first."""
        return "reader" in self.roles

    def model_of(self, role: Role) -> JudgeModel:
        """By default the first."""
        name = self.roles.get(role, self.models[0].name)
        return next(model for model in self.models if model.name == name)


class Asked(Section):
    """A pipeline's models where those of `[[judges]]` are asked."""

    judges: tuple[JudgeModel, ...]
    replies: RepliesSection
    runner: RunnerSection

    @property
    def models(self) -> tuple[Model, ...]:
        return ()


def asked_of(pipeline: Pipeline) -> Asked:
    return Asked(judges=pipeline.models, replies=pipeline.replies, runner=pipeline.runner)


def load_pipeline(path: Path) -> Pipeline:
    """Reads a pipeline; relative paths in it are relative to its folder. Raises InputError that names the key, what was
    found and what is allowed."""
    pipeline = load_plan(Pipeline, path, "build")
    folder = path.parent.resolve()

    def beside(name: str) -> str:
        return str(folder / name)

    prices = beside(pipeline.prices) if names_a_file(pipeline.prices) else pipeline.prices
    models = with_prices((with_source(model, folder, "models") for model in pipeline.models), open_prices(prices))
    against = tuple(map(beside, pipeline.duplicates.against))
    prompts = {name: beside(file) for name, file in pipeline.prompts.items()}
    loaded = pipeline.model_copy(
        update={
            "items": beside(pipeline.items),
            "workbench": beside(pipeline.workbench or f"runs/{path.stem}.sqlite"),
            "output": beside(pipeline.output),
            "models": models,
            "prices": prices,
            "prompts": prompts,
            "worlds": pipeline.worlds.model_copy(
                update={"pages": pipeline.worlds.pages and beside(pipeline.worlds.pages)}
            ),
            "card": pipeline.card.model_copy(update={"audit": pipeline.card.audit and beside(pipeline.card.audit)}),
            "duplicates": pipeline.duplicates.model_copy(update={"against": against}),
            "replies": pipeline.replies.model_copy(update={"file": beside(pipeline.replies.file)}),
        }
    )
    loaded._file = path
    read = [
        ("items", loaded.items),
        ("worlds.pages", loaded.worlds.pages),
        ("card.audit", loaded.card.audit),
        *(("duplicates.against", each) for each in against),
        *((f"prompts.{name}", each) for name, each in prompts.items()),
    ]
    if loaded.workbench in {each for _, each in read}:
        raise InputError(f"{path}: workbench: it is a file that is read", hint="name another file", code="bad_plan")
    written = [("workbench", loaded.workbench)]
    written += [] if loaded.replies.mode == "live" else [("replies.file", loaded.replies.file)]
    # Found when it is published, after all is paid: a folder that holds another file is not replaced.
    for key, file in (*read, *written):
        if file and Path(file).resolve().is_relative_to(Path(loaded.output).resolve()):
            raise InputError(
                f"{path}: {key}: {file} lies in `output`, which holds only what is published",
                hint="name a file elsewhere, or another `output`",
                code="bad_plan",
            )
    return loaded
