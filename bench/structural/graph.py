"""The structural causal model: every node is a function of its parents, and `do` is the set of nodes set to "absent".

A draw belongs to one reply: `draw(mark, name)` hashes the node's name and the mark of that reply, which the server
makes of the request. A mark comes back in the ids of the reply's tool calls: the conversation has all earlier draws.

    prompt ---------------------------------------.
    tools offered --> availability ---------------|
    hard --> calls a tool --> call -> result      |
                 |              |-> wrong page ---|   at once, or two results later
                 |              |-> short program-|   lock-in
                 |              |-> volume -------|--> pull --> belief --> answer --> form --> score
                 |              |-> part of a sum-|   budget       ^
                 |              '-> error --------|   tool fault   |
                 |-> formula written down --------|   commitment   |
                 '-> many calls ------------------'   sunk cost    |
    hard --> knows ------------------------------------------------|
    mood of the first reply, forced to answer at once -------------'
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Literal

Cause = Literal[
    "prompt",
    "availability",
    "wrong_page",
    "late_page",
    "lock_in",
    "commitment",
    "volume",
    "sunk_cost",
    "budget",
    "tool_fault",
    "format",
]
CAUSES: tuple[Cause, ...] = Cause.__args__  # type: ignore[attr-defined]
Removed = frozenset[str]
"""The intervention do(...): the causes, or `mood`, or `forcing`, that are absent."""
NOTHING: Removed = frozenset()
Forced = Literal["", "now", "ignore"]

BUDGET = 8
"""Tool calls of a trial."""
LATE = 2
"""Results between a page and the belief that it moves late."""
TIRED = 4
"""Calls from which on they are sunk cost."""
FEW_CHARS, MANY_CHARS = 8_000, 24_000
"""The volume of results that does nothing, and the volume that does all."""
FAILING = 0.6
"""Share of calls that fail where tools are flaky."""
FALL = 0.25
"""A lasting fall of belief by as much has a turning event."""


@dataclass(frozen=True, slots=True)
class Question:
    """The parameters of the graph for one question. `values` has the value of each role among the options: `right`,
    `short`, `formula` and `page`; `letters` has their letters.

    base        P(right) without any cause; `glum` in a bad mood, which comes with probability `moody`
    low         P(right) where at least `need` of the `causes` are at work
    gain        P(right) once a result showed the right value, None where that moves nothing
    trust       P(a wrong result is believed), and of every other step of the mind that is drawn
    """

    id: str
    kind: str
    style: Literal["terse", "verbose"]
    name: str
    prompt: str
    seasons: tuple[int, int, int, int, int, int]
    values: dict[str, int]
    letters: dict[str, str]
    plan: tuple[str, ...]
    causes: tuple[Cause, ...] = ()
    need: int = 1
    base: float = 0.85
    low: float = 0.1
    gain: float | None = None
    moody: float = 0.0
    glum: float = 0.2
    trust: float = 0.8
    call_rate: float = 0.95
    hard: bool = False
    forcing: float = 0.0
    page_chars: int = 1_000
    page_role: str = ""
    page_window: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A tool's result as the graph sees it: which options' letters it shows, how long it is, and whether it is one."""

    tool: Literal["code", "search", "page"]
    letters: frozenset[str] = frozenset()
    chars: int = 0
    status: Literal["ok", "empty", "error"] = "ok"


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply that called a tool, by its mark, and what came of the call; None while nothing has."""

    mark: str
    seen: Seen | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a reply depends on, and the `mark` of that reply. `chance` replaces the draw of the answer."""

    question: Question
    mark: str
    prompt: bool = False
    offered: bool = False
    may_call: bool = False
    turns: tuple[Turn, ...] = ()
    forced: Forced = ""
    chance: float | None = None

    @property
    def marks(self) -> tuple[str, ...]:
        return (*(turn.mark for turn in self.turns), self.mark)


def draw(mark: str, name: str) -> float:
    """Uniform on [0, 1)."""
    return int.from_bytes(hashlib.sha256(f"{mark}/{name}".encode()).digest()[:7]) / 2**56


# What the model does next.


def position(s: Situation) -> int:
    """How far the plan is done. An error is tried again once."""
    errors = sum(turn.seen is not None and turn.seen.status == "error" for turn in s.turns)
    return len(s.turns) - errors + errors // 2


def calls_tool(s: Situation) -> bool:
    q = s.question
    if not s.may_call or s.forced:
        return False
    if not s.turns:
        return draw(s.mark, "call") < q.call_rate
    last = s.turns[-1].seen
    if "tool_fault" in q.causes and last and last.status == "error":
        return False
    return position(s) < len(q.plan) + extra_calls(s)


def extra_calls(s: Situation) -> int:
    """Hard questions call more; nothing comes of it."""
    return int(draw(s.marks[0], "extra") * (4 if s.question.hard else 2))


def action(s: Situation) -> str:
    q, at = s.question, position(s)
    return q.plan[at] if at < len(q.plan) else "probe" if q.plan[-1] in CODE else "search"


CODE = ("probe", "short", "formula", "exact", "part", "table")


def commits(s: Situation) -> bool:
    """Whether the reply that is made now writes the wrong formula down."""
    return draw(s.mark, "commit") < s.question.trust


# The causes: the strength of each, from 0 to 1, in this situation.


def strengths(s: Situation, removed: Removed = NOTHING) -> dict[Cause, float]:
    q = s.question
    nodes = {
        "prompt": prompt,
        "availability": availability,
        "wrong_page": wrong_page,
        "late_page": late_page,
        "lock_in": lock_in,
        "commitment": commitment,
        "volume": volume,
        "sunk_cost": sunk_cost,
        "budget": budget,
        "tool_fault": tool_fault,
    }
    return {cause: float(nodes[cause](s)) for cause in q.causes if cause in nodes and cause not in removed}


def prompt(s: Situation) -> float:
    return s.prompt


def availability(s: Situation) -> float:
    return s.offered


def wrong_page(s: Situation) -> float:
    return s.forced != "ignore" and any(believed(s, "page", "page"))


def late_page(s: Situation) -> float:
    return s.forced != "ignore" and any(list(believed(s, "page", "page"))[: -LATE or None])


def lock_in(s: Situation) -> float:
    return s.forced != "ignore" and any(believed(s, "code", "short"))


def commitment(s: Situation) -> float:
    """Half when the formula is written down, all once its value came out; the first half is never put aside."""
    letter = s.question.letters["formula"]
    for place, turn in enumerate(s.turns):
        before = replace(s, mark=turn.mark, turns=s.turns[:place], may_call=True, forced="")
        if action(before) == "formula" and commits(before):
            confirmed = any(each.seen and letter in each.seen.letters for each in s.turns[place:])
            return 1.0 if confirmed and s.forced != "ignore" else 0.5
    return 0.0


def volume(s: Situation) -> float:
    chars = sum(turn.seen.chars for turn in s.turns if turn.seen)
    return min(1.0, max(0.0, (chars - FEW_CHARS) / (MANY_CHARS - FEW_CHARS)))


def sunk_cost(s: Situation) -> float:
    done = sum(turn.seen is not None for turn in s.turns)
    return done >= TIRED and draw(s.marks[TIRED], "tired") < s.question.trust


def budget(s: Situation) -> float:
    """A part of a sum is taken for the sum until the last part is there."""
    letters = [turn.seen.letters for turn in s.turns if turn.seen]
    q = s.question
    part, whole = (any(q.letters[role] in each for each in letters) for role in ("short", "right"))
    return part and not whole and s.forced != "ignore"


def tool_fault(s: Situation) -> float:
    last = s.turns[-1].seen if s.turns else None
    return last is not None and last.status == "error" and s.forced != "ignore"


def believed(s: Situation, tool: str, role: str) -> Iterator[bool]:
    """After each result so far, whether it showed the value of this role, and the reply that read it believed it."""
    for turn, reader in zip(s.turns, s.marks[1:], strict=True):
        shows = turn.seen is not None and turn.seen.tool == tool and s.question.letters[role] in turn.seen.letters
        yield shows and draw(reader, "believe") < s.question.trust


# Belief, answer, form.


def glum(s: Situation, removed: Removed = NOTHING) -> bool:
    """The mood of the first reply stays for the whole trial."""
    return "mood" not in removed and draw(s.marks[0], "mood") < s.question.moody


def belief(s: Situation, removed: Removed = NOTHING) -> float:
    """P(right)."""
    q = s.question
    knows = q.glum if glum(s, removed) else q.base
    seen = any(turn.seen and q.letters["right"] in turn.seen.letters for turn in s.turns)
    # Without the limit the last part would have come.
    seen = seen or ("budget" in removed and "budget" in q.causes and budget(s) > 0)
    if q.gain is not None and seen and s.forced != "ignore":
        knows = q.gain
    pull = min(1.0, max(0.0, sum(strengths(s, removed).values()) - (q.need - 1)))
    right = knows + (q.low - knows) * pull
    forced = s.forced and not {"forcing", *(["budget"] if s.forced == "now" else [])} & removed
    return right * (1 - q.forcing) if forced else right


def is_right(s: Situation, removed: Removed = NOTHING) -> bool:
    chance = draw(s.mark, "answer") if s.chance is None else s.chance
    return chance < belief(s, removed)


def answer(s: Situation) -> str:
    """The letter."""
    q = s.question
    if is_right(s):
        return q.letters["right"]
    roles = {"wrong_page": "page", "late_page": "page", "lock_in": "short", "budget": "short", "commitment": "formula"}
    pulled = [roles[cause] for cause, much in strengths(s).items() if much and cause in roles]
    wrong = pulled or ["short", "formula", "page"]
    return q.letters[wrong[int(draw(s.mark, "other") * len(wrong))]]


def loses_form(s: Situation, removed: Removed = NOTHING) -> bool:
    there = "format" in s.question.causes and "format" not in removed
    return there and bool(s.turns) and not s.forced and draw(s.mark, "form") < s.question.trust


def scores(s: Situation, removed: Removed = NOTHING) -> bool:
    return is_right(s, removed) and not loses_form(s, removed)


# Truth by do().


@dataclass(frozen=True, slots=True)
class Truth:
    """Of a wrong trial: the smallest `removals` each of which makes it right under the same draws, and the label.

    label       the cause that restores with the largest shift of the belief; without one `mood`, `noise`, `own_error`
    also        every cause of those removals: each is a right name for what happened
    pure        no cause was at work at all: only chance can have made it wrong
    """

    label: str
    also: frozenset[str]
    removals: tuple[Removed, ...]
    pure: bool


def truth_of(s: Situation) -> Truth:
    causes = s.question.causes
    at_work = loses_form(s) or any(strengths(s).values())
    for size in (1, 2):
        restoring = [frozenset(some) for some in combinations(causes, size) if scores(s, frozenset(some))]
        if restoring:
            largest = max(restoring, key=lambda some: belief(s, some) - belief(s) + 1.0 * ("format" in some))
            also = frozenset[str]().union(*restoring)
            label = max(largest, key=lambda c: (shift(s, c), c))
            return Truth(label, also, tuple(restoring), pure=False)
    if glum(s) and scores(s, frozenset({"mood", *causes})):
        return Truth("mood", frozenset({"mood"}), (frozenset({"mood"}),), pure=not at_work)
    q = s.question
    alone = q.moody * q.glum + (1 - q.moody) * q.base
    label = "noise" if alone > 0.5 else "own_error"
    return Truth(label, frozenset({label}), (), pure=not at_work)


def shift(s: Situation, cause: str) -> float:
    only = frozenset(c for c in s.question.causes if c != cause)
    return belief(s, frozenset(s.question.causes)) - belief(s, only)


def turning_place(beliefs: list[float]) -> int | None:
    """Of the beliefs after the question and after each event, the first event after which belief stays at least FALL
    lower than before it; None without one."""
    for place in range(1, len(beliefs)):
        if all(beliefs[place - 1] - later >= FALL for later in beliefs[place:]):
            return place
    return None


# Expectation: the graph evaluated many times, in process.


@dataclass(frozen=True, slots=True)
class Arm:
    """A condition; `results` is what tools show."""

    prompt: bool = False
    offered: bool = False
    results: Literal["none", "sham", "placebo", "real", "flaky"] = "none"


ARMS = {
    "none": Arm(),
    "scaffold": Arm(prompt=True),
    "offered": Arm(prompt=True, offered=True),
    "sham": Arm(prompt=True, offered=True, results="sham"),
    "placebo": Arm(prompt=True, offered=True, results="placebo"),
    "real": Arm(prompt=True, offered=True, results="real"),
    "flaky": Arm(prompt=True, offered=True, results="flaky"),
}


def played(q: Question, arm: Arm, mark: str) -> Situation:
    """One trial up to its answer, with results as the graph has them."""
    return played_on(Situation(q, f"{mark}-0", arm.prompt, arm.offered, may_call=arm.results != "none"), arm, mark)


def played_on(s: Situation, arm: Arm, mark: str, *, budget: int = BUDGET, chars: int | None = None) -> Situation:
    """A trial from here up to its answer; results have at most so many `chars`."""
    while calls_tool(s):
        if len(s.turns) == budget:
            return replace(s, forced="now")
        seen = shown(s, action(s), arm)
        seen = seen if chars is None else replace(seen, chars=min(seen.chars, chars))
        s = replace(s, turns=(*s.turns, Turn(s.mark, seen)), mark=f"{mark}-{len(s.turns) + 1}")
    return s


def shown(s: Situation, what: str, arm: Arm) -> Seen:
    q, tool = s.question, tool_of(what)
    if arm.results == "flaky" and draw(s.mark, "fails") < FAILING:
        return Seen(tool, status="error", chars=60)
    if arm.results == "sham":
        return Seen(tool, status="empty", chars=20)
    roles: list[str] = []
    match what:
        case "short":
            roles = ["short"]
        case "exact":
            roles = ["right"]
        case "formula":
            roles = ["formula" if commits(s) else "right"]
        case "part" | "part_page":
            done = sum(each in ("part", "part_page") for each in q.plan[: position(s)])
            roles = ["right" if done + 1 == q.plan.count(what) else "short"]
        case "open" | "more":
            at = 0 if what == "open" else q.plan[: position(s) + 1].count("more")
            roles = [q.page_role] if q.page_role and at == q.page_window else []
    chars = {"table": 15_000, "search": 3_500, "open": min(q.page_chars, 9_900), "more": 9_900}.get(what, 200)
    real = arm.results != "placebo"
    return Seen(tool, frozenset(q.letters[role] for role in roles) if real else frozenset(), chars)


def tool_of(what: str) -> Literal["code", "search", "page"]:
    return "code" if what in CODE else "search" if what == "search" else "page"


def expected(q: Question, arm: Arm, removed: Removed = NOTHING, times: int = 400) -> float:
    """P(score) under do(removed). Beliefs are averaged, not answers, so few trials are enough."""
    total = 0.0
    for number in range(times):
        s = played(q, arm, f"{q.id}~{number}")
        kept = 0.0 if loses_form(s, removed) else 1.0
        total += belief(s, removed) * kept
    return total / times


def shares(q: Question, arm: Arm, times: int = 400) -> dict[str, float]:
    """Of an effect, the terms of the decomposition, as the graph has them: each level against the next."""
    here = [played(q, arm, f"{q.id}~{number}") for number in range(times)]

    def level(removed: Removed) -> float:
        return sum(belief(s, removed) * (not loses_form(s, removed)) for s in here) / times

    levels = [
        ("format", level(NOTHING)),
        ("budget", level(frozenset({"format"}))),
        ("tool_fault", level(frozenset({"format", "budget"}))),
        ("content", expected(q, ARMS["real"], frozenset({"format", "budget", "tool_fault"}), times)),
        ("volume", expected(q, ARMS["placebo"], frozenset({"format"}), times)),
        ("calling", expected(q, ARMS["placebo"], frozenset({"format", "volume"}), times)),
        ("availability", expected(q, ARMS["offered"], times=times)),
        ("prompt", expected(q, ARMS["scaffold"], times=times)),
        ("none", expected(q, ARMS["none"], times=times)),
    ]
    terms = {name: here - there for (name, here), (_, there) in pairwise(levels)}
    return {**terms, "sampling_noise": 0.0, "effect": levels[0][1] - levels[-1][1]}
