"""What doctor looks at for search, pages, archives and servers of tools."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from toolablate.experiments.doctor.finding import Finding
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.world.web import (
    asks_the_web,
    offline,
    open_plan_archive,
    open_plan_corpus,
    provider_options,
    server_address,
    skipped_documents,
)
from toolablate.experiments.world.world import needed, servers_needed
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.installing import to_install


def web_findings(plan: Plan) -> Iterator[Finding]:
    """Whether what the plan's tools would ask is there; the archive is checked as `web verify` checks it."""
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
            yield Finding("web", name, "ok", look(plan))
        except ToolablateError as error:
            yield Finding("web", name, "missing", error.message, error.hint)
    if "search" in parts and plan.search and plan.search.endpoint and plan.web.mode != "replay":
        yield listening(plan.search.endpoint, "web")
    if plan.web.mode != "replay":
        yield from _servers(plan, servers)


def listening(endpoint: str, topic: str, name: str = "") -> Finding:
    """Whether something listens there; no request is sent, since that may cost money. `name` is shown for the endpoint,
    where that could hold what is secret."""
    name = name or endpoint
    try:
        parts = urlsplit(endpoint)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=5):
            return Finding(topic, name, "ok", "something listens there (no request was sent)")
    except (OSError, ValueError) as error:
        return Finding(topic, name, "missing", f"nothing answers: {error}", "start the server, or mend the plan")


def _corpus(plan: Plan) -> Iterator[Finding]:
    """Opens it, which builds its index where there is none yet."""
    with ExitStack() as stack:
        try:
            corpus = open_plan_corpus(plan, stack)
        except ToolablateError as error:
            yield Finding("web", "corpus", "missing", error.message, error.hint)
            return
        yield Finding("web", "corpus", "ok", f"documents to search: {len(corpus)}")
        yield from (Finding("web", "corpus", "warning", text) for text in skipped_documents(corpus))


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
            hint=f"all that is wrong: toolablate web verify {folder}",
            code="damaged_archive",
        )
    return f"{folder} is whole" + ("" if recording else " and sealed")


def _servers(plan: Plan, names: tuple[str, ...]) -> Iterator[Finding]:
    """Nothing is started: what a server does when it starts is its own."""
    for section in plan.mcp:
        if section.name not in names:
            continue
        name = f"mcp {section.name}"
        unset = [variable for variable in (*section.env, *section.headers.values()) if variable not in os.environ]
        if find_spec("mcp") is None:
            yield Finding("web", name, "missing", "the client is not installed", to_install("mcp"))
        elif unset:
            yield Finding("web", name, "missing", f"the variable {unset[0]} is not set", f"export {unset[0]}=...")
        elif section.url:
            yield listening(section.url, "web", f"{name} ({server_address(section).place})")
        elif shutil.which(section.command[0]) is None:
            detail = f"there is no command {section.command[0]!r}"
            yield Finding("web", name, "missing", detail, "install it, or mend the server's table in the plan")
        else:
            yield Finding("web", name, "ok", f"{section.command[0]} is there (it was not started)")
