"""What requests repeat: each holds the whole conversation before it, and a page shows every message once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import is_

from toolablate.traces.records import Message

Key = tuple[object, ...]


@dataclass(slots=True)
class Repeats:
    """Knows what was shown. A message that is said twice in one request is shown twice.

    `last` is the request before and `counted` what is in it; `shown` is how often a message was, `outputs` are the
    texts of tools, which are shown where they came. `keys` are by address, as records that a store read once are.
    """

    last: Sequence[Message] = ()
    counted: Counter[Key] = field(default_factory=Counter)
    shown: Counter[Key] = field(default_factory=Counter)
    outputs: set[str] = field(default_factory=set)
    keys: dict[int, Key] = field(default_factory=dict)

    def replied(self, message: Message) -> None:
        self.shown[self._key(message)] += 1

    def asked(self, messages: Sequence[Message]) -> tuple[list[tuple[int, Message]], int]:
        """What is new in a request, with its place there; and how many messages of the request before it leaves out.
        Takes time in proportion to their number, not to their length."""
        before, begin = self.counted, len(self.last)
        if len(messages) >= begin and all(map(is_, self.last, messages)):
            counted = self.counted
        else:
            counted, begin = Counter[Key](), 0
        new = []
        for place, message in enumerate(messages[begin:], start=begin):
            key = self._key(message)
            counted[key] += 1
            if counted[key] <= self.shown[key]:
                continue
            self.shown[key] += 1
            if message.role != "tool" or message.content not in self.outputs:
                new.append((place, message))
        self.last, self.counted = messages, counted
        return new, 0 if counted is before else (before - counted).total()

    def _key(self, message: Message) -> Key:
        """What it says; what a model thought may be given back to it or not."""
        key = self.keys.get(id(message))
        if key is None:
            calls = ((call.id, call.name, call.arguments) for call in message.tool_calls)
            key = (message.role, message.content, message.tool_call_id, *calls)
            self.keys[id(message)] = key
        return key
