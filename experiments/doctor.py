"""What works on this machine, and what a plan needs of it, found out by trying it."""

import asyncio
import importlib
import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from rich.table import Table
from rich.text import Text

from toolablate.agents import read_api_key
from toolablate.benchmarks.questions import told_of_alike
from toolablate.experiments.cluster.for_others import require_backup_of
from toolablate.experiments.environment.agents import open_agents
from toolablate.experiments.environment.environment import (
    UNPROTECTED,
    fingerprint_of,
    needed,
    refuse_too_large,
    require_same_environment,
    servers_needed,
    try_backend,
    unbounded,
)
from toolablate.experiments.environment.replies import Section, close_source, connect_of, is_replayed
from toolablate.experiments.environment.web import (
    Tell,
    asks_the_web,
    offline,
    open_plan_archive,
    open_plan_corpus,
    provider_options,
    server_address,
    skipped_documents,
)
from toolablate.experiments.plans.plan import Plan, design
from toolablate.experiments.plans.prices import open_prices, show_price, unpriced_calls, with_prices
from toolablate.experiments.scoring import Scorers
from toolablate.sandbox import BACKENDS, Limits
from toolablate.sandbox.cgroups import find_cgroups
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Model, OpenAIModel, Price, Question, ServedModel
from toolablate.traces.terminal_text import inert

# What looking at the machine has shown.


State = Literal["ok", "missing", "warning"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was looked at; `remedy` is the command or step that mends it."""

    topic: str
    name: str
    state: State
    detail: str
    remedy: str = ""


# What the models of a plan cost, and who says so.


def price_findings(plan: Plan) -> Iterator[CheckResult]:
    """What each model and judge costs and who says so; an unknown price stops no run."""
    sources = open_prices(plan.prices)
    named = [(model.name, model) for model in plan.models]
    named += [(f"judge {judge.name}", judge) for judge in plan.judges]
    for name, model in named:
        if not isinstance(model, ServedModel):
            continue
        found = sources.find(model, datetime.now(UTC))
        if not isinstance(found, Price):
            remedy = "give it price = { input = ..., output = ... }, in dollars per million tokens"
            yield CheckResult("price", name, "warning", f"unknown: {found.reason}", remedy)
        else:
            yield CheckResult("price", name, "ok", f"{show_price(found)} ({found.source})")
    with suppress(ToolablateError):
        # What is wrong with conditions is told of as a finding of its own.
        for text in unpriced_calls(with_prices(plan.models, sources), plan.resolved_conditions()):
            yield CheckResult("price", "provider_tools", "warning", text)


# What doctor looks at for search, pages, archives and servers of tools.


def web_findings(plan: Plan) -> Iterator[CheckResult]:
    """Whether what the plan's tools would ask is there; the archive is checked as `verify` checks it."""
    try:
        conditions = plan.resolved_conditions()
        parts, servers = needed(conditions), servers_needed(conditions)
    except ToolablateError:
        # Told of as a finding of its own.
        return
    looks: list[tuple[str, Callable[[Plan], str]]] = []
    if "search" in parts and not offline(plan) and plan.web.mode != "replay":
        looks.append(("search", _look_at_provider))
    if asks_the_web(plan, parts) and plan.web.mode != "live":
        looks.append(("archive", _look_at_archive))
    if offline(plan) and parts & {"search", "pages"}:
        yield from _corpus(plan)
    for name, look in looks:
        try:
            yield CheckResult("web", name, "ok", look(plan))
        except ToolablateError as error:
            yield CheckResult("web", name, "missing", error.message, error.hint)
    if "search" in parts and plan.search and plan.search.endpoint and plan.web.mode != "replay":
        yield listening(plan.search.endpoint, "web")
    if plan.web.mode != "replay":
        yield from _servers(plan, servers)


def listening(endpoint: str, topic: str, name: str = "") -> CheckResult:
    """Whether something listens there; no request is sent, since that may cost money. `name` is shown for the endpoint,
    where that could hold what is secret."""
    name = name or endpoint
    try:
        parts = urlsplit(endpoint)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=5):
            return CheckResult(topic, name, "ok", "something listens there (no request was sent)")
    except (OSError, ValueError) as error:
        return CheckResult(topic, name, "missing", f"nothing answers: {error}", "start the server, or fix the plan")


def _corpus(plan: Plan) -> Iterator[CheckResult]:
    """Opens it, which builds its index where there is none yet."""
    with ExitStack() as stack:
        try:
            corpus = open_plan_corpus(plan, stack)
        except ToolablateError as error:
            yield CheckResult("web", "corpus", "missing", error.message, error.hint)
            return
        yield CheckResult("web", "corpus", "ok", f"documents to search: {len(corpus)}")
        yield from (CheckResult("web", "corpus", "warning", text) for text in skipped_documents(corpus))


def _look_at_provider(plan: Plan) -> str:
    from toolablate.tools.search import open_provider

    assert plan.search is not None
    provider = open_provider(api_key_env=plan.search.api_key_env, **provider_options(plan))
    return f"{provider.name} can be asked (nothing was)"


def _look_at_archive(plan: Plan) -> str:
    """Changes nothing: what is to be recorded into is made when it is recorded into."""
    from toolablate.tools.archive import check_growing, open_archive, verify

    folder, recording = Path(plan.web.archive), plan.web.mode == "record"
    if recording and not check_growing(folder):
        return f"{folder} will be made"
    with ExitStack() as stack:
        if recording:
            stack.enter_context(open_archive(folder))
        else:
            open_plan_archive(plan, frozenset({"pages"}), stack)
    problems = verify(folder).problems
    if problems:
        raise InputError(
            f"{folder} is damaged: {problems[0].where}: {problems[0].what}",
            hint=f"all that is wrong: toolablate verify {folder}",
            code="damaged_archive",
        )
    return f"{folder} is whole" + ("" if recording else " and sealed")


def _servers(plan: Plan, names: tuple[str, ...]) -> Iterator[CheckResult]:
    """Nothing is started: what a server does when it starts is its own."""
    for section in plan.mcp:
        if section.name not in names:
            continue
        name = f"mcp {section.name}"
        unset = [variable for variable in (*section.env, *section.headers.values()) if variable not in os.environ]
        if find_spec("mcp") is None:
            yield CheckResult("web", name, "missing", "the client is not installed", to_install("mcp"))
        elif unset:
            yield CheckResult("web", name, "missing", f"the variable {unset[0]} is not set", f"export {unset[0]}=...")
        elif section.url:
            yield listening(section.url, "web", f"{name} ({server_address(section).place})")
        elif shutil.which(section.command[0]) is None:
            detail = f"there is no command {section.command[0]!r}"
            yield CheckResult("web", name, "missing", detail, "install it, or fix the server's table in the plan")
        else:
            yield CheckResult("web", name, "ok", f"{section.command[0]} is there (it was not started)")


# Finds out what works on this machine, by trying it.


PACKAGES = (
    "toolablate", "langgraph", "jupyter-client", "ipykernel", "docker", "pydantic", "ddgs", "httpx2",
    "trafilatura", "resiliparse", "pypdfium2", "tantivy", "fastwarc",
)  # fmt: skip
KERNEL_PACKAGES = ("numpy", "scipy", "pandas", "sympy", "matplotlib")


def examine(plan: Plan | None = None) -> list[CheckResult]:
    """Looks at the machine; with a plan, at what that plan needs as well. Starts a kernel in each backend."""
    # Cgroups first: where this process has to move to make some, it may not have started others yet.
    return [
        *_python(),
        *cgroup_findings(),
        *asyncio.run(_backends(plan.sandbox.limits if plan else Limits())),
        *_packages(),
        *(_client(plan) if plan and plan.mcp else ()),
        *key_findings(plan),
        *_plan(plan),
        *(price_findings(plan) if plan else ()),
        *(web_findings(plan) if plan else ()),
    ]


def fit_to_run(findings: list[CheckResult], plan: Plan | None = None) -> bool:
    """Whether nothing needed is missing: some isolated backend (the plan's, if there is one) and the plan's keys."""
    backends = {finding.name: finding.state for finding in findings if finding.topic == "sandbox"}
    if plan is None:
        held = "ok" in backends.values()
    else:
        held = backends[plan.sandbox.backend] != "missing" or not _runs_code(plan)
    return held and not any(finding.state == "missing" for finding in findings if finding.topic != "sandbox")


def _runs_code(plan: Plan) -> bool:
    try:
        return "sandbox" in needed(plan.resolved_conditions())
    except ToolablateError:
        # Told of as a finding of its own.
        return False


def _python() -> Iterator[CheckResult]:
    supported = sys.version_info >= (3, 11)
    yield CheckResult(
        "system",
        "Python",
        "ok" if supported else "missing",
        f"{platform.python_version()} on {platform.system()} {platform.release()}",
        "" if supported else "install Python 3.11 or newer",
    )


def cgroup_findings() -> Iterator[CheckResult]:
    """What bounds the memory of a kernel's processes together."""
    held = find_cgroups()
    if held is not None:
        limited = ", ".join(sorted(held.controllers))
        yield CheckResult("system", "cgroups", "ok", f"version {held.version} limits {limited} of each kernel")
        return
    if (missing := unbounded("forkserver")) is not None:
        yield CheckResult("system", "cgroups", "warning", missing.reason, missing.remedy)


async def _backends(limits: Limits) -> list[CheckResult]:
    findings = []
    for name in BACKENDS:
        availability = await try_backend(name, limits)
        state: State = "missing" if not availability.works else "warning" if name == UNPROTECTED else "ok"
        findings.append(CheckResult("sandbox", name, state, availability.detail, availability.remedy))
    return findings


def _packages() -> Iterator[CheckResult]:
    for name in PACKAGES:
        try:
            importlib.import_module(name.replace("-", "_"))
            yield CheckResult("package", name, "ok", version(name))
        except ImportError as error:
            yield CheckResult(
                "package", name, "missing", f"{version(name)} cannot be imported: {error}", f"pip install -U {name}"
            )
    for name in KERNEL_PACKAGES:
        try:
            yield CheckResult("package", name, "ok", f"{version(name)}, usable in kernels")
        except PackageNotFoundError:
            yield CheckResult("package", name, "warning", "not installed, so kernels lack it", to_install("kernel"))


def _client(plan: Plan) -> Iterator[CheckResult]:
    """An extra, which only those need who ask servers of tools; what lacks it is told of each server as well."""
    try:
        importlib.import_module("mcp")
        yield CheckResult("package", "mcp", "ok", f"{version('mcp')}, asks servers of tools")
    except ImportError:
        replays = plan.web.mode == "replay"
        detail = (
            "not installed; a replay needs none" if replays else "not installed, so no server of tools can be asked"
        )
        yield CheckResult("package", "mcp", "warning", detail, to_install("mcp"))


def key_findings(plan: Plan | None) -> Iterator[CheckResult]:
    """Says only whether a key is set and can be sent; its value goes nowhere."""
    if plan is None:
        held = bool(os.environ.get("OPENAI_API_KEY", "").strip())
        detail = "set" if held else "not set: OpenAI itself asks for it; for another endpoint, a plan names a variable"
        yield CheckResult("key", "OPENAI_API_KEY", "ok" if held else "warning", detail)
        return
    wanted = [model for model in _endpoints(plan) if model.key_variable]
    for name in sorted({model.key_variable for model in wanted}):
        users = [model for model in wanted if model.key_variable == name]
        try:
            read_api_key(users[0])
        except InputError as error:
            yield CheckResult("key", name, "missing", error.message, error.hint)
        else:
            yield CheckResult("key", name, "ok", f"set, for {', '.join(dict.fromkeys(model.name for model in users))}")


def _endpoints(plan: Plan) -> list[ServedModel]:
    """The models and judges that a run of the plan asks over the network."""
    named = (*plan.models, *plan.judges)
    return [model for model in named if isinstance(model, ServedModel) and not is_replayed(plan, model)]


def _plan(plan: Plan | None) -> Iterator[CheckResult]:
    """Whether what the plan names is there: questions, tools, search, and something that listens at each endpoint."""
    if plan is None:
        return
    warned: list[str] = []
    looks = [("questions", _look_at_questions), ("tools", _look_at_tools), ("models", _look_at_models)]
    if plan.judges:
        looks.append(("judges", _look_at_judges))
    if plan.cluster is not None and plan.cluster.backup:
        looks.append(("backup", _look_at_backup))
    for topic, look in looks:
        try:
            yield CheckResult("plan", topic, "ok", look(plan, warned.append))
        except ToolablateError as error:
            yield CheckResult("plan", topic, "missing", error.message, error.hint)
        yield from (CheckResult("plan", topic, "warning", text) for text in warned)
        warned.clear()
    for endpoint in sorted({model.endpoint for model in _endpoints(plan) if _has_address(model)}):
        yield listening(endpoint, "plan")


def _has_address(model: ServedModel) -> bool:
    """Whether its endpoint is an address: of some classes of LangChain only the class is known."""
    return isinstance(model, OpenAIModel) or "://" in model.endpoint


def _look_at_questions(plan: Plan, warn: Tell) -> str:
    found = design(plan)
    asyncio.run(_try_scorers(plan, found.questions, warn))
    refuse_too_large(plan, found)
    if told := told_of_alike(found.questions):
        warn(told)
    return f"{len(found.questions)} questions, {len(found.trials)} trials"


async def _try_scorers(plan: Plan, questions: Sequence[Question], warn: Tell) -> None:
    async with Scorers(plan, warn) as scorers:
        scorers.names(questions)
        await scorers.open(questions)


def _look_at_tools(plan: Plan, _: Tell) -> str:
    conditions = plan.resolved_conditions()
    require_same_environment(Path(plan.store), fingerprint_of(plan, conditions))
    return f"those of {len(conditions)} conditions can be had"


def _look_at_models(plan: Plan, warn: Tell) -> str:
    return _connect_all(plan, "models", warn)


def _look_at_judges(plan: Plan, warn: Tell) -> str:
    return _connect_all(plan, "judges", warn)


def _look_at_backup(plan: Plan, _: Tell) -> str:
    assert plan.cluster is not None
    backup = Path(plan.cluster.backup)
    require_backup_of(Path(plan.store), backup)
    return f"{backup} can be written"


def _connect_all(plan: Plan, section: Section, warn: Tell) -> str:
    models: Sequence[Model] = getattr(plan, section)

    async def connect_all() -> None:
        for model in models:
            if not is_replayed(plan, model):
                await close_source(model, connect_of(plan, section, model), warn)

    asyncio.run(connect_all())
    if section == "models":
        open_agents(plan, ())
    return f"{len(models)} can be set up"


def findings_view(findings: Sequence[CheckResult]) -> Table:
    """A line for each, and below it the remedy."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(4):
        # A remedy that is cut short could not be copied.
        table.add_column(overflow="fold")
    marks = {"ok": ("works", "green"), "missing": ("does not work", "red"), "warning": ("note", "yellow")}
    for finding in findings:
        mark, style = marks[finding.state]
        table.add_row(finding.topic, inert(finding.name), Text(mark, style=style), inert(finding.detail))
        if finding.remedy:
            table.add_row("", "", "", inert(f"fix: {finding.remedy}", "bold"))
    return table
