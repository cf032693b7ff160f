"""Links of the documents lead somewhere: to files that are there, and to headings that are in them."""

import re
from pathlib import Path

import pytest
from tests.project.pages import BLOCK, NAMES, ROOT, prose, text_of

LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them: lower case, without marks, blanks as hyphens; a heading that comes again is numbered."""
    found: list[str] = []
    for heading in HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.append(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return {
        name if not found[:place].count(name) else f"{name}-{found[:place].count(name)}"
        for place, name in enumerate(found)
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    page = ROOT / name
    for target in LINK.findall(prose(name)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        led = page.parent / path if path else page
        assert led.exists(), target
        assert not anchor or anchor in anchors(led), target


def test_no_page_or_picture_is_left_out() -> None:
    """Whoever starts at the README comes to every guide and example; every picture is shown somewhere."""
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        if page.is_dir():
            waiting.append(page / "README.md")
        elif page.suffix == ".md":
            name = str(page.relative_to(ROOT))
            targets = {target.partition("#")[0] for target in LINK.findall(text_of(name)) if ":" not in target}
            waiting += [(page.parent / target).resolve() for target in targets if target]
    guides = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/images").iterdir()]
    wanted = [*guides, *(path.parent for path in (ROOT / "examples").glob("*/README.md"))]
    assert not [path for path in wanted if path not in seen]
