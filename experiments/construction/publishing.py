"""What is published: a question file, rows in LPFQA's published form, a data card."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from toolablate.benchmarks.prompt import LETTERS
from toolablate.benchmarks.questions import language_of
from toolablate.experiments.construction.audit import audit_told
from toolablate.experiments.construction.book_worlds import book_worlds
from toolablate.experiments.construction.funnel import Funnel, agreement_told, rows_told, source_of
from toolablate.experiments.construction.languages import languages_of
from toolablate.experiments.construction.pipeline import Pipeline, is_published
from toolablate.experiments.construction.question_checks import letter_of, texts_of
from toolablate.experiments.construction.stages import Content
from toolablate.experiments.construction.style_guess import style_told
from toolablate.experiments.construction.thread_worlds import thread_worlds
from toolablate.traces.new_files import new_folder
from toolablate.traces.records import ChoiceTarget, Question, ReferenceTarget, Rubric

ID_DIGITS = 16


def canary_of(pipeline: Pipeline) -> str:
    """In each row and in the card: who filters training data for it leaves this benchmark out. It stays the same when
    items change, since it is a part of each question, and is another one under another title or output."""
    named = "\n".join((pipeline.kind, pipeline.card.title, pipeline.card.contact, Path(pipeline.output).name))
    return f"toolablate benchmark data, not for training: {uuid5(NAMESPACE_URL, named)}"


def question_of(item: str, content: Content, canary: str, language: str) -> Question:
    """As an ablation asks it. Wrong replies of the thread are what `T:adversarial` shows."""
    asked = content["asked"]
    wrong = content["wrong_replies"]
    metadata: dict[str, Any] = {
        "kind": content["kind"],
        "clarity": content["clarity"],
        "canary": canary,
        **({"source_urls": [content["url"]]} if content["url"] else {}),
        **({"forum": content["forum"]} if content["forum"] else {}),
        **({"adversarial": wrong[0]} if wrong and "options" not in asked else {}),
    }
    common = {
        "id": item[:ID_DIGITS],
        "prompt": asked["question"],
        "domain": content["domain"],
        "language": language,
        "metadata": metadata,
    }
    if "options" in asked:
        return Question(choices=tuple(asked["options"]), target=ChoiceTarget(letters=(letter_of(asked),)), **common)
    points = "\n".join(f"{number}. {point}" for number, point in enumerate(asked["points"], start=1))
    rubric = Rubric(reference=asked["answer"], points=points)
    return Question(target=ReferenceTarget(answer=asked["answer"]), rubric=rubric, **common)


def lpfqa_row(item: str, content: Content, canary: str) -> dict[str, str]:
    """In the form that LPFQA is published in, which `lpfqa import` reads."""
    asked = content["asked"]
    if "options" in asked:
        listed = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, asked["options"], strict=False))
        prompt, answer = f"{asked['question']}\n{listed}", letter_of(asked)
        points = ""
    else:
        prompt, answer = asked["question"], asked["answer"]
        points = "\n".join(f"{number}. {point}" for number, point in enumerate(asked["points"], start=1))
    chinese = language_of(asked["question"]) == "zh"
    heads = ("<参考答案>", "<评估要点>") if chinese else ("<Reference Answer>", "<Evaluation Points>")
    parts = [f"{heads[0]}\n{answer}", *([f"{heads[1]}\n{points}"] if points else [])]
    return {
        "prompt_id": item[:ID_DIGITS],
        "prompt": prompt,
        "response_reference": "\n".join(parts),
        "primary_domain": content["domain"],
        "canary": canary,
    }


def publish(pipeline: Pipeline, contents: Mapping[str, Content], funnel: Funnel) -> Path:
    """Makes the pipeline's `output` anew, in one step: `card.md`, and of questions `questions.jsonl` and `lpfqa.jsonl`,
    of statements `statements.jsonl`, and the corpora of worlds. Raises InputError where that cannot be written."""
    made = _of_questions(pipeline, contents) if pipeline.kind == "questions" else _of_statements(pipeline, contents)
    made["card.md"] = card_of(pipeline, contents, funnel)
    # New rows beside an old card would be neither set.
    with new_folder(Path(pipeline.output), is_published, "output") as folder:
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
    return Path(pipeline.output)


def _of_questions(pipeline: Pipeline, contents: Mapping[str, Content]) -> dict[str, str]:
    canary = canary_of(pipeline)
    languages = languages_of(["\n".join(text for _, text in texts_of(each["asked"])) for each in contents.values()])
    made_of = zip(contents.items(), languages, strict=True)
    rows_of_questions = [question_of(item, content, canary, language) for (item, content), language in made_of]
    # Of a file with several languages, English is no default.
    questions = [
        json.dumps(
            {**each.model_dump(mode="json", exclude_defaults=True), "language": each.language}, ensure_ascii=False
        )
        for each in rows_of_questions
    ]
    rows = [json.dumps(lpfqa_row(item, content, canary), ensure_ascii=False) for item, content in contents.items()]
    made = {"questions.jsonl": _lines(questions), "lpfqa.jsonl": _lines(rows)}
    if pipeline.worlds.threads:
        worlds = thread_worlds(contents)
        for name, documents in (("threads.jsonl", worlds.true), ("falsified_threads.jsonl", worlds.false)):
            made[name] = _lines(json.dumps(each, ensure_ascii=False) for each in documents)
    return made


def _of_statements(pipeline: Pipeline, contents: Mapping[str, Content]) -> dict[str, str]:
    by_book = defaultdict[str, dict[str, Content]](dict)
    for item, content in contents.items():
        by_book[content["book"]][item] = content
    languages = dict[str, str]()
    for some in by_book.values():
        languages |= zip(
            some, languages_of([f"{each['text']}\n{each['false']['text']}" for each in some.values()]), strict=True
        )
    statements = [
        statement for item, content in contents.items() for statement in statements_of(item, content, languages[item])
    ]
    canary = {"canary": canary_of(pipeline)}
    made = {"statements.jsonl": _lines(json.dumps(each | canary, ensure_ascii=False) for each in statements)}
    if pipeline.worlds.pages:
        worlds = book_worlds(pipeline.worlds.pages, contents)
        for name, documents in (("book.jsonl", worlds.true), ("falsified_book.jsonl", worlds.false)):
            made[name] = _lines(json.dumps(each, ensure_ascii=False) for each in documents)
    return made


def statements_of(item: str, content: Content, language: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The correct statement and its incorrect twin, as the rows that questions are composed of."""
    about = {key: content[key] for key in ("discipline", "field", "subfield", "book", "page") if content[key]}
    about["language"] = language
    correct, false = item[:ID_DIGITS], content["false"]
    twin = {"text": false["text"], "reason": false["reason"], "strategy": false["strategy"]}
    return (
        {"id": correct, "text": content["text"], "correct": True, **about},
        {"id": f"{correct}-false", "correct": False, "of": correct, **twin, **about},
    )


def _lines(rows: Iterable[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def card_of(pipeline: Pipeline, contents: Mapping[str, Content], funnel: Funnel) -> str:
    """Markdown: what is in it, where it is from, how it was made."""
    card = pipeline.card
    forms = Counter(map(_form, contents.values()))
    sources = Counter(map(_source, contents.values()))
    models = {role: pipeline.model_of(role).name for role in ("writer", "checker")}
    lines = [
        f"# {card.title or pipeline.kind.capitalize()}",
        "",
        f"{len(contents)} {pipeline.kind}: {', '.join(f'{count} {form}' for form, count in forms.items()) or 'none'}.",
        "",
        f"- Licence: {card.licence or 'not stated'}",
        f"- Contact: {card.contact or 'not stated'}",
        f"- Canary: `{canary_of(pipeline)}`",
        f"- Models: {', '.join(f'{role} {_cell(name)}' for role, name in models.items())}",
        *([f"- Prompts that are not toolablate's own: {', '.join(pipeline.prompts)}"] if pipeline.prompts else []),
        f"- Review: {_reviewed_by(pipeline.review.reviewers)}",
        *(f"- {told}" for told in agreement_told(funnel.agreement)),
        *(f"- {told}" for told in _measured(pipeline, funnel)),
        f"- Personal data: {_PERSONAL if pipeline.kind == 'questions' else 'not looked for in texts of books'}.",
        "",
        *_reviewers(funnel),
        "## Sources",
        "",
        f"| source | licence | {pipeline.kind} |",
        "|---|---|---|",
        *(f"| {_cell(forum)} | {_cell(licence)} | {count} |" for (forum, licence), count in sorted(sources.items())),
        "",
        "## Domains",
        "",
        f"| domain | {pipeline.kind} |",
        "|---|---|",
        *(f"| {_cell(domain)} | {count} |" for domain, count in funnel.domains.items()),
        "",
        "## Funnel",
        "",
        f"| stage | in | out | {funnel.paper} | dropped | waiting |",
        "|---|---|---|---|---|---|",
        *(
            f"| {each.stage} | {each.came} | {each.kept} | {_cell(each.paper)} | {_reasons(each.dropped)}"
            f" | {_reasons(each.waiting)} |"
            for each in funnel.stages
        ),
        "",
        *([rows_told(funnel) + ".", ""] if funnel.repeated else []),
        f"Beside it, {funnel.paper_funnel}.",
        "",
    ]
    return "\n".join(lines)


def _reviewers(funnel: Funnel) -> list[str]:
    if not funnel.reviewers:
        return []
    rows = [
        (_cell(each.alias), _cell(each.field), _cell(each.degree), str(each.items), _seconds(each.median_seconds))
        for each in funnel.reviewers
    ]
    head = [
        "## Reviewers",
        "",
        "| reviewer | field | degree | items decided | median seconds |",
        "|---|---|---|---|---|",
    ]
    return [*head, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _seconds(median: float | None) -> str:
    return "" if median is None else f"{median:.0f}"


def _measured(pipeline: Pipeline, funnel: Funnel) -> list[str]:
    style = style_told(funnel.style, pipeline.kind)
    return [*([style] if style else []), *(audit_told(funnel.audit) if funnel.audit else [])]


_PERSONAL = (
    "mail addresses, profile links, telephone numbers that begin with +, @handles and the names that the source gave"
    " were removed by rule before any model read the texts; other names may remain, and names that are ordinary words"
)


def told_of_published(pipeline: Pipeline, contents: Mapping[str, Content]) -> list[str]:
    """What its maker should know before it is passed on: items without a licence, and how much of a book or of threads
    is falsified."""
    bare = sum(not content.get("licence") for content in contents.values())
    of_none = [f"{bare} of {len(contents)} {pipeline.kind} have no `licence` of their source; the card says unknown"]
    return [*(of_none if bare else []), *_told_of_worlds(pipeline, contents)]


def _told_of_worlds(pipeline: Pipeline, contents: Mapping[str, Content]) -> list[str]:
    if pipeline.worlds.threads and pipeline.kind == "questions":
        found = len(thread_worlds(contents).found)
        return [f"{found} of {len(contents)} threads have a wrong reply, their answer in falsified_threads.jsonl"]
    if not pipeline.worlds.pages:
        return []
    found = len(book_worlds(pipeline.worlds.pages, contents).found)
    return [
        f"{found} of {len(contents)} statements stand in the book word for word, and are false in falsified_book.jsonl"
    ]


def _form(content: Content) -> str:
    if "false" in content:
        return f"falsified by {content['false']['strategy']}"
    return "multiple choice" if "options" in content["asked"] else "short answer"


def _source(content: Content) -> tuple[str, str]:
    return source_of(content), content.get("licence") or "unknown"


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{_cell(reason)} {count}" for reason, count in counts.items())


def _reviewed_by(people: int) -> str:
    if not people:
        return "none, published without people"
    return f"{people} {'person' if people == 1 else 'people'} per item"


def _cell(text: str) -> str:
    """Foreign text in one cell of a table: no mark-up, no end of line."""
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]<>()#+!|~" else sign for sign in " ".join(text.split()))
