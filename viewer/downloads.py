"""What one takes along: a trial as JSON, a trial or two side by side as one HTML file, and figures with their numbers.

The HTML is what `toolablate report STORE -o x.html --alone` writes, with --trial or --diff."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.reports.outline import took
from toolablate.reports.plots.belief_curve import draw_belief
from toolablate.reports.plots.drawing import as_text, figure_bytes
from toolablate.reports.plots.figure_numbers import belief_csv, figure_csv, timeline_csv
from toolablate.reports.plots.figures import plates
from toolablate.reports.plots.panels import Drawing
from toolablate.reports.plots.timeline import draw_timeline
from toolablate.reports.report.html import as_html
from toolablate.reports.terminal.trace import trace_json
from toolablate.reports.why.turn import told_flip
from toolablate.viewer.overview import shown_findings
from toolablate.viewer.rendering import view_of
from toolablate.viewer.reporting import ReportSelection, read_alone
from toolablate.viewer.trial import attempt_of, told_of
from toolablate.viewer.trial_head import read, whole_id

KINDS = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
}
NO_FIGURE = "There is no such figure."


def _file(content: str | bytes, name: str, suffix: str) -> Response:
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    headers = {"Content-Disposition": f'attachment; filename="{name}.{suffix}"'}
    return Response(data, headers=headers, media_type=KINDS[suffix])


def trial_json(request: Request) -> Response:
    """As `toolablate show STORE TRIAL --json` prints it."""
    reading = read(view_of(request), whole_id(view_of(request), request.path_params["trial"]), attempt_of(request))
    return _file(trace_json(reading.trace, reading.scores), f"trial-{reading.trace.trial.id[:10]}", "json")


def trial_report(request: Request) -> Response:
    trial = whole_id(view_of(request), request.path_params["trial"])
    return _report(request, ReportSelection(traces=(trial,)), f"trial-{trial[:10]}")


def diff_json(request: Request) -> Response:
    """Both trials in a list."""
    ids = [whole_id(view_of(request), request.path_params[side]) for side in ("left", "right")]
    readings = [read(view_of(request), each, None) for each in ids]
    both = ",\n".join(trace_json(each.trace, each.scores) for each in readings)
    return _file(f"[{both}]\n", "-".join(("diff", *(each[:10] for each in ids))), "json")


def diff_report(request: Request) -> Response:
    left, right = (whole_id(view_of(request), request.path_params[side]) for side in ("left", "right"))
    return _report(request, ReportSelection(beside=((left, right),)), f"diff-{left[:10]}-{right[:10]}")


def _report(request: Request, wanted: ReportSelection, name: str) -> Response:
    def explain(trial: str) -> Explanation | None:
        return told_of(request, trial)

    return _file(as_html(read_alone(view_of(request).store, wanted, explain)), name, "html")


def overview_figure(request: Request) -> Response:
    name, suffix = _asked(request)
    findings, arms = shown_findings(request)
    if findings is None:
        raise HTTPException(404, NO_FIGURE)
    if suffix == "csv":
        return _table(figure_csv(name, findings, arms), name)
    with as_text():
        drawing = next((each.drawing for each in plates(findings, endings=arms) if each.name == name), None)
    return _picture(drawing, name, suffix)


def trial_figure(request: Request) -> Response:
    """`timeline`, or `belief` where answers were asked for along the trial and the attribution is not hidden."""
    figure, suffix = _asked(request)
    reading = read(view_of(request), whole_id(view_of(request), request.path_params["trial"]), attempt_of(request))
    name = f"{figure}-{reading.trace.trial.id[:10]}"
    if figure == "timeline":
        if suffix == "csv":
            return _table(timeline_csv(took(reading.conversation)), name)
        return _picture(draw_timeline(reading.line) if reading.line.totals else None, name, suffix)
    told = told_of(request, reading.trace.trial.id) if figure == "belief" else None
    if told is None or (trajectory := told.explained.evidence.trajectory) is None:
        raise HTTPException(404, NO_FIGURE)
    evidence = told.explained.evidence
    if suffix == "csv":
        return _table(belief_csv(trajectory, evidence.steps), name)
    return _picture(draw_belief(trajectory, told_flip(evidence), events=evidence.steps), name, suffix)


def _asked(request: Request) -> tuple[str, str]:
    name, suffix = request.path_params["name"], request.path_params["suffix"]
    if suffix not in ("svg", "png", "csv"):
        raise HTTPException(404, NO_FIGURE)
    return name, suffix


def _table(text: str, name: str) -> Response:
    if not text:
        raise HTTPException(404, NO_FIGURE)
    return _file(text, name, "csv")


def _picture(drawing: Drawing | None, name: str, suffix: str) -> Response:
    if drawing is None:
        raise HTTPException(404, NO_FIGURE)
    with as_text():
        return _file(figure_bytes(drawing.figure, f".{suffix}"), name, suffix)


ROUTES = (
    Route("/figure/{name}.{suffix}", overview_figure, name="overview_figure"),
    Route("/trial/{trial}/figure/{name}.{suffix}", trial_figure, name="trial_figure"),
    Route("/trial/{trial}/json", trial_json, name="trial_json"),
    Route("/trial/{trial}/report", trial_report, name="trial_report"),
    Route("/diff/{left}/{right}/json", diff_json, name="diff_json"),
    Route("/diff/{left}/{right}/report", diff_report, name="diff_report"),
)
