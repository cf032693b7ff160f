"""From XML to text: feeds and sitemaps entry by entry, anything else element by element."""

import re

from toolablate.tools.plain import plain_text

_TAGS = re.compile(r"<[^>]*>")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_BLANKS = re.compile(r"[ \t\r\n]+")


def read_xml(text: str) -> tuple[str, str]:
    """Title and text. What is no XML stays as it is."""
    from lxml import etree  # type: ignore[import-untyped]

    # Entities are not replaced, so none can grow; what they stood for is missing then.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, recover=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(_DECLARATION.sub("", plain_text(text), count=1).encode(), parser)
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        return "", text
    lines: list[str] = []
    title = ""
    for element in root.iter(etree.Element):
        name = etree.QName(element).localname
        said = _BLANKS.sub(" ", _TAGS.sub(" ", element.text or "")).strip()
        target = element.get("href") if name == "link" else None
        if name == "title" and said and not title:
            title = said
        if name in ("item", "entry", "url") and lines and lines[-1]:
            lines.append("")
        lines += [part for part in (said, (target or "").strip(), (element.tail or "").strip()) if part]
    return (title, "\n".join(lines)) if lines else ("", text)
