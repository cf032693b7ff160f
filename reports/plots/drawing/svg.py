"""Figures for pages: SVG that stands within HTML, takes the colours of its page, and runs and loads nothing."""

import hashlib
import io
import re
import warnings
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from toolablate.reports.plots.drawing.files import as_text
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.palette import INK, VARIABLES
from toolablate.reports.plots.text import plain

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
