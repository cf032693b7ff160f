"""Templates, in which everything that is not a template's own is escaped."""

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from toolablate.traces.html.attributed import with_links
from toolablate.traces.html.durations import duration
from toolablate.traces.html.highlighting import shown
from toolablate.traces.html.images import image
from toolablate.traces.html.inert import inert
from toolablate.traces.html.marking import marked
from toolablate.traces.html.stretches import beside
from toolablate.traces.terminal.plain import one_line


@cache
def environment(*packages: str) -> Environment:
    """Finds templates in the folders `templates` of these packages, then in that of this one."""
    loaders = [PackageLoader(package) for package in (*packages, "toolablate.traces.html")]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "inert": inert,
        "one_line": one_line,  # for attributes and titles, which hold no elements
        "shown": shown,
        "image": image,
        "quoted": marked,
        "beside": beside,
        "with_links": with_links,
        "duration": duration,
    }
    return made
