"""What is published: a question file, rows in LPFQA's published form, a data card."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolablate.experiments.construction.audit import audit_told
from toolablate.experiments.construction.book_worlds import book_worlds
from toolablate.experiments.construction.building import Built, Passed, seen_so_far
from toolablate.experiments.construction.funnel import Funnel, agreement_told, rows_told, source_of
from toolablate.experiments.construction.kinds import load_items
from toolablate.experiments.construction.known_names import KnownNames, address_of, address_parts
from toolablate.experiments.construction.languages import told_language
from toolablate.experiments.construction.pipeline import Pipeline, is_published, require_own_set
from toolablate.experiments.construction.question_checks import letter_of, lpfqa_texts, numbered
from toolablate.experiments.construction.review import Review, by_item, said_of
from toolablate.experiments.construction.stages import ID_DIGITS, Content, Dropped, Role
from toolablate.experiments.construction.statement_stages import set_alike
from toolablate.experiments.construction.style_guess import style_told
from toolablate.experiments.construction.thread_worlds import false_replies, thread_worlds
from toolablate.experiments.construction.workbench import Workbench
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.new_files import new_folder
from toolablate.traces.records import ChoiceTarget, Question, ReferenceTarget, Rubric
from toolablate.traces.terminal_text import plain_text


def question_of(item: str, content: Content, canary: str, language: str, *, block_source: bool = True) -> Question:
    """As an ablation asks it. A false reply of the thread is what `T:adversarial` shows. With `block_source` the site
    of its thread, which has the answer, is kept from models."""
    asked = content["asked"]
    wrong = [] if "options" in asked else false_replies(content)
    metadata: dict[str, Any] = {
        "kind": content["kind"],
        "clarity": content["clarity"],
        "canary": canary,
        **({"source_urls": [content["url"]]} if content["url"] else {}),
        **({"forum": content["forum"]} if content["forum"] else {}),
        **_licence(content),
        **({"adversarial": wrong[0]} if wrong else {}),
    }
    common = {
        "id": item[:ID_DIGITS],
        "prompt": asked["question"],
        "domain": content["domain"],
        "language": language,
        "blocked_hosts": _host_of(content["url"]) if block_source else (),
        "metadata": metadata,
    }
    if "options" in asked:
        choices = tuple(map(str.strip, asked["options"]))
        return Question(choices=choices, target=ChoiceTarget(letters=(letter_of(asked),)), **common)
    answer = asked["answer"].strip()
    rubric = Rubric(reference=answer, points=numbered(asked["points"]))
    return Question(target=ReferenceTarget(answer=answer), rubric=rubric, **common)


def _host_of(url: str) -> tuple[str, ...]:
    """The whole site: a thread has several addresses, and a name in its own gave way. () where it is on no site, or
    the site's own name had one."""
    from toolablate.tools.web import WebPolicy

    with suppress(ValueError):
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme in ("http", "https") and host and "-" not in host.split("."):
            WebPolicy(blocked_hosts=frozenset({host}))
            return (host,)
    return ()


def without_own_sites(contents: Mapping[str, Content]) -> dict[str, Content]:
    """A site that is called like somebody who wrote in each of its threads may be a person's own, and its name gives
    way. Where others wrote as well it is a forum, and who is called so one of its moderators."""
    urls = {item: (address_parts(content["url"]), content) for item, content in contents.items()}
    bare = {
        item: KnownNames.read(content.get("names", {})).without_in_host(host)
        for item, ((_, host, _), content) in urls.items()
    }
    forums = {host for item, ((_, host, _), _) in urls.items() if bare[item] == host}
    return {
        item: content if host in forums else {**content, "url": address_of(start, bare[item], path)}
        for item, ((start, host, path), content) in urls.items()
    }


def _blocks_told(contents: Mapping[str, Content]) -> list[str]:
    bare = sum(not _host_of(content["url"]) for content in contents.values())
    why = "their `url` has none, or one that may be a person's own"
    return [f"{bare} of {len(contents)} questions have no site that is kept from models: {why}"] if bare else []


def lpfqa_row(item: str, content: Content, canary: str) -> dict[str, str]:
    """In the form that LPFQA is published in, which `lpfqa import` reads."""
    about = {"primary_domain": content["domain"], **_licence(content), "canary": canary}
    return {"prompt_id": item[:ID_DIGITS], **lpfqa_texts(content["asked"]), **about}


def _licence(content: Content) -> dict[str, str]:
    """Of the source, where it is known: who takes rows out of the set takes it along."""
    return {"licence": content["licence"]} if content.get("licence") else {}


@dataclass(frozen=True, slots=True)
class Published:
    """`told` is what the maker should know before it is passed on: items without a licence, questions whose source is
    not kept from models, and how much of a book or of threads is falsified."""

    folder: Path
    told: tuple[str, ...]


def publish(
    pipeline: Pipeline,
    built: Built,
    funnel: Funnel,
    canary: str,
    tell: Callable[[str], None] = lambda _: None,
) -> Published:
    """Makes the pipeline's `output` anew, in one step, of a whole build: `card.md`, and of questions `questions.jsonl`
    and `lpfqa.jsonl`, of statements `statements.jsonl`, and the corpora of worlds. The `canary` is in each row and in
    the card. `tell` hears of what takes long. Raises InputError where that cannot be written, or another pipeline's set
    is there."""
    contents = _as_published(pipeline, built.published or {})
    made, told = (
        _of_questions(pipeline, contents, canary, _mended(built))
        if pipeline.kind == "questions"
        else _of_statements(pipeline, contents, canary, tell)
    )
    made["card.md"] = card_of(pipeline, contents, funnel, canary, made)
    # New rows beside an old card would be neither set.
    with new_folder(Path(pipeline.output), is_published, "output") as folder:
        # Another build may have come first.
        require_own_set(pipeline, canary)
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
    return Published(Path(pipeline.output), (*licences_told(pipeline, contents), *(told if contents else ())))


def _language_of(content: Content) -> str:
    """That of what is asked: the explanation is not published, and may be in another."""
    asked = content["asked"]
    return told_language("\n".join((asked["question"], *asked.get("options", ()))))


def require_published(pipeline: Pipeline, contents: Mapping[str, Content], bench: Workbench) -> None:
    """Raises InputError where `output` has not the rows of `contents`, what the workbench would publish now."""
    try:
        there = (Path(pipeline.output) / f"{pipeline.kind}.jsonl").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        there = None
    if there is None or there != _rows_of(pipeline, _as_published(pipeline, contents), bench.canary()):
        what = "is not what the workbench has by now" if there is not None else "is not there yet"
        raise InputError(
            f"output: what is published {what}",
            hint=f"run `toolablate build {pipeline.file}` first",
            code="unpublished",
        )


def _as_published(pipeline: Pipeline, contents: Mapping[str, Content]) -> Mapping[str, Content]:
    return without_own_sites(contents) if pipeline.kind == "questions" else contents


def _rows_of(pipeline: Pipeline, contents: Mapping[str, Content], canary: str) -> str:
    """What the file of all items has."""
    if pipeline.kind == "statements":
        statements = [
            statement
            for item, content in contents.items()
            for statement in statements_of(
                item, content, told_language(f"{content['text']}\n{content['false']['text']}")
            )
        ]
        return _documents(statements, canary)
    # The threads are a corpus then, which is to be searched.
    block = not pipeline.worlds.threads
    questions = [
        question_of(item, content, canary, _language_of(content), block_source=block)
        for item, content in contents.items()
    ]
    # Of a file with several languages, English is no default.
    rows = [{**each.model_dump(mode="json", exclude_defaults=True), "language": each.language} for each in questions]
    return _lines(json.dumps(each, ensure_ascii=False) for each in rows)


def _of_questions(
    pipeline: Pipeline, contents: Mapping[str, Content], canary: str, mended: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """The files, and what is told of them."""
    rows = [json.dumps(lpfqa_row(item, content, canary), ensure_ascii=False) for item, content in contents.items()]
    made = {"questions.jsonl": _rows_of(pipeline, contents, canary), "lpfqa.jsonl": _lines(rows)}
    if not pipeline.worlds.threads:
        return made, _blocks_told(contents)
    worlds = thread_worlds(contents, mended)
    made["threads.jsonl"] = _documents(worlds.true, canary)
    made["falsified_threads.jsonl"] = _documents(worlds.false, canary)
    found, left = (f"{len(each)} of {len(contents)}" for each in (worlds.found, worlds.left))
    told = [f"{found} threads have a wrong reply as their answer in falsified_threads.jsonl"]
    if worlds.left:
        told.append(
            f"{left} threads stay true there: the right answer is in their question or in each wrong reply,"
            " or several questions are of one thread"
        )
    if mended:
        told.append(f"{len(mended)} of {len(contents)} threads are published in the words of their mended items")
    return made, told


def _mended(built: Built) -> frozenset[str]:
    """The published items in which people changed a text, and not labels alone."""
    came = built.review.contents
    return frozenset(
        item
        for item, content in (built.published or {}).items()
        if any(content[key] != came[item][key] for key in ("asked", "wrong_replies") if key in content)
    )


def _of_statements(
    pipeline: Pipeline, contents: Mapping[str, Content], canary: str, tell: Callable[[str], None]
) -> tuple[dict[str, str], list[str]]:
    made = {"statements.jsonl": _rows_of(pipeline, contents, canary)}
    if not pipeline.worlds.pages:
        return made, []
    if contents:
        tell(f"Looking for {counted(len(contents), 'statement')} in the book")
    worlds = book_worlds(pipeline.worlds.pages, _as_cut(pipeline, contents))
    made["book.jsonl"] = _documents(worlds.true, canary)
    made["falsified_book.jsonl"] = _documents(worlds.false, canary)
    found = f"{len(worlds.found)} of {len(contents)}"
    return made, [f"{found} statements stand in the book word for word, and are false in falsified_book.jsonl"]


def _as_cut(pipeline: Pipeline, contents: Mapping[str, Content]) -> Mapping[str, Content]:
    """As the statements stand in the book: who proofread them may have mended what a book does not have so."""
    if not pipeline.review.proofreaders:
        return contents
    rows = load_items(pipeline)
    return {item: {**content, "text": rows[item]["text"]} for item, content in contents.items()}


def _documents(documents: Iterable[Mapping[str, Any]], canary: str) -> str:
    return _lines(json.dumps({**each, "canary": canary}, ensure_ascii=False) for each in documents)


def statements_of(item: str, content: Content, language: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The correct statement and its incorrect twin, as the rows that questions are composed of."""
    keys = ("discipline", "field", "subfield", "book", "page", "section")
    about = {key: content[key] for key in keys if content.get(key)}
    about |= {**_licence(content), "language": language}
    correct, false = item[:ID_DIGITS], content["false"]
    text, false_text = set_alike(content["text"], false["text"])
    twin = {"text": false_text, "reason": false["reason"], "strategy": false["strategy"]}
    return (
        {"id": correct, "text": text, "correct": True, **about},
        {"id": f"{correct}-false", "correct": False, "of": correct, **twin, **about},
    )


def _lines(rows: Iterable[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def card_of(
    pipeline: Pipeline, contents: Mapping[str, Content], funnel: Funnel, canary: str, files: Mapping[str, str]
) -> str:
    """Markdown: what is in it, where it is from, how it was made. `files` are those beside it, by name."""
    card = pipeline.card
    forms = Counter(map(_form, contents.values()))
    sources = Counter(map(_source, contents.values()))
    roles: tuple[Role, ...] = ("reader", "writer", "checker") if pipeline.reads else ("writer", "checker")
    models = {role: pipeline.model_of(role).name for role in roles}
    lines = [
        f"# {card.title or pipeline.kind.capitalize()}",
        "",
        f"{len(contents)} {pipeline.kind}: {', '.join(f'{count} {form}' for form, count in forms.items()) or 'none'}.",
        "",
        f"- Licence: {card.licence or 'not stated'}",
        f"- Contact: {card.contact or 'not stated'}",
        f"- Canary: `{canary}`",
        f"- Models: {', '.join(f'{role} {_cell(name)}' for role, name in models.items())}",
        *([f"- Prompts that are not toolablate's own: {', '.join(pipeline.prompts)}"] if pipeline.prompts else []),
        f"- Review: {_reviewed_by(pipeline.review.reviewers)}",
        *(f"- {told}" for told in agreement_told(funnel.agreement)),
        *(
            [f"- Proofreading of the correct statements: {_reviewed_by(pipeline.review.proofreaders)}"]
            if funnel.proofreading
            else []
        ),
        *(f"- {told}" for told in (agreement_told(funnel.proofreading, "Proofreading") if funnel.proofreading else ())),
        *(f"- {told}" for told in _measured(pipeline, funnel)),
        f"- Personal data: {_personal(pipeline)}.",
        "",
        *_reviewers(funnel),
        "## Files",
        "",
        "| file | rows | what |",
        "|---|---|---|",
        *(f"| `{name}` | {_rows(text)} | {_FILES[name]} |" for name, text in files.items()),
        "",
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


_FILES = {
    "questions.jsonl": "the questions, for an ablation",
    "lpfqa.jsonl": "the same in LPFQA's published form",
    "threads.jsonl": "their threads, as a corpus; of a question that people mended its own words",
    "falsified_threads.jsonl": "**false**: the same with a wrong reply as the answer, where `falsified` is true",
    "statements.jsonl": "the statements, of which those with `correct` false are made up",
    "book.jsonl": "the book's pages, as a corpus",
    "falsified_book.jsonl": "**false**: the same with false statements in it, where `falsified` is true",
}


def _rows(text: str) -> int:
    return text.count("\n")


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
    groups = ", ".join(f"{group} {number}" for group, number in funnel.institutions.items())
    told = [f"Institutions: {groups}.", ""] if groups else []
    return [*head, *(f"| {' | '.join(row)} |" for row in rows), "", *told]


def _seconds(median: float | None) -> str:
    return "" if median is None else f"{median:.0f}"


def _measured(pipeline: Pipeline, funnel: Funnel) -> list[str]:
    style = style_told(funnel.style, pipeline.kind)
    return [*([style] if style else []), *(audit_told(funnel.audit) if funnel.audit else [])]


def _personal(pipeline: Pipeline) -> str:
    if pipeline.kind != "questions":
        return "not looked for in texts of books"
    named, when = "the source gave", "before any model read the texts"
    if pipeline.reads:
        # Pictures are as they were captured.
        named, when = "the reader found", "from what a model had read off pictures of pages, which had all of these"
    return (
        "mail addresses, profile links, telephone numbers that begin with +, @handles and the names that"
        f" {named} were removed by rule {when}; other names may remain, and names that are ordinary words"
    )


def licences_told(pipeline: Pipeline, contents: Mapping[str, Content]) -> list[str]:
    """Sources without a licence, and those whose licence has a term that the card's has not, by its name."""
    bare = sum(not content.get("licence") for content in contents.values())
    of_none = f"{bare} of {len(contents)} {pipeline.kind} have no `licence` of their source; the card says unknown"
    card = pipeline.card.licence
    own = _terms_of(card)
    sources = Counter(content["licence"] for content in contents.values() if content.get("licence"))
    lost = {licence: sorted(_terms_of(licence) - own) for licence in sources} if card else {}
    told = [
        f"{sources[licence]} of {len(contents)} {pipeline.kind} are of sources under {licence}"
        f" ({', '.join(_TERMS[term] for term in terms)}), and the card says {card}"
        for licence, terms in lost.items()
        if terms
    ]
    return [*([of_none] if bare else []), *told]


_TERMS = {"NC": "not for commercial use", "ND": "no changed versions", "SA": "to be passed on under the same licence"}


def _terms_of(licence: str) -> set[str]:
    """As Creative Commons abbreviates them."""
    return set(re.findall(r"(?<![A-Za-z])(?:NC|ND|SA)(?![A-Za-z])", licence.upper()))


def told_of_lost(pipeline: Pipeline, bench: Workbench) -> Iterator[str]:
    """Before a build: how many decisions of people are on published items whose text is another now, or gone, and why;
    and how many on others that wait with another text. Nothing is asked or written."""
    known = {item: said for item, said in by_item(bench.decisions()).items() if _has_people(pipeline)}
    if not known:
        return
    published = _published_ids(pipeline)
    built = seen_so_far(pipeline, bench)
    # Who passed the last review was decided on there.
    review = built.review if pipeline.review.reviewers else built.reviews[0]
    stages = built.stages[: built.stages.index(review) + 1]
    assert isinstance(review.stage, Review)
    applies = said_of(bench.decisions(), review.contents, review.stage)
    none = known.keys() - applies.keys()
    lost = [item for item in none if item[:ID_DIGITS] in published]
    waiting = [item for item in none.intersection(review.contents) if item[:ID_DIGITS] not in published]
    if waiting:
        said = counted(sum(len(known[item]) for item in waiting), "decision")
        items = counted(len(waiting), "item")
        yield f"{said} of people on {items} not published yet: on another text than what waits for review now"
    if not lost:
        return
    why = {item: _left_at(item, stages) for item in lost}
    anew = [item for item in lost if why[item].endswith(_ANEW)]

    def told(items: Collection[str], what: str) -> list[str]:
        decisions = sum(each.seen == known[item][-1].seen for item in items for each in known[item])
        reasons = Counter(why[item] for item in items).most_common()
        where = f"{len(items)} of {len(published)} published {pipeline.kind}"
        listed = "; ".join(f"{reason} ({count})" for reason, count in reasons)
        return [f"{counted(decisions, 'decision')} of people on {where} {what}: {listed}"] if items else []

    changed = [item for item in lost if item not in anew]
    yield from told(changed, "no longer count, so that this build publishes without these")
    yield from told(anew, "count on where it comes out as before, and no longer where it does not")


def _has_people(pipeline: Pipeline) -> bool:
    return bool(pipeline.review.reviewers or pipeline.review.proofreaders)


def _published_ids(pipeline: Pipeline) -> frozenset[str]:
    """Of what `output` has now; none where it has nothing that can be read."""
    try:
        lines = (Path(pipeline.output) / f"{pipeline.kind}.jsonl").read_bytes().splitlines()
        return frozenset(json.loads(line)["id"].removesuffix("-false") for line in lines)
    except (OSError, ValueError, KeyError):
        return frozenset()


def _left_at(item: str, stages: Sequence[Passed]) -> str:
    if not any(item in each.contents for each in stages):
        return "no row of `items` has their texts"
    last = [each for each in stages if item in each.contents][-1]
    if last is stages[-1]:
        return "what is made of them is another text"
    return f"`{last.stage.name}` {'drops them' if isinstance(last.outcomes.get(item), Dropped) else _ANEW}"


_ANEW = "is done anew"


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
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]<>()#+!|~" else sign for sign in " ".join(plain_text(text).split()))
