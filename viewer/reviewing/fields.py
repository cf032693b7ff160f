"""The fields of an item under review: as a form shows them, and what a person changed in them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolablate.experiments.construction.question_checks import normal, same_key
from toolablate.experiments.construction.review import Reviewed
from toolablate.experiments.construction.stages import Content
from toolablate.reports.html.marking import UNSEEN
from toolablate.traces.records import clean_text
from toolablate.viewer.forms import Form

NAMES = {
    "question": "Question",
    "text": "Incorrect statement",
    "options": "Options, of which the marked one is right",
    "answer": "Answer",
    "points": "Points that an answer has to make",
    "strategy": "Kind of error",
    "reason": "What is wrong, and what it should be",
    "explanation": "Explanation",
    "domain": "Domain",
    "kind": "Kind",
    "clarity": "Clarity",
    "wrong_replies": "Wrong replies of the thread, of which the first is used to mislead",
}
"""In the order in which they are shown."""
_UNSEEN = re.compile(f"[{UNSEEN}]")


@dataclass(frozen=True, slots=True)
class Field:
    """`texts` are several of a list, else one; `right` is the place of the right option, None where there is none;
    `choices` are all that it may say, () for any text. `odd` are texts with characters that nobody sees."""

    key: str
    name: str
    texts: tuple[str, ...]
    several: bool
    right: int | None
    choices: Sequence[str]
    faults: Sequence[str]

    @property
    def odd(self) -> tuple[str, ...]:
        return tuple(text for text in self.texts if _UNSEEN.search(text.replace("\r\n", "\n")))

    @property
    def twice(self) -> set[int]:
        """The places of options that are the same as another one."""
        said = [same_key(text) for text in self.texts] if self.key == "options" else []
        return {place for place, text in enumerate(said) if text and said.count(text) > 1}


def fields_of(reviewed: Reviewed, asked: Content, faults: Sequence[str] = ()) -> list[Field]:
    """With empty places for more texts of a list, and each fault at its field."""
    found = []
    for key in sorted(asked, key=_order):
        if key == "right":
            continue
        value = asked[key]
        several = isinstance(value, list)
        spare = max(0, reviewed.most.get(key, 0) - len(value)) if several else 0
        found.append(
            Field(
                key,
                reviewed.names.get(key, NAMES.get(key, key)),
                (*value, *[""] * spare) if several else (str(value),),
                several,
                _right(value, asked["right"]) if key == "options" else None,
                reviewed.choices.get(key, ()),
                [said for about, said in map(_parted, faults) if _field(reviewed, about) == key],
            )
        )
    return found


def at_no_field(reviewed: Reviewed, asked: Content, faults: Sequence[str]) -> list[str]:
    """Of the faults, those that no field shows."""
    shown = set(asked) - {"right"}
    return [fault for fault in faults if _field(reviewed, _parted(fault)[0]) not in shown]


def _order(key: str) -> int:
    return [*NAMES].index(key) if key in NAMES else len(NAMES)


def _right(options: Sequence[str], right: str) -> int | None:
    return next((place for place, text in enumerate(options) if normal(text) == normal(right)), None)


def _parted(fault: str) -> tuple[str, str]:
    about, _, said = fault.partition(": ")
    return about, said


def _field(reviewed: Reviewed, about: str) -> str:
    found = reviewed.fields.get(about, about)
    return "options" if found == "right" else found


def changed(reviewed: Reviewed, asked: Content, form: Form) -> dict[str, Any]:
    """What of the fields the form has otherwise; an empty text of a list is left out of it."""
    found: dict[str, Any] = {}
    now: str | int | list[str]
    for key, value in asked.items():
        if isinstance(value, list):
            now = [text for text in _texts(reviewed, key, value, form) if text.strip()]
        elif key == "right":
            now = _right_now(reviewed, asked, form)
        elif isinstance(value, int):
            sent = form.get(f"text-{key}", "")
            now = int(sent) if sent.isdecimal() and len(sent) < 10 else value
        else:
            now = _text(form.get(f"text-{key}"), value)
        if now != value:
            found[key] = now
    return found


def _texts(reviewed: Reviewed, key: str, value: Sequence[str], form: Form) -> list[str]:
    places = max(len(value), reviewed.most.get(key, 0))
    return [_text(form.get(f"text-{key}-{at}"), value[at] if at < len(value) else "") for at in range(places)]


def _right_now(reviewed: Reviewed, asked: Content, form: Form) -> str:
    right, options = asked["right"], _texts(reviewed, "options", asked["options"], form)
    chosen = form.get("right", "")
    if not chosen.isdecimal() or not int(chosen[:3]) < len(options):
        return str(right)
    said = options[int(chosen)]
    return str(right) if normal(said) == normal(right) else said


def _text(sent: str | None, before: str) -> str:
    """What was sent, or the text before where a browser cannot send it otherwise: line ends are CR and LF in a form."""
    if sent is None or _as_sent(sent) == _as_sent(before):
        return before
    return _as_sent(sent)


def _as_sent(text: str) -> str:
    return clean_text(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd"))


def entered(form: Form) -> Mapping[str, str]:
    """All that was written, by the names of fields, to be copied from where it cannot be kept."""
    texts: dict[str, str] = {}
    for name, text in form.items():
        if name.startswith("text-") and text.strip():
            key = name.split("-")[1]
            label = NAMES.get(key, key)
            texts[label] = f"{texts[label]}\n{text}" if label in texts else text
    if form.get("reason", "").strip():
        texts["Reason"] = form["reason"]
    return texts
