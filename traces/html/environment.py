"""Templates, in which everything that is not a template's own is escaped."""

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from toolablate.traces.html.inert import inert


@cache
def environment(*packages: str) -> Environment:
    """Finds templates in the folders `templates` of these packages, then in that of this one."""
    loaders = [PackageLoader(package) for package in (*packages, "toolablate.traces.html")]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["inert"] = inert
    return made
