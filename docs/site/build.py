"""The documentation as a site in FOLDER/site, by default `build/docs/site`: the pages of `docs`, the notebooks and the
demo's viewer, searchable offline. The notebooks with their outputs are in FOLDER/notebooks."""

import re
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

from examples import demo_pages, notebook_page

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]
_SHIM = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#]*)(#[^)]*)?\)")


def on_the_site(text: str, folder: Path) -> str:
    """A page's links from where the site has it: to another page, or to the repository where the site has none."""

    def moved(link: re.Match[str]) -> str:
        mark, words, target, place = link[1], link[2], (folder / link[3]).resolve(), link[4] or ""
        inside = target.relative_to(ROOT)
        if inside in PAGES:
            return f"{mark}[{words}]({PAGES[inside]}{place})"
        if inside.is_relative_to("docs/images"):
            return f"{mark}[{words}]({inside.relative_to('docs')})"
        return f"{mark}[{words}]({REPOSITORY}/{'tree' if target.is_dir() else 'blob'}/main/{inside}{place})"

    return _LINK.sub(moved, text)


PAGES = {
    Path("README.md"): "index.md",
    Path("CHANGELOG.md"): "changelog.md",
    **{page.relative_to(ROOT): page.name for page in sorted((ROOT / "docs").glob("*.md"))},
    **{page.relative_to(ROOT): f"notebook_{page.stem}.md" for page in sorted((ROOT / "examples").glob("*.ipynb"))},
}
_SHOWN = """
## On this site

Two notebooks with their outputs, [an ablation](notebook_ablation.md) and [a look into failures](notebook_failures.md),
and <a href="viewer/index.html">the demo in the viewer</a>: scores, effects, traces and causes of simulated models.
"""


def build(folder: Path) -> None:
    """What was in the folder is gone. Raises CalledProcessError where a link leads nowhere."""
    shutil.rmtree(folder, ignore_errors=True)
    pages, notebooks = folder / "pages", folder / "notebooks"
    notebooks.mkdir(parents=True)
    shutil.copytree(ROOT / "docs/images", pages / "images")
    shutil.copy(ROOT / "docs/site/zensical.toml", folder)
    for source, name in PAGES.items():
        path = ROOT / source
        if path.suffix == ".ipynb":
            text = notebook_page(path, partial(on_the_site, folder=path.parent), notebooks / path.name)
        else:
            text = on_the_site(path.read_text("utf-8"), path.parent)
        (pages / name).write_text(text + _SHOWN * (name == "index.md"), encoding="utf-8")
    typed = (ROOT / "src/toolablate/__init__.pyi").read_text("utf-8")
    offered = re.findall(r"^from (\S+) import (\w+) as", typed, re.MULTILINE)
    reference = "\n\n".join(("# Python reference", *(f"::: {module}.{name}" for module, name in offered)))
    (pages / "api.md").write_text(f"{reference}\n", encoding="utf-8")
    subprocess.run([Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean"], cwd=folder, check=True)
    # A browser starts no worker for pages that are files; the search needs this in its place, from nobody's server.
    shutil.copy(ROOT / "docs/site/iframe-worker.js", folder / "site/assets/javascripts")
    for page in (folder / "site").glob("*.html"):
        text = page.read_text("utf-8")
        page.write_text(text.replace(_SHIM, "assets/javascripts/iframe-worker.js"), encoding="utf-8")
    demo_pages(ROOT / "examples/demo/plan.toml", folder / "site/viewer")


if __name__ == "__main__":
    build(Path(*sys.argv[1:2]) if sys.argv[1:] else ROOT / "build/docs")
