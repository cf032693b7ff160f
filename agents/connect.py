"""From a model's record to something that replies."""

from pathlib import Path

from toolablate.agents.chat import ModelSource
from toolablate.traces.errors import InputError
from toolablate.traces.records import ImportedModel, Model, OpenAIModel, ScriptedModel


def connect(model: Model, *, playbook: Path | None = None) -> ModelSource:
    """Opens a model for all its trials, inside a running event loop.

    `playbook` is the file that a simulated model reads where its record names none, or "builtin". Raises InputError
    where a key, script or playbook is missing or cannot be used, or the model is asked for what its endpoint cannot
    take; it makes no request.
    """
    if isinstance(model, OpenAIModel):
        from toolablate.agents.endpoint.source import Endpoint

        return Endpoint(model)
    if isinstance(model, ScriptedModel):
        from toolablate.agents.scripted import Script

        return Script(model)
    if isinstance(model, ImportedModel):
        raise InputError(
            f"model {model.name!r} was imported from a log and cannot be asked",
            hint="Allowed are openai, scripted and simulated.",
            code="imported",
        )
    from toolablate.agents.simulated import SimulatedSource

    return SimulatedSource(model, builtin=playbook)
