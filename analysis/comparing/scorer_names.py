"""Which scorer of a store a user means."""

import re
from collections.abc import Sequence

from toolablate.traces.errors import InputError

_JUDGE = re.compile(r"judge\[(?P<name>.+)(?P<digits>@[0-9a-f]{8})(?P<options>(?:,[a-z]+=[a-z0-9]+)*)\]", re.DOTALL)


def scorer_meant(known: Sequence[str], said: str) -> str:
    """The scorer of that name. A judge is also known by its model's name: `judge[gpt-5@1a2b3c4d,again=1]` is
    `judge[gpt-5,again=1]`, `gpt-5,again=1` and `gpt-5@1a2b3c4d,again=1`.

    Raises InputError for what stands for several; what stands for none is given back as it is.
    """
    meant = [scorer for scorer in known if said == scorer] or [scorer for scorer in known if said in _short(scorer)]
    if len(meant) > 1:
        raise InputError(
            f"--scorer: {said!r} stands for several scorers",
            hint=f"Name one of them in full, between quotes: {', '.join(meant)}.",
            code="several_scorers",
        )
    return meant[0] if meant else said


def _short(scorer: str) -> tuple[str, ...]:
    judge = _JUDGE.fullmatch(scorer)
    if judge is None:
        return ()
    name, digits, options = judge.groups()
    return f"{name}{options}", f"judge[{name}{options}]", f"{name}{digits}{options}"
