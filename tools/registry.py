"""From the tools that a condition names to tools that are open for one trial.

A plan can name a tool that a package registers (ours are registered in the same way), a toolset that stands for
several, `mcp:SERVER` for all tools of an MCP server or `mcp:SERVER/TOOL` for one, `agent` for all tools of an agent of
the user's own or `agent/TOOL` for one, and a function of one's own as `package.module:function`. A package names its
tools in the entry-point group `toolablate.tools`: each is a function decorated with `@tool`, or a `ToolKind` for a tool
made of what a run shares.

`browser.search`, `browser.open` and `browser.find` (together: `gpt-oss`) are `web_search`, `browser_open` and
`browser_find` under the names that the gpt-oss models were trained with, those of arguments too. They are for servers
of such models: OpenAI's own API takes no names with a dot and refuses the request.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NoReturn

from toolablate.sandbox.kernel import Sandbox
from toolablate.tools.guards.guard import Guard, GuardedTool, NoGuard
from toolablate.tools.interventions import InterventionSetting, open_interventions
from toolablate.tools.python import FileSource, no_files
from toolablate.tools.text import one_line
from toolablate.tools.tool import Tool
from toolablate.tools.toolset import Toolset, refuse_duplicates
from toolablate.tools.user_code import (
    function_tool,
    import_as_it_stands,
    is_ours,
    is_own,
    load_own,
    module_digest,
    open_own,
    options_of,
    refuse_claim,
    registered,
    source_digest,
)
from toolablate.traces.errors import InputError
from toolablate.traces.plugins import MISSING
from toolablate.traces.records import InterventionUse, Question, QuestionDocument, ToolUse

# Each is imported where one is opened: most runs open few kinds of tools, and reading a plan opens none.
if TYPE_CHECKING:
    from toolablate.tools.browser import Browser, PageSource
    from toolablate.tools.corpus import QuestionDocuments
    from toolablate.tools.mcp import McpServer
    from toolablate.tools.placebo_sources import PlaceboSources
    from toolablate.tools.search import SearchSource

Resource = Literal["sandbox", "search", "pages", "mcp", "documents", "agent"]

TOOLSETS: Mapping[str, tuple[str, ...]] = {
    "search": ("web_search", "browser_open", "browser_find"),
    "all": ("python", "web_search", "browser_open", "browser_find"),
    "gpt-oss": ("browser.search", "browser.open", "browser.find"),
    "documents": ("document_search", "document_open", "document_find"),
}
"""Names that stand for several tools."""

_MCP = "mcp:"
AGENT = "agent"
"""Stands for all tools of an agent; with a slash and a name behind it, for one."""


def of_agent(name: str) -> str | None:
    """The name of an agent's tool in that of a use, "" for all of them; None where it is no agent's."""
    return "" if name == AGENT else name.removeprefix(f"{AGENT}/") if name.startswith(f"{AGENT}/") else None


@dataclass(frozen=True, slots=True)
class Resources:
    """What the tools of all trials share: where searches are asked, where pages are read, the MCP servers by name,
    which have been listed, the indexes of questions' documents, and the tools of the agent that is asked, by name."""

    sandbox: Sandbox | None = None
    search: "SearchSource | None" = None
    pages: "PageSource | None" = None
    mcp: "Mapping[str, McpServer]" = field(default_factory=dict)
    documents: "QuestionDocuments | None" = None
    agent: Mapping[str, Tool] | None = None


class Opening:
    """One toolset while it is opened; its browser tools share their pages, and a server's tools their connection."""

    def __init__(
        self,
        uses: Sequence[ToolUse],
        resources: Resources,
        files: FileSource,
        guard: Guard,
        question: Question | None = None,
    ) -> None:
        self._uses = uses
        self._resources = resources
        self.files = files
        self.guard = guard
        self._question = question
        self._of_servers: dict[str, Iterator[Tool]] = {}

    @property
    def sandbox(self) -> Sandbox:
        if self._resources.sandbox is None:
            raise _missing("python", "a sandbox", 'a table [sandbox] with backend = "bubblewrap" or "docker"')
        return self._resources.sandbox

    @property
    def search(self) -> "SearchSource":
        if self._resources.search is None:
            raise _missing("web_search", "a search provider", 'a table [search], such as provider = "corpus"')
        return self._resources.search

    @cached_property
    def browser(self) -> "Browser":
        from toolablate.tools.browser import Browser

        if self._resources.pages is None:
            raise _missing("browser_open", "pages", 'a table [web], or [search] with provider = "corpus"')
        return Browser(self._resources.pages, self.guard)

    @cached_property
    def document_search(self) -> "SearchSource":
        return self._documents.search(self._own_documents)

    @cached_property
    def document_browser(self) -> "Browser":
        from toolablate.tools.browser import Browser

        # No guard: they are part of the question, which is no leak of its answer.
        return Browser(self._documents.pages(self._own_documents))

    @property
    def _own_documents(self) -> Sequence[QuestionDocument]:
        return self._question.documents if self._question is not None else ()

    @cached_property
    def _documents(self) -> "QuestionDocuments":
        from toolablate.tools.corpus import QuestionDocuments

        return self._resources.documents or QuestionDocuments()

    def of_server(self, use: ToolUse) -> Sequence[Tool]:
        """The tools that one use of an MCP server names."""
        name, tool = _server_and_tool(use)
        server = self._resources.mcp.get(name)
        if server is None:
            there_are = f"there are {', '.join(self._resources.mcp)}; " if self._resources.mcp else ""
            raise InputError(
                f"tools: {one_line(use.name, 120)!r}: mcp names no server {one_line(name, 80)!r}",
                hint=f'{there_are}put into the plan a table [[mcp]] with name = "{one_line(name, 80)}"',
                code="missing_resource",
            )
        if tool is None:
            return [GuardedTool(each, self.guard) for each in server.open(None)]
        if name not in self._of_servers:
            self._of_servers[name] = iter(server.open(self._named_of(name)))
        return [GuardedTool(next(self._of_servers[name]), self.guard)]

    def of_agent(self, use: ToolUse) -> Sequence[Tool]:
        """The tools of the agent that one use names."""
        tools, name = self._resources.agent, of_agent(use.name)
        if tools is None:
            raise InputError(
                f"tools: {one_line(use.name, 120)!r} is a tool of an agent, and the model is none",
                hint='an agent is a table of models with the key agent, as in agent = "my_agent:graph"',
                code="missing_resource",
            )
        if not name:
            return list(tools.values())
        if name not in tools:
            near = get_close_matches(name, tools, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(
                f"tools: the agent has no tool {one_line(name, 80)!r}",
                hint=f"{meant}its tools are {', '.join(tools) or 'none'}",
                code="unknown_tool",
            )
        return [tools[name]]

    def _named_of(self, server: str) -> list[str]:
        named = (_server_and_tool(use) for use in self._uses if use.name.startswith(_MCP))
        return [tool for name, tool in named if name == server and tool is not None]


@dataclass(frozen=True, slots=True)
class ToolKind:
    """A tool that is made of what all trials share. A run without that `resource` is refused before it begins."""

    resource: Resource
    open: Callable[[Opening], Tool]
    """Makes the tool of one trial; it must start nothing."""


def open_toolset(
    uses: Sequence[ToolUse],
    resources: Resources,
    files: FileSource = no_files,
    guard: Guard | None = None,
    interventions: Sequence[InterventionUse] = (),
    question: Question | None = None,
    seed: str = "",
    placebo_sources: "PlaceboSources | None" = None,
) -> Toolset:
    """Opens the tools of one trial; nothing is started, and none of its `files` read, before the first call.

    `guard` looks at what comes from outside; `question`, `seed` and `placebo_sources` are for interventions. Raises
    InputError for an unknown tool, intervention or option, a tool named twice, or a resource that the plan does not
    provide."""
    guard = guard or NoGuard()
    opened = open_tools(uses, resources, files, guard, question)
    named = tuple(each.tool.spec.name for each in opened)
    outside = tuple(each.tool.spec.name for each in opened if each.is_outside)
    under = placebo_sources.under(question, guard) if placebo_sources and question else None
    setting = InterventionSetting(outside, question, seed, named, placebo_sources=under)
    return Toolset([each.tool for each in opened], open_interventions(interventions, setting))


@dataclass(frozen=True, slots=True)
class OpenedTool:
    """A tool of one trial, and the part of `Resources` that it is made of, None for a function of the user's own."""

    tool: Tool
    resource: Resource | None

    @property
    def is_outside(self) -> bool:
        """Whether its text comes from the web or from another program."""
        return self.resource not in (None, "sandbox", "agent")


def open_tools(
    uses: Sequence[ToolUse], resources: Resources, files: FileSource, guard: Guard, question: Question | None = None
) -> list[OpenedTool]:
    """The tools of one trial as they are, in their order. Raises InputError as `open_toolset` does."""
    expanded = list(_expanded(uses))
    opening = Opening(expanded, resources, files, guard, question)
    return [OpenedTool(tool, resource_of(use)) for use in expanded for tool in _open(use, opening)]


def expanded_uses(uses: Sequence[ToolUse]) -> tuple[ToolUse, ...]:
    """With toolsets taken apart. Raises InputError for a tool that is unknown."""
    return tuple(_checked(uses))


def resources_needed(uses: Sequence[ToolUse]) -> frozenset[Resource]:
    """Which parts of `Resources` the tools cannot do without. Raises InputError as `open_toolset` does, except for what
    only an MCP server knows."""
    return frozenset(resource for use in _checked(uses) if (resource := resource_of(use)))


def mcp_servers_needed(uses: Sequence[ToolUse]) -> tuple[str, ...]:
    """The names of the MCP servers whose tools are named, in order. Raises InputError as `resources_needed` does."""
    return tuple(dict.fromkeys(_server_and_tool(use)[0] for use in _checked(uses) if resource_of(use) == "mcp"))


def tool_sources(uses: Sequence[ToolUse]) -> dict[str, str]:
    """Digests of the modules of those tools that are neither ours nor a server's, by the names in the plan.

    What such a module imports from beside it is part of it; a module that was edited is imported anew. Raises
    InputError where a tool has no source text.
    """
    digests = {}
    for use in _expanded(uses):
        if is_own(use.name, "tools") and not is_ours(use.name, "tools") and not use.name.startswith(_MCP):
            import_as_it_stands(use.name, "tools")
    for use in _checked(uses):
        kind = _kind(use.name)
        if resource_of(use) is None:
            digests[use.name] = source_digest(use.name)
        elif kind and not is_ours(use.name, "tools"):
            digests[use.name] = module_digest(kind.open, use.name, "tools")
    return digests


def tool_names() -> tuple[str, ...]:
    """Every name that a plan can use, apart from `mcp:SERVER` and `package.module:function`."""
    ours = [name for name in registered() if is_ours(name, "tools")]
    return (*ours, *TOOLSETS, AGENT, *sorted(registered().keys() - {*ours, *TOOLSETS, AGENT}))


def resource_of(use: ToolUse) -> Resource | None:
    """The part of `Resources` that the tool is made of; None for functions of the user's own. Raises InputError for
    what a package registers and cannot be loaded."""
    if use.name.startswith(_MCP):
        return "mcp"
    if of_agent(use.name) is not None:
        return "agent"
    kind = _kind(use.name)
    return kind.resource if kind else None


def _kind(name: str) -> ToolKind | None:
    """What a package registers by that name, unless it is a function. Raises InputError."""
    if name not in registered():
        return None
    found = load_own(name, "tools")
    return found if isinstance(found, ToolKind) else None


def _checked(uses: Sequence[ToolUse]) -> list[ToolUse]:
    expanded = list(_expanded(uses))
    refuse_duplicates([_checked_name(use) for use in expanded])
    return expanded


def _checked_name(use: ToolUse) -> str:
    match resource_of(use):
        case None:
            _refuse_unknown(use.name)
            function = function_tool(use.name)
            options_of(use, function)
            return function.name
        case "mcp":
            _refuse_options(use)
            _server_and_tool(use)
        case _:
            _refuse_options(use)
    return use.name


def _expanded(uses: Sequence[ToolUse]) -> Iterator[ToolUse]:
    for use in uses:
        names = TOOLSETS.get(use.name)
        if names is None:
            yield use
        else:
            refuse_claim(use.name, "tools")
            _refuse_options(use)
            yield from (ToolUse(name=name) for name in names)


def _open(use: ToolUse, opening: Opening) -> Sequence[Tool]:
    _checked_name(use)
    if use.name.startswith(_MCP):
        return opening.of_server(use)
    if of_agent(use.name) is not None:
        return opening.of_agent(use)
    if kind := _kind(use.name):
        parts = ("spec", "template", "refusal", "call", "close")
        return [open_own(use.name, "tools", lambda: kind.open(opening), parts, "a Tool")]
    function = function_tool(use.name)
    return [function.open(options_of(use, function))]


def _server_and_tool(use: ToolUse) -> tuple[str, str | None]:
    server, slash, tool = use.name.removeprefix(_MCP).partition("/")
    if not server or (slash and not tool):
        _unknown(use.name)
    return server, tool or None


def _refuse_options(use: ToolUse) -> None:
    if use.options:
        raise InputError(
            f"tools: {use.name!r} has no option {next(iter(use.options))!r}; it takes none", code="unknown_option"
        )


def _refuse_unknown(name: str) -> None:
    module, _, attribute = name.partition(":")
    if name not in registered() and not (module and attribute):
        _unknown(name)


def _unknown(name: str) -> NoReturn:
    missing = "" if is_ours("python", "tools") else f"{MISSING}; "
    raise InputError(
        f"tools: there is no tool {one_line(name, 80)!r}",
        hint=f"{missing}there are {', '.join(tool_names())}; a function of your own is named as"
        " package.module:function, tools of an MCP server as mcp:SERVER or mcp:SERVER/TOOL",
        code="unknown_tool",
    )


def _missing(tool: str, what: str, remedy: str) -> InputError:
    return InputError(f"tools: {tool!r} needs {what}", hint=f"put into the plan {remedy}", code="missing_resource")
