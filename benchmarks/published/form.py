"""What a file of published tables may hold, before its tables are put together."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Texts = Annotated[list[Text], Field(min_length=1)]

TEXT = "a text in quotes"
NAMES = 'a list of names of columns: ["Max"]'
RULES = 'a list of texts such as ["Total = En + Zh"]'
ALLOWED = {
    "source": f"{TEXT}: the paper that the tables are from",
    "table": "a list of tables, each begun by [[table]]",
    "name": f"{TEXT}, by which other tables speak of it",
    "caption": TEXT,
    "columns": f'{NAMES}, "Δ", "rank" and "share" being of the column before them',
    "rows": "a text, in ''' ''', with one row per line: a name, then its cells",
    "baseline": f'{TEXT}: a column, "No tools", or one of another table, "1: Score"',
    "average": f"{TEXT}: the name of the row that averages the others",
    "total": f"{TEXT}: the name of the row that adds the others up",
    "largest": NAMES,
    "smallest": NAMES,
    "weights": 'a table of columns by columns: { "Tokens avg" = "Total" }',
    "sums": RULES,
    "means": RULES,
    "weighted_means": RULES,
    "copies": 'a list of texts such as ["LPFQA = 2: Overall"]',
    "questions": "a whole number of 1 or more, or one for each column: { Law = 43 }",
    "repeats": "a whole number of 1 or more",
}


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TableForm(_Form):
    name: Text
    columns: Texts
    rows: str
    caption: str = ""
    baseline: Text | None = None
    average: Text | None = None
    total: Text | None = None
    largest: list[Text] = []
    smallest: list[Text] = []
    weights: dict[str, Text] = {}
    sums: list[Text] = []
    means: list[Text] = []
    weighted_means: list[Text] = []
    copies: list[Text] = []
    questions: Count | dict[str, Count] | None = None
    repeats: Count = 1


class PaperForm(_Form):
    source: Text
    table: Annotated[list[dict[str, Any]], Field(min_length=1)]
