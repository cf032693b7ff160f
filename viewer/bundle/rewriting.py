"""Pages and scripts as files: links are relative, and nothing asks a server."""

import json
import re
from collections.abc import Callable
from posixpath import dirname, relpath

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'none'; form-action 'none'; base-uri 'none'"
)
"""As the viewer's own, where a page can say it of itself; and less, since nothing is sent or fetched."""

_HEAD = '<meta charset="utf-8">'
_ATTRIBUTES = r"""(?:[^>"']|"[^"]*"|'[^']*')*"""
_TAG = re.compile(rf"<(/?)(a|link|script|svg|main)\b({_ATTRIBUTES})>")
_FORM = re.compile(rf"""<form\b(?!{_ATTRIBUTES}\bmethod="dialog"){_ATTRIBUTES}>.*?</form>""", re.DOTALL)
_SWITCH = re.compile(r'<nav class="switch".*?</nav>', re.DOTALL)
_ADDRESS = re.compile(r"""\s(href|src)=("[^"]*"|'[^']*')""")
_OF_LINKS = re.compile(
    r"""\s(?:href|rel|target|data-open|data-way|data-go|data-to)(?:=(?:"[^"]*"|'[^']*'))?(?=[\s/>]|$)"""
)
_LIVE = re.compile(r"""\sdata-(?:live|version)(?:=(?:"[^"]*"))?""")
_COMMAND = re.compile(r"""\s(?:data-switch|data-way|class="(?:[^"]*\s)?button(?:\s[^"]*)?")""")
"""Of a link that is no word of a text, and nothing without its page."""

Leads = Callable[[str], str | None]


def rewritten(html: str, file: str, leads: Leads) -> str:
    """A page as the file that it will be. `leads` says to which file a link's address leads, with its fragment; None
    where that is not held: such a link becomes text. What only a server answers is left out: forms, and the switch
    between rendered and raw."""
    html = _SWITCH.sub("", _FORM.sub("", html))
    html = html.replace(_HEAD, f'{_HEAD}\n  <meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)
    return _Links(file, leads).of(html)


class _Links:
    """Anchors do not nest, so that one that is closed is the last that was opened."""

    def __init__(self, file: str, leads: Leads) -> None:
        self._folder, self._leads = dirname(file), leads
        self._drawing = 0
        self._closing = ""
        self._dropping = False

    def of(self, html: str) -> str:
        made, at = list[str](), 0
        for tag in _TAG.finditer(html):
            if not self._dropping:
                made.append(html[at : tag.start()])
            made.append(self._tag(*tag.groups()))
            at = tag.end()
        return "".join([*made, html[at:]])

    def _tag(self, slash: str, name: str, attributes: str) -> str:
        if name == "a":
            return self._close() if slash else self._open(attributes)
        if self._dropping:
            return ""
        if name == "svg":
            self._drawing += -1 if slash else 1
        if name == "main":
            attributes = _LIVE.sub("", attributes)
        elif name in ("link", "script"):
            attributes = _ADDRESS.sub(self._file, attributes).replace(' type="module"', " defer")
        return f"<{slash}{name}{attributes}>"

    def _open(self, attributes: str) -> str:
        found = _ADDRESS.search(attributes)
        href = "" if found is None else _unescaped(found[2][1:-1])
        if href.startswith(("#", "http://", "https://")):
            self._closing = "</a>"
            return f"<a{attributes}>"
        target = self._leads(href) if href else None
        if target is not None and found is not None:
            self._closing = "</a>"
            return f'<a{attributes[: found.start()]} href="{self._relative(target)}"{attributes[found.end() :]}>'
        if _COMMAND.search(attributes):
            self._dropping, self._closing = True, ""
            return ""
        name = "g" if self._drawing else "span"
        self._closing = f"</{name}>"
        named = ' role="img"' if "aria-label=" in attributes and not self._drawing else ""
        return f"<{name}{_OF_LINKS.sub('', attributes)}{named}>"

    def _close(self) -> str:
        self._dropping = False
        return self._closing

    def _file(self, found: re.Match[str]) -> str:
        """Of what a page is drawn with: all of it is beside the pages, under the same name."""
        address = found[2][1:-1]
        return f' {found[1]}="{self._relative(address.lstrip("/"))}"' if address.startswith("/") else found[0]

    def _relative(self, target: str) -> str:
        file, mark, fragment = target.partition("#")
        return f"{relpath(file, self._folder or '.')}{mark}{fragment}"


def _unescaped(text: str) -> str:
    return (
        text.replace("&amp;", "&").replace("&#39;", "'").replace("&#34;", '"').replace("&lt;", "<").replace("&gt;", ">")
    )


# A browser loads no module from a file: each becomes a script of its own, with all that it imports.

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.-]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class)\s+(\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b", re.MULTILINE)

STUBS = {
    "live.js": "export function watch() {}",
    "finding.js": "export function finding() {}",
    "early.js": "",
}
"""What asks the viewer for something. Keys that come before a page is there are few where nothing is computed."""


def classic(name: str, read: Callable[[str], str]) -> str:
    """A module of ours as a script without modules; `read` gives the source of one by its file name."""
    order = list[str]()
    made = [_wrapped(each, read) for each in _needed(name, read, order)]
    return "\n".join(['"use strict";', "(() => {", "const modules = {};", *made, "})();", ""])


def _source(name: str, read: Callable[[str], str]) -> str:
    return STUBS[name] if name in STUBS else read(name)


def _needed(name: str, read: Callable[[str], str], found: list[str]) -> list[str]:
    """Each after those that it imports."""
    if name not in found:
        for _, other in _IMPORT.findall(_source(name, read)):
            _needed(other, read, found)
        found.append(name)
    return found


def _wrapped(name: str, read: Callable[[str], str]) -> str:
    source = _source(name, read)
    exported = ", ".join(_EXPORT.findall(source))
    source = _EXPORT.sub("", _IMPORT.sub(r'const {\1} = modules["\2"];', source))
    if _LEFT.search(source):
        raise ValueError(f"{name} imports or exports in a way that is not known here")
    return f"modules[{json.dumps(name)}] = (() => {{\n{source}\nreturn {{ {exported} }};\n}})();"
