"""Reports made by hand."""

from collections.abc import Sequence

from tests.reports.plots.samples import endings, findings

from toolablate.reports.report.contents import Report, Setup

LATEX = "a_b%$#&{}~^\\"


def report(models: Sequence[str] = ("m", "n"), conditions: Sequence[str] = ("none", "search", "python")) -> Report:
    found = findings(models, conditions)
    setup = Setup(
        facts=(("Run", "abc"), ("Questions", "60 (digest 0123)")),
        models=tuple((name, f"provider: openai; {name}") for name in models),
        conditions=tuple((name, "tools: []") for name in conditions),
    )
    return Report(title=f"Report of {models[0]}", setup=setup, findings=found, endings=endings(found))
