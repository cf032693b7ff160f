"""What a notebook shows: text, tables, figures and pages as HTML that is escaped, runs nothing and loads nothing."""

import base64
import io
from collections.abc import Sequence
from html import escape

from rich.console import Console, RenderableType

from toolablate.reports.tables import Column
from toolablate.traces.terminal_text import inert, one_line

WIDTH = 110
_PRE = "white-space:pre;overflow-x:auto;line-height:1.3;font-family:Menlo,'DejaVu Sans Mono',Consolas,monospace"


def as_plain(shown: RenderableType, width: int = WIDTH) -> str:
    """What a terminal without colours shows of it."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False, force_jupyter=False).print(shown)
    return out.getvalue()


def preformatted(text: str) -> str:
    return f'<pre style="{_PRE}">{escape(text)}</pre>'


def table(columns: Sequence[Column], caption: str) -> str:
    """Columns as a terminal has them, all of them."""
    sides = ["right" if column.right else "left" for column in columns]
    head = "".join(
        f'<th scope="col" style="text-align:{side}">{_cell(column.title)}</th>'
        for column, side in zip(columns, sides, strict=True)
    )
    rows = zip(*([cell.plain for cell in column.cells] for column in columns), strict=True)
    body = "".join(f"<tr>{''.join(map(_aligned, row, sides))}</tr>" for row in rows)
    title = f'<caption style="text-align:left">{_cell(caption)}</caption>'
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _aligned(text: str, side: str) -> str:
    return f'<td style="text-align:{side}">{_cell(text)}</td>'


def _cell(text: str) -> str:
    return escape(inert(one_line(text, max_chars=300)).plain)


def note(text: str) -> str:
    return f"<p>{_cell(text)}</p>"


def figure(svg: str, title: str) -> str:
    """As an image: whatever stands in it, nothing of it acts."""
    data = base64.b64encode(svg.encode()).decode()
    style = "width:100%;max-width:760px;background:#fff"
    return f'<img alt="{escape(title, quote=True)}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def framed(page: str, title: str, height: int = 640) -> str:
    """A whole page in a frame of its own: its styles are not the notebook's, and it may run nothing."""
    name, content = escape(title, quote=True), escape(page, quote=True)
    style = f"width:100%;height:{height}px;border:1px solid #8888"
    return f'<iframe sandbox title="{name}" style="{style}" srcdoc="{content}"></iframe>'
