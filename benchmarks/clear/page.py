"""A page on which people read checklists: one HTML file that needs no server, is sent to experts and gives back JSONL.

Nothing is loaded from elsewhere, and nothing is sent. A draft is kept in the browser where that allows it.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from toolablate.traces.records import digest_json
from toolablate.traces.terminal_text import one_line, plain_text

_NO_SCRIPTS = "This page needs scripts to save what you say. Without them, edit the JSONL file."


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the answers yes and no; `name` is the key of the line that the page gives."""

    name: str
    said: str


@dataclass(frozen=True, slots=True)
class Cell:
    """What a person looks at. `line` is what the page gives back beside what the person said. `editable` is a text that
    can be changed, under the key `text`, None for none."""

    heading: str
    line: Mapping[str, str]
    about: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    editable: str | None = None
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Cells about one text, which stands beside them; "" for none."""

    heading: str
    text: str
    cells: tuple[Cell, ...]


def html_page(title: str, intro: Sequence[str], parts: Sequence[Part], *, saved_as: str) -> str:
    """`saved_as` is the name under which the browser saves what was said."""
    style, script = (_resource(name) for name in ("page.css", "page.js"))
    draft = digest_json([title, [[dict(cell.line) for cell in part.cells] for part in parts]])
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none';"
        " form-action 'none'"
    )
    body = "\n".join(_part(number, part) for number, part in enumerate(parts))
    told = "".join(f"<p>{_text(each)}</p>" for each in intro)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_text(title)}</title>
<style>{style}</style>
</head>
<body data-draft="{draft}" data-saved-as="{_text(saved_as)}">
<main>
<h1>{_text(title)}</h1>
{told}
<noscript><p class="warning">{_NO_SCRIPTS}</p></noscript>
{body}
</main>
<footer>
<label>Your name <input id="person" autocomplete="name"></label>
<span id="said" role="status"></span>
<button id="save" type="button">Save</button>
</footer>
<script>{script}</script>
</body>
</html>
"""


def _part(number: int, part: Part) -> str:
    beside = f'<div class="reference" tabindex="0">{_text(part.text)}</div>' if part.text else ""
    cells = "\n".join(_cell(f"{number}-{place}", cell) for place, cell in enumerate(part.cells))
    heading = f"<h2>{_text(one_line(part.heading))}</h2>" if part.heading else ""
    return f'<section>{heading}<div class="sides">{beside}<div>{cells}</div></div></section>'


def _cell(place: str, cell: Cell) -> str:
    line = escape(json.dumps(dict(cell.line), ensure_ascii=False), quote=True)
    about = f'<p class="about">{_text(cell.about)}</p>' if cell.about else ""
    texts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in cell.texts)
    shown = f"<dl>{texts}</dl>" if texts else ""
    heading = _text(one_line(cell.heading))
    edited = ""
    if cell.editable is not None:
        # A line break directly behind the tag is no part of the text.
        edited = f'<textarea aria-label="{heading}">\n{_text(cell.editable)}</textarea>'
    return (
        f'<fieldset data-line="{line}"><legend>{heading}</legend>{about}{shown}{edited}'
        f"{''.join(_choice(place, each) for each in cell.asked)}</fieldset>"
    )


def _choice(place: str, asked: Asked) -> str:
    group, name = f"{place}-{asked.name}", escape(asked.name, quote=True)
    options = "".join(
        f'<label><input type="radio" name="{group}" data-name="{name}" value="{value}"> {said}</label>'
        for value, said in (("true", "Yes"), ("false", "No"))
    )
    said = _text(asked.said)
    return f'<p class="choice" role="group" aria-label="{said}"><span>{said}</span> {options}</p>'


def _text(text: str) -> str:
    return escape(plain_text(text), quote=True)


def _resource(name: str) -> str:
    return files("toolablate.benchmarks.clear").joinpath(name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
