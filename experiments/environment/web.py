"""The web that the tools of all trials stand on: live, recorded or replayed; its name, and its guard."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from toolablate.benchmarks.builtin import BUILTIN_CORPUS
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.sections import McpSection, SearchSection, WebSection
from toolablate.tools.guards.guard import Guard, Guards, Inspection
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from toolablate.tools.archive import Archive
    from toolablate.tools.browser import PageSource
    from toolablate.tools.corpus import Corpus
    from toolablate.tools.mcp import HttpAddress, McpServer, StdioAddress
    from toolablate.tools.search import SearchSource
    from toolablate.tools.web import LiveHttpClient

Tell = Callable[[str], None]


def silent(_: str) -> None:
    """For who wants to hear nothing."""


@dataclass(frozen=True, slots=True)
class OpenedWeb:
    """What the tools are given; what no tool needs is not there. `warnings` are for whoever runs the plan."""

    search: "SearchSource | None" = None
    pages: "PageSource | None" = None
    mcp: "Mapping[str, McpServer]" = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def parts(self) -> frozenset[str]:
        """Of `search`, `pages` and `mcp` what there is."""
        there = {"search": self.search, "pages": self.pages, "mcp": self.mcp or None}
        return frozenset(part for part, source in there.items() if source is not None)

    def before(self, other: "OpenedWeb") -> "OpenedWeb":
        """All that either has; this one's where both have it."""
        return replace(other, **{part: getattr(self, part) for part in self.parts})


async def open_web(
    plan: Plan,
    parts: frozenset[str],
    stack: AsyncExitStack,
    *,
    servers: Sequence[str] = (),
    refresh: bool = False,
    tell: Tell = silent,
) -> OpenedWeb:
    """Opens what `parts` (of `search`, `pages`, `mcp`) stand on, and lists the `servers`; the stack closes it.

    `tell` is called with a sentence before what may take a while.

    In replay nothing is opened that could reach a network. Raises InputError for what cannot be had.
    """
    archive = open_plan_archive(plan, parts, stack)
    corpus = open_plan_corpus(plan, stack, tell) if offline(plan) and parts & {"search", "pages"} else None
    return OpenedWeb(
        search=_search(plan, archive, corpus, refresh=refresh) if "search" in parts else None,
        pages=_pages(plan.web, archive, corpus, stack, refresh=refresh) if "pages" in parts else None,
        mcp=await _listed_servers(plan, servers, archive) if "mcp" in parts else {},
        warnings=(*(skipped_documents(corpus) if corpus else ()), *(_ahead(plan.web) if archive else ())),
    )


def offline(plan: Plan) -> bool:
    """Whether searches and pages come from documents of the user's own, which need no archive."""
    return plan.search is not None and plan.search.provider == "corpus"


def asks_the_web(plan: Plan, parts: frozenset[str]) -> bool:
    """Whether anything is looked up that an archive could hold."""
    return "mcp" in parts or (bool(parts & {"search", "pages"}) and not offline(plan))


def search_section(plan: Plan) -> SearchSection:
    if plan.search is None:
        raise InputError(
            "search needs a table [search] in the plan",
            hint='provider = "ddgs" searches live; provider = "corpus", corpus = "documents.jsonl" offline',
            code="no_search",
        )
    return plan.search


def corpus_path(section: SearchSection) -> Path:
    return BUILTIN_CORPUS if section.corpus == "builtin" else Path(section.corpus)


def open_plan_archive(plan: Plan, parts: frozenset[str], stack: "AsyncExitStack | ExitStack") -> "Archive | None":
    """The archive that the plan's mode asks for, if it asks for one. Raises InputError, also for one not sealed.

    One that is made for this is gone again where the stack ends in an error before anything was recorded.
    """
    if plan.web.mode == "live" or not asks_the_web(plan, parts):
        return None
    from toolablate.tools.archive import open_archive, unmade_if_unused

    folder, recording = Path(plan.web.archive), plan.web.mode == "record"
    if recording:
        stack.enter_context(unmade_if_unused(folder))
    archive = stack.enter_context(open_archive(folder, write=recording))
    if plan.web.mode == "replay" and not archive.sealed:
        raise InputError(
            f"web.archive: {plan.web.archive} is not sealed: it could still change",
            hint=f"when all is recorded: toolablate web seal {plan.web.archive}",
            code="not_sealed",
        )
    return archive


def open_plan_corpus(plan: Plan, stack: "AsyncExitStack | ExitStack", tell: Tell = silent) -> "Corpus":
    """The documents that the plan names; the first time that they are opened they are indexed. Raises InputError."""
    from toolablate.tools.corpus import open_corpus

    said = iter(["Indexing the documents of the corpus; the index is kept for the next time"])

    def progress(*_: int) -> None:
        for text in said:
            tell(text)

    corpus = open_corpus(corpus_path(search_section(plan)), progress=progress)
    stack.callback(corpus.close)
    return corpus


def skipped_documents(corpus: "Corpus") -> tuple[str, ...]:
    """A sentence on the documents that cannot be read, if there are any."""
    skipped = corpus.skipped
    if not skipped:
        return ()
    more = f" and {len(skipped) - 3} more" if len(skipped) > 3 else ""
    shown = "; ".join(f"{each.path}: {each.reason}" for each in skipped[:3])
    count = "1 document" if len(skipped) == 1 else f"{len(skipped)} documents"
    return (f"{count} of the corpus cannot be read: {shown}{more}",)


def _ahead(web: WebSection) -> tuple[str, ...]:
    """A sentence on an `as_of` that leaves out nothing, since it is still to come."""
    if web.until is None or web.until.date() <= datetime.now(UTC).date():
        return ()
    return (f"web.as_of: {web.as_of} is still to come, so nothing is left out",)


def _search(plan: Plan, archive: "Archive | None", corpus: "Corpus | None", *, refresh: bool) -> "SearchSource":
    from toolablate.tools.search import LiveSearch

    if corpus is not None:
        from toolablate.tools.corpus import CorpusSearch

        return LiveSearch(CorpusSearch(corpus))
    from toolablate.tools.search import open_provider

    section, mode = search_section(plan), plan.web.mode
    options = provider_options(plan)
    # What replays has no key and no client.
    provider = None if mode == "replay" else open_provider(api_key_env=section.api_key_env, **options)
    if archive is None:
        assert provider is not None
        return LiveSearch(provider)
    from toolablate.tools.recorded import RecordedSearch
    from toolablate.tools.search import provider_identity

    name, parameters = provider_identity(**options)
    return RecordedSearch(name, parameters, archive, mode, provider, as_of=plan.web.until, refresh=refresh)


class ProviderOptions(TypedDict):
    """What a plan says of its search service, apart from the key."""

    name: str
    endpoint: str
    backend: str
    region: str
    language: str
    options: dict[str, str]


def provider_options(plan: Plan) -> ProviderOptions:
    section = search_section(plan)
    return {
        "name": section.provider,
        "endpoint": section.endpoint,
        "backend": section.backend,
        "region": section.region,
        "language": plan.web.language,
        "options": section.options,
    }


def _pages(
    web: WebSection, archive: "Archive | None", corpus: "Corpus | None", stack: AsyncExitStack, *, refresh: bool
) -> "PageSource":
    if corpus is not None:
        from toolablate.tools.corpus import CorpusPages

        return CorpusPages(corpus)
    from toolablate.tools.extraction import ExtractionWorker
    from toolablate.tools.recorded import RecordedHttpClient, WebPages

    live = _live_client(web, stack) if web.mode != "replay" else None
    extractor = ExtractionWorker()
    stack.push_async_callback(extractor.close)
    if archive is None:
        assert live is not None
        return WebPages(live, web.policy, extractor)
    client = RecordedHttpClient(archive, web.mode, live, as_of=web.until, language=web.language, refresh=refresh)
    return WebPages(client, web.policy, extractor)


def _live_client(web: WebSection, stack: AsyncExitStack) -> "LiveHttpClient":
    from toolablate.tools.web import LiveHttpClient

    live = LiveHttpClient(web.policy)
    stack.push_async_callback(live.close)
    return live


async def _listed_servers(plan: Plan, names: Sequence[str], archive: "Archive | None") -> "dict[str, McpServer]":
    from toolablate.tools.mcp import McpServer
    from toolablate.tools.recorded import RecordedCalls

    calls = RecordedCalls(archive, plan.web.mode, as_of=plan.web.until)
    wanted = [section for section in plan.mcp if section.name in names]
    servers = [McpServer(each.name, server_address(each), calls, seconds=each.seconds) for each in wanted]
    for server in servers:
        await server.list()
    return {server.name: server for server in servers}


def server_address(section: McpSection) -> "StdioAddress | HttpAddress":
    from toolablate.tools.mcp import HttpAddress, StdioAddress

    if section.url:
        return HttpAddress(section.url, tuple(sorted(section.headers.items())))
    return StdioAddress(section.command, section.env, section.folder)


# Names for the web that trials stand on: what they see of it must be the same for all that are compared.


GUARDED = frozenset({"blocked_hosts", "block_leaks"})
"""Keys of `[web]` that hold for documents of the user's own as well."""


def web_fingerprint(plan: Plan, parts: frozenset[str]) -> dict[str, str]:
    """What `parts` (of `search`, `pages`, `mcp`) stand on. Raises InputError for what cannot be had."""
    fingerprint = {}
    if "search" in parts or (offline(plan) and "pages" in parts):
        fingerprint["search"] = _search_name(plan)
    if parts & {"search", "pages", "mcp"}:
        fingerprint["web"] = _web_name(plan, parts)
    if "mcp" in parts:
        fingerprint |= {f"mcp {section.name}": server_address(section).identity[:12] for section in plan.mcp}
    return fingerprint


def _search_name(plan: Plan) -> str:
    section = search_section(plan)
    if section.provider == "corpus":
        from toolablate.tools.corpus import corpus_digest

        name = "builtin" if section.corpus == "builtin" else "corpus"
        return f"{name}/{corpus_digest(corpus_path(section))[:12]}"
    from toolablate.tools.search import provider_identity

    name, parameters = provider_identity(**provider_options(plan))
    return f"{name}{_listed(parameters)}"


def _listed(parameters: "Mapping[str, JsonValue]") -> str:
    return f" ({', '.join(f'{key}={value}' for key, value in sorted(parameters.items()))})" if parameters else ""


def _web_name(plan: Plan, parts: frozenset[str]) -> str:
    """The mode with the archive, and whatever else decides what a model can see of the web."""
    details = _changed(plan.web)
    if not asks_the_web(plan, parts):
        return f"documents{_listed({name: details[name] for name in GUARDED & details.keys()})}"
    with ExitStack() as stack:
        archive = open_plan_archive(plan, parts, stack) if plan.web.mode == "replay" else None
        if archive is not None:
            return f"replay {archive.root}{_listed(details)}"
    if "pages" in parts and not offline(plan):
        from toolablate.tools.extraction import ExtractionWorker

        details["extractor"] = ExtractionWorker().identity
    name = f"record {Path(plan.web.archive).name}" if plan.web.mode == "record" else "live"
    return f"{name}{_listed(details)}"


def _changed(web: WebSection) -> "dict[str, JsonValue]":
    """What differs from the defaults, apart from what only paces requests."""
    written = web.model_dump(mode="json", exclude_defaults=True, exclude={"mode", "archive", "delay_seconds"})
    if web.mode == "replay":
        written.pop("robots", None)
    return {
        name: "+".join(sorted(map(str, value))) if isinstance(value, list) else value for name, value in written.items()
    }


# What is looked for in everything that comes from outside, question by question; the same for every condition.


def guard_for(question: Question, web: WebSection) -> Guard:
    """Marks leaks of the question with its answer, and text that speaks to the model; blocks what the plan blocks."""
    return _Guard(question, web)


class _Guard:
    """Taking a question apart costs 0.3 ms, and many trials never see anything from outside; so it waits until then."""

    def __init__(self, question: Question, web: WebSection) -> None:
        self._question = question
        self._web = web

    def inspect(self, url: str, text: str) -> Inspection:
        return self._guards.inspect(url, text)

    @cached_property
    def _guards(self) -> Guards:
        from toolablate.tools.guards.leaks import LeakGuard
        from toolablate.tools.guards.markers import InstructionGuard

        question, web = self._question, self._web
        leaks = LeakGuard(
            question.prompt,
            answers_of(question),
            block=web.block_leaks,
            blocked_hosts=frozenset({*web.blocked_hosts, *question.blocked_hosts}),
        )
        return Guards(leaks, InstructionGuard())


def answers_of(question: Question) -> tuple[str, ...]:
    """The right answers as a page might write them: texts of options and their letters, numbers, spans, what a
    checklist's reference says, the reference answer, be it the target or a rubric's."""
    of_rubric = question.rubric.reference if question.rubric else ""
    return tuple(dict.fromkeys(answer for answer in (*_of_target(question), of_rubric) if answer))


def _of_target(question: Question) -> tuple[str, ...]:
    target = question.target
    if target.kind == "spans":
        return target.spans
    if target.kind == "reference":
        return (target.answer,)
    if target.kind == "text" or target.kind == "math":
        return target.answers
    if target.kind == "checklist":
        return target.texts
    if target.kind == "number":
        return tuple(dict.fromkeys(_written(target.value)))
    if target.kind != "choice":
        return ()
    right = [question.choices[ord(letter) - ord("A")] for letter in target.letters if question.choices]
    return (*right, *target.letters)


def _written(value: float) -> tuple[str, ...]:
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}", f"{value:,.0f}"
    return f"{value:g}", repr(value), f"{value:,}"
