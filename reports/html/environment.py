"""Templates, in which everything that is not a template's own is escaped."""

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from toolablate.reports.html.attributed import with_links
from toolablate.reports.html.durations import duration
from toolablate.reports.html.highlighting import shown
from toolablate.reports.html.images import image
from toolablate.reports.html.inert import inert
from toolablate.reports.html.marking import marked
from toolablate.reports.html.stretches import beside
from toolablate.traces.plain import one_line


@cache
def environment(*packages: str) -> Environment:
    """Finds templates in the folders `templates` of these packages, then in that of this one."""
    loaders = [PackageLoader(package) for package in (*packages, "toolablate.reports.html")]
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
