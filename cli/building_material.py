"""`toolablate build pages`, `build regions` and `build capture`: what pipelines are built from."""

from pathlib import Path

import click

from toolablate.traces import options


@click.command("pages", epilog=options.example("toolablate build pages book.pdf -o book.jsonl"))
@click.argument("book", type=options.FilePath(dir_okay=False))
@click.option("-o", "--output", type=options.FilePath(dir_okay=False), required=True, help="The pages, as JSONL.")
@click.option("--title", default="", help="What the book is called; by default as the file says, else the file's name.")
@click.option("--regions", type=options.FilePath(dir_okay=False), help="Also cut out statements, into this JSONL.")
@click.option("--discipline", default="", help="Of the statements; needed with --regions.")
@click.option("--licence", default="", help="Of the book, kept with each page and statement.")
def pages_command(book: Path, output: Path, title: str, regions: Path | None, discipline: str, licence: str) -> None:
    """Write the text of BOOK, a PDF file, page by page, as `[worlds] pages` reads it.

    --regions also cuts out definitions, theorems, named paragraphs and lists, as the items of a pipeline of
    statements, each with its page and its boxes there. They are found by how lines are set, and are proposals: look at
    them before you pay for stages. Pages that are scans have no text and are left out.
    """
    import json
    from collections import Counter

    from toolablate.experiments.construction.sources.apart import OF_A_BOOK, read_apart
    from toolablate.experiments.construction.sources.book_pages import read_book
    from toolablate.experiments.construction.sources.book_regions import regions_of, seen_in
    from toolablate.reports.numbers import counted
    from toolablate.traces.errors import InputError
    from toolablate.traces.new_files import new_file

    if regions is not None and not discipline.strip():
        raise InputError("--regions: statements need a discipline", hint="add --discipline NAME", code="usage")
    if regions is not None and regions.resolve() == output.resolve():
        raise InputError("--regions and -o name one file", hint="name two files", code="usage")
    whole = read_apart(str(book), OF_A_BOOK, read_book, str(book.resolve()))
    pages, name = whole.pages, title.strip() or whole.title
    read = [page for page in pages if page.text]
    if not read:
        raise InputError(
            f"{book}: none of its {counted(len(pages), 'page')} has text", hint="make text of scans by OCR first",
            code="pdf_no_text",
        )  # fmt: skip
    with new_file(output) as file:
        of_book = {"licence": licence} if licence else {}
        file.writelines(f"{json.dumps(page.row(name) | of_book, ensure_ascii=False)}\n".encode() for page in read)
    without = f", {len(pages) - len(read)} without text" if len(read) < len(pages) else ""
    click.echo(f"{counted(len(read), 'page')}{without}: {output}", err=True)
    if regions is None:
        return
    found = list(regions_of(pages))
    about = {"discipline": discipline.strip(), "book": name, "licence": licence}
    with new_file(regions) as file:
        file.writelines(f"{json.dumps(each.row() | about, ensure_ascii=False)}\n".encode() for each in found)
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(each.kind for each in found).most_common())
    click.echo(f"{counted(len(found), 'region')}{f' ({kinds})' if kinds else ''}: {regions}", err=True)
    click.echo(seen_in(pages), err=True)


@click.command("regions", epilog=options.example("toolablate build regions books.toml"))
@click.argument("plan", type=options.FilePath(dir_okay=False))
@click.option("--accept", is_flag=True, help="Accept all that is proposed and nobody has looked at, and serve no page.")
@click.option("--port", type=click.IntRange(1, 65_535), metavar="N", help="Serve there; by default where it is free.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
@click.option("--json", "as_json", is_flag=True, help='Print {"url": ...} on one line instead of a sentence.')
def regions_command(plan: Path, accept: bool, port: int | None, no_open: bool, as_json: bool) -> None:
    """Cut regions out of the books in PLAN, as the items of a pipeline of statements with a `reader`: a model that sees
    reads statements off their pictures.

    \b
      output = "regions.jsonl"
      [[books]]
      file = "book.pdf"
      discipline = "Engineering"   # field, subfield
      title = "Graphs"             # edition, language, licence
      offset = 12                  # pages of the file before its page 1

    Proposes regions by how lines are set, and over numbers of formulas and references masks, which the model sees as
    grey. Then it serves pages on which people accept, change and delete them, and draw others, on scans too: on this
    machine only, until Ctrl-C. Only what is accepted is read.
    """
    from toolablate.experiments.construction.sources.cut_regions import CutBooks, load_regions_plan
    from toolablate.reports.numbers import counted
    from toolablate.viewer.keeping.serving import address_shown, listening, require_view

    def tell(line: str) -> None:
        click.echo(line, err=True)

    loaded = load_regions_plan(plan)
    if not accept:
        require_view()
    with CutBooks(loaded, tell) as cut:
        if accept:
            cut.accept_all()
        states = [each.state for each in cut.regions.values()]
        tell(f"{counted(len(states), 'region')}, {states.count('accepted')} accepted: {loaded.output}")
        if not accept:
            from toolablate.viewer.reviewing.regions import serve_regions

            with listening(port or 0) as listener, address_shown(open_it=not no_open, as_json=as_json) as ready:
                serve_regions(cut, plan, listener, ready)


@click.command("capture", epilog=options.example("toolablate build capture captures.toml"))
@click.argument("plan", type=options.FilePath(dir_okay=False))
def capture_command(plan: Path) -> None:
    """Take screenshots of the threads in PLAN, of any forum, as the items of a pipeline with a `reader`: a model that
    sees reads question and answers off them. Threads that are there already are not captured again.

    \b
      output = "captures.jsonl"
      [[forums]]
      name = "Stills"
      licence = "by permission"
      threads = ["https://forum.example/t/1", "https://forum.example/t/2"]
      listing = "https://forum.example/viewforum.php?f=2"   # or threads by a page that lists them; since, limit (100)
      [browser]               # of one page
      seconds = 60
      height = 20000          # what lies below is not taken
      scripts = false         # run the page's own
      [web]                   # as in plans
      delay_seconds = 1.0

    Chromium draws the pages (apt-get install chromium). What it needs is fetched for it as pages are: from public
    addresses only, by robots.txt and at a pace. It has no other way out, takes no downloads, and keeps no cookies.
    """
    import asyncio
    import os

    from rich.console import Console

    from toolablate.experiments.construction.approvals import approved_in
    from toolablate.experiments.construction.sources.captures import capture_threads, load_capture_plan
    from toolablate.experiments.construction.sources.forum_listing import ListedPage
    from toolablate.experiments.environment.recording import KEYS
    from toolablate.reports.numbers import counted
    from toolablate.tools.web import FetchError
    from toolablate.traces.commands import stopped_cleanly
    from toolablate.traces.terminal_text import one_line

    loaded, console = load_capture_plan(plan), Console(stderr=True)
    approved = approved_in(plan, loaded.forums)

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    async def capture() -> list[FetchError]:
        failed = []
        async for forum, url, found in capture_threads(loaded, approved):
            told = one_line(f"{forum}: {url}", max_chars=400)
            if isinstance(found, FetchError):
                failed.append(found)
                key = f" ({KEYS[found.code]})" if found.code in KEYS else ""
                # Most messages begin with the address.
                told = one_line(forum, max_chars=400) if one_line(url, max_chars=300) in found.message else told
                say(f"{told}: {found.message}{key}", "yellow")
            elif isinstance(found, ListedPage):
                others = found.found - len(found.threads)
                say(f"{told}: {counted(found.found, 'thread')}{f', {others} not since then' if others else ''}")
            else:
                cut = f", cut at {loaded.browser.height:,} of {found.height:,} pixels"
                cut = cut if found.height > loaded.browser.height else ""
                say(f"{told}: {counted(len(found.tiles), 'picture')}{cut}")
        return failed

    if os.geteuid() == 0:
        say(
            "You are root, so Chromium runs without its own sandbox: take another user for pages of strangers.",
            "yellow",
        )
    with stopped_cleanly():
        failed = asyncio.run(capture())
    for forum in loaded.forums:
        if not forum.is_open(approved):
            say(forum.waits_told(plan), "yellow")
    if failed:
        later = sum(each.transient for each in failed)
        for_good = len(failed) - later
        parts = [f"{later:,} may be had later: the same command tries again"] if later else []
        parts += [f"{for_good:,} cannot be captured: change the plan, or take them out of it"] if for_good else []
        say(f"{counted(len(failed), 'page')} not captured. {'; '.join(parts)}.", "yellow")
    raise SystemExit(1 if failed else 0)
