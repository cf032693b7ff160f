"""Figures as files and as SVG for pages; matplotlib is an extra (`toolablate[plots]`), imported to draw."""

import hashlib
import io
import logging
import re
import threading
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from toolablate.reports.plots.panels import INK, VARIABLES, Drawing, Mark, plain
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Where a figure goes.


SUFFIXES = (".svg", ".png", ".pdf")
DOTS_PER_INCH = 150
MOST_SHOWN = 12
BEYOND_LATIN = (
    *("Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans JP"),
    *("Source Han Sans SC", "Source Han Sans CN", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("PingFang SC", "Hiragino Sans GB", "Heiti SC", "Heiti TC", "STHeiti", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *(
        "Microsoft YaHei",
        "Microsoft JhengHei",
        "SimHei",
        "DengXian",
        "SimSun",
        "Yu Gothic",
        "MS Gothic",
        "Malgun Gothic",
    ),
    *("Noto Serif CJK SC", "Noto Serif CJK JP", "AR PL UMing CN", "AR PL UKai CN", "Malgun Gothic", "Unifont"),
)
"""Fonts with Chinese, Japanese and Korean letters, of Linux, macOS and Windows."""
FILES = ("cjk", "sourcehan", "wqy", "fallback", "uming", "ukai", "unifont", "notosanssc", "notosansjp")
"""What the names of files of such fonts hold that people install later."""
_MISSING = re.compile(r"Glyph (\d+) .*missing from")

_ALONE = threading.RLock()
"""Settings and fonts of matplotlib belong to the process: threads that draw at once would mix them up."""


def require_plots(path: Path) -> None:
    """Raises InputError where no figure can be written to `path`: another kind of file, or no matplotlib."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--plot: {path} ends in {path.suffix or 'no suffix'!r}",
            hint=f"Allowed: {', '.join(SUFFIXES)}.",
            code="plot",
        )
    require_matplotlib("--plot")


def require_matplotlib(what: str) -> None:
    """Raises InputError where it is not installed; `what` is what wants it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputError(
            f"{what}: matplotlib is not installed", hint=to_install("plots"), code="no_matplotlib"
        ) from None


@contextmanager
def as_text() -> Iterator[None]:
    """What is drawn within holds names as they are, whatever the user's settings: no formula, no TeX, no outlines.
    One thread draws at a time."""
    import matplotlib

    with (
        _ALONE,
        _of_any_weight(),
        matplotlib.rc_context(
            {
                "text.parse_math": False,
                "text.usetex": False,
                "svg.fonttype": "none",
                "svg.hashsalt": "toolablate",
                "pdf.fonttype": 42,
                "font.family": _families(),
            }
        ),
    ):
        yield


@contextmanager
def _of_any_weight() -> Iterator[None]:
    """A font of many letters often has no bold; matplotlib takes another weight, and need not say so each time."""
    fonts = logging.getLogger("matplotlib.font_manager")
    level = fonts.level
    fonts.setLevel(logging.ERROR)
    try:
        yield
    finally:
        fonts.setLevel(level)


@cache
def _families() -> list[str]:
    """The font that matplotlib brings, then those of the machine that have the letters which that one lacks."""
    return ["DejaVu Sans", *(_known() or _installed_since())]


def _known() -> list[str]:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return [name for name in BEYOND_LATIN if name in known]


def _installed_since() -> list[str]:
    """matplotlib lists the fonts of a machine once, and keeps the list: what was installed later it does not know."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    for path in sorted(findSystemFonts()):
        if any(part in Path(path).name.lower() for part in FILES):
            with suppress(OSError, RuntimeError):  # no font, or a broken one
                fontManager.addfont(path)
    return _known()


def write_figure(figure: "Figure", path: Path, *, option: str = "--plot") -> frozenset[str]:
    """The same figure gives the same bytes. Returns the letters that no font of this machine has, which are boxes then;
    an SVG has none, since its letters are those of who reads it. Raises InputError where the file cannot be written;
    `option` asked for it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        drawn = figure_bytes(figure, path.suffix.lower())
    try:
        path.write_bytes(drawn)
    except OSError as error:
        raise InputError(f"{option}: cannot write {path}: {error.strerror}", code="unwritable") from None
    if path.suffix.lower() == ".svg":
        return frozenset()
    return frozenset(chr(int(found[1])) for each in told if (found := _MISSING.match(str(each.message))))


def figure_bytes(figure: "Figure", suffix: str) -> bytes:
    """What a file of it holds; `suffix` is one of SUFFIXES. The same figure gives the same bytes."""
    # A file that says when it was made would differ each time.
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    drawn = io.BytesIO()
    figure.savefig(drawn, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=dated)
    return drawn.getvalue()


def boxes_note(missing: Collection[str]) -> str:
    """What to say of letters that no font has; nothing where all are there."""
    if not missing:
        return ""
    shown = "".join(char for char in sorted(missing)[:MOST_SHOWN] if char.isprintable())
    letters = "1 letter" if len(missing) == 1 else f"{len(missing):,} letters"
    return (
        f"no font of this machine has {letters} of the names ({shown}): they are boxes in the pictures. The SVG files"
        " have them; or install a font such as Noto Sans CJK (Debian: fonts-noto-cjk) and run the same command again."
    )


# Figures for pages: SVG that stands within HTML, takes the colours of its page, and runs and loads nothing.


SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
PIXELS_PER_POINT = 96 / 72
WIDEST = 1.1
"""Of the width that a figure was drawn for. Where there is less room than that it scrolls, since its letters could no
longer be read."""
MARK_CHARS = 300

_COLOUR = re.compile("#[0-9a-f]{6}")
_SIZE = re.compile(r"([\d.]+)px")
_BOLD = re.compile(r"(?<!-)\b(?:bold|[67]00)\b")
_POINTED = re.compile(r"url\(#([^)]*)\)")


def as_svg(drawing: Drawing) -> str:
    """An `<svg>` element, as wide as it was drawn or a tenth more.

    Text is text; colours are custom properties of the page, with a fallback; nothing is painted behind. It has neither
    scripts nor a `<style>`, and its ids begin with a digest of what it shows, so that figures can share a page. Parts
    with a mark tell it as a tooltip, and are links where it leads somewhere.
    """
    drawn = io.BytesIO()
    with as_text(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        dated = {"Date": None, "Creator": None, "Format": None, "Type": None}
        drawing.figure.savefig(drawn, format="svg", facecolor="none", metadata=dated)
    root = ElementTree.fromstring(drawn.getvalue())  # noqa: S314 - drawn just here
    digest = f"f{hashlib.sha256(drawn.getvalue()).hexdigest()[:8]}"
    for child in list(root):
        if child.tag == f"{SVG}metadata":
            root.remove(child)
    _without_style(root)
    _marked(root, drawing)
    for element in root.iter():
        _coloured(element)
        _tight(element)
    _renamed(root, digest)
    _headed(root, drawing, digest)
    return _written(root)


def _without_style(root: Element) -> None:
    """Its one rule becomes an attribute of the root: pages allow no `<style>` that is not theirs."""
    for defs in root.findall(f"{SVG}defs"):
        for style in defs.findall(f"{SVG}style"):
            defs.remove(style)
        if not len(defs):
            root.remove(defs)
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")


def _marked(root: Element, drawing: Drawing) -> None:
    for parent in list(root.iter()):
        for place, child in enumerate(parent):
            mark = drawing.marks.get(child.get("id", ""))
            if mark is not None:
                parent[place] = _wrapped(child, mark)


def _wrapped(part: Element, mark: Mark) -> Element:
    around = Element(f"{SVG}g") if mark.href is None else Element(f"{SVG}a", {"href": mark.href})
    SubElement(around, f"{SVG}title").text = plain(mark.text, MARK_CHARS)
    around.set("class", "part")
    around.set("pointer-events", "all")
    around.append(part)
    for path in part.iter(f"{SVG}path"):
        # What is seen by nobody can be pointed at all the same.
        if "fill: none" in path.get("style", ""):
            path.attrib.pop("style")
            path.set("fill", "transparent")
    return around


def _tight(element: Element) -> None:
    """Without the white space between elements, a third of what there is."""
    if element.tag != f"{SVG}text":
        element.text = element.text if (element.text or "").strip() else None
    element.tail = None


def _coloured(element: Element) -> None:
    style = element.get("style", "")
    if element.tag == f"{SVG}text":
        size, bold = _SIZE.search(style), _BOLD.search(style)
        rest = [each.strip() for each in style.split(";") if each.strip() and not each.strip().startswith("font")]
        rest.append(f"font-size: {size[1] if size else 10}px")
        rest += ["font-weight: 600"] if bold else []
        rest += [] if "fill:" in style else [f"fill: {INK}"]
        style = "; ".join(rest)
    if style:
        element.set("style", _COLOUR.sub(_variable, style.lower()))


def _variable(found: re.Match[str]) -> str:
    name = VARIABLES.get(found[0])
    return found[0] if name is None else f"var({name}, {found[0]})"


def _renamed(root: Element, digest: str) -> None:
    """What is pointed at keeps an id, under a name of this figure; nothing else needs one."""
    for element in root.iter():
        if (href := element.attrib.pop(f"{XLINK}href", None)) is not None:
            element.set("href", href)
    used = {href[1:] for use in root.iter(f"{SVG}use") if (href := use.get("href", "")).startswith("#")}
    used |= {name for element in root.iter() for value in element.attrib.values() for name in _POINTED.findall(value)}
    names = {name: f"{digest}-{number}" for number, name in enumerate(sorted(used))}
    for element in root.iter():
        if (identity := element.attrib.pop("id", None)) in names:
            element.set("id", names[str(identity)])
        if element.tag == f"{SVG}use":
            element.set("href", f"#{names[element.get('href', '')[1:]]}")
        if (clip := element.get("clip-path")) is not None:
            element.set("clip-path", _POINTED.sub(lambda found: f"url(#{names[found[1]]})", clip))


def _headed(root: Element, drawing: Drawing, digest: str) -> None:
    width = float(root.get("viewBox", "0 0 540 0").split()[2]) * PIXELS_PER_POINT
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("style", f"width: 100%; max-width: {WIDEST * width:.0f}px; min-width: {width:.0f}px; height: auto")
    root.set("class", f"plot {drawing.form}".rstrip())
    # A number that is written over a part would keep what is pointed at from it.
    root.set("pointer-events", "none")
    # An image has no parts for those who listen to it: with links in it, it is a group of them.
    root.set("role", "group" if any(mark.href for mark in drawing.marks.values()) else "img")
    root.set("aria-label", plain(drawing.title, MARK_CHARS))
    if drawing.about:
        root.set("aria-describedby", f"{digest}-about")
        about = Element(f"{SVG}desc", {"id": f"{digest}-about"})
        about.text = plain(drawing.about, 10 * MARK_CHARS)
        root.insert(0, about)


def _written(root: Element) -> str:
    ElementTree.register_namespace("", SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode")
