"""A published judge prompt: a template in which what is known is filled in, and the answer is left open."""

import re

from toolablate.benchmarks.line_error import LineError
from toolablate.traces.records import JudgePrompt

_RESPONSE = "response"
_PLACE = re.compile(r"\{(response|response_reference|prompt)\}")


def judge_prompt(system: str, template: str, *, prompt: str, reference: str) -> JudgePrompt | None:
    """The template with the question's prompt and whole reference in it, cut where the answer goes; None where there is
    no template. Braces that hold anything else stay as they are.

    Raises LineError where the template has no place for the answer, or several.
    """
    if not template.strip():
        return None
    known = {"prompt": prompt, "response_reference": reference}
    # Split at once, so that what is filled in is never searched for places itself.
    pieces = _PLACE.split(template)
    texts, names = pieces[::2], pieces[1::2]
    count = names.count(_RESPONSE)
    if count != 1:
        raise LineError(
            f"'judge_prompt_template' has {f'{count} places' if count else 'no place'} for the answer",
            "It needs {response} once, and may have {prompt} and {response_reference}.",
        )
    sides = [texts[0]]
    for name, text in zip(names, texts[1:], strict=True):
        if name == _RESPONSE:
            sides.append(text)
        else:
            sides[-1] += known[name] + text
    before, after = sides
    return JudgePrompt(system=system, before=before, after=after)
