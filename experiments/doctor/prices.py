"""What the models of a plan cost, and who says so."""

from collections.abc import Iterator
from datetime import UTC, datetime

from toolablate.experiments.doctor.finding import Finding
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.prices import open_prices, show_price
from toolablate.traces.records import OpenAIModel, Price


def price_findings(plan: Plan) -> Iterator[Finding]:
    """What each model and judge costs and who says so; an unknown price stops no run."""
    sources = open_prices(plan.prices)
    named = [(model.name, model) for model in plan.models]
    named += [(f"judge {judge.name}", judge) for judge in plan.judges]
    for name, model in named:
        if not isinstance(model, OpenAIModel):
            continue
        found = sources.find(model, datetime.now(UTC))
        if not isinstance(found, Price):
            remedy = "give it price = { input = ..., output = ... }, in dollars per million tokens"
            yield Finding("price", name, "warning", f"unknown: {found.reason}", remedy)
        else:
            yield Finding("price", name, "ok", f"{show_price(found)} ({found.source})")
