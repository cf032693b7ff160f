"""One trace as a page of its own."""

from markupsafe import Markup

from toolablate.reports.html.environment import environment
from toolablate.reports.report.contents import ReportTrial
from toolablate.reports.report.html import PACKAGE, shown_trace, styles


def trace_page(told: ReportTrial) -> str:
    """The trace as a report shows it, open: one file, no scripts, nothing loaded; foreign text in it is escaped."""
    return (
        environment(PACKAGE)
        .get_template("trace_page.html")
        .render(
            title=f"{told.question.id} · {told.model.name} · {told.condition.name}",
            style=Markup("\n".join(styles())),  # noqa: S704 - files of ours
            trace=shown_trace(told),
        )
    )
