"""The tables of questions, models and conditions, of which each is there once."""

from toolablate.formats.exports.exported import Exported
from toolablate.formats.exports.tables.table import Row, Table, columns, json_text

QUESTIONS = Table(
    "questions",
    "one question",
    columns(
        ("question_key", "name", "digest of what a model is asked"),
        ("question", "text", "what it is called"),
        ("prompt", "text", "what is asked"),
        ("choices", "names", "the options of a multiple choice"),
        ("as_is", "bool", "the prompt is all that is asked: no line says how to end the reply"),
        ("target_kind", "name", "`choice`, `number`, `spans`, `text`, `math`, `regex`, `code` or `reference`"),
        ("target", "json", "the right answer"),
        ("rubric", "json", "what a judge goes by besides"),
        ("key", "name", "digest of what answers are scored by; see `scores`"),
        ("files", "names", "the files that come with it"),
        ("domain", "name", "empty where the question does not say, as what follows"),
        ("difficulty", "name", ""),
        ("language", "name", ""),
        ("cluster", "name", "groups questions that share a source text"),
        ("source", "text", "where it comes from"),
        ("metadata", "json", "what else its file says"),
    ),
)
MODELS = Table(
    "models",
    "one model",
    columns(
        ("model_key", "name", "digest of what it is"),
        ("model", "name", "what it is called"),
        ("provider", "name", "`openai` for any compatible endpoint, `scripted`, `simulated`, `imported`"),
        ("simulated", "bool", "it is a stand-in, and its trials are no measurement"),
        ("record", "json", "all that is known of it: endpoint, sampling, prices; no key"),
    ),
)
CONDITIONS = Table(
    "conditions",
    "one condition",
    columns(
        ("condition_key", "name", "digest of its content"),
        ("condition", "text", "what it is called"),
        ("prompt", "text", "the condition's own words"),
        ("tools", "names", "the tools that it hands out"),
        ("tool_choice", "name", "`auto`, `none`, `required` or a tool's name"),
        ("interventions", "names", "what stands between calls and tools"),
        ("parent", "text", "of replays, the trial that they go on from"),
        ("event", "int", "the first event that is not taken from the record"),
        ("change", "name", "what is changed from there on: `again`, `swap`, `answer_now` ..."),
        ("record", "json", "the whole condition: options of tools, budget, the change"),
    ),
)


def question_row(exported: Exported) -> Row:
    question = exported.question
    return {
        "question_key": exported.trace.trial.question,
        "question": exported.called.question,
        "prompt": question.prompt,
        "choices": list(question.choices),
        "as_is": question.as_is,
        "target_kind": question.target.kind,
        "target": question.target.to_json(),
        "rubric": None if question.rubric is None else question.rubric.to_json(),
        "key": question.key_identity(),
        "files": [file.name for file in question.files],
        "domain": question.domain,
        "difficulty": question.difficulty,
        "language": question.language,
        "cluster": question.cluster,
        "source": question.source,
        "metadata": json_text(question.metadata),
    }


def model_row(exported: Exported) -> Row:
    model = exported.model
    return {
        "model_key": exported.trace.trial.model,
        "model": exported.called.model,
        "provider": model.provider,
        "simulated": model.provider == "simulated",
        "record": model.to_json(),
    }


def condition_row(exported: Exported) -> Row:
    condition, resumed = exported.condition, exported.condition.resumed
    return {
        "condition_key": exported.trace.trial.condition,
        "condition": exported.called.condition,
        "prompt": condition.prompt,
        "tools": [tool.name for tool in condition.tools],
        "tool_choice": condition.tool_choice,
        "interventions": [each.name for each in condition.interventions],
        **({} if resumed is None else {"event": resumed.event, "change": resumed.change.kind}),
        "parent": exported.parent,
        "record": condition.to_json(),
    }
