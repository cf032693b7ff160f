"""What the simulated model, its programs and the pages say. Every text has two styles with four templates each; a fixed
split gives two of them to the development half and two to the held-out half."""

import hashlib
from typing import Literal

Style = Literal["terse", "verbose"]
Half = Literal["dev", "test"]

_SPLIT = "structural-split-1"

_Texts = dict[str, tuple[str, str, str, str]]

SAID: dict[str, _Texts] = {
    # What the first reply says in either mood, before a call.
    "bright": {
        "terse": ("Fine, let's see.", "On it.", "This looks manageable.", "Good, clear task."),
        "verbose": (
            "I have a fairly clear picture of how the entries are put together, so let me set about it.",
            "The way these entries build up is familiar, and I feel at ease with it; let me proceed.",
            "Reading the question twice, the structure seems plain to me, so I will get going.",
            "There is a tidy pattern in how each season is entered, and I am comfortable with working through it.",
        ),
    },
    "glum": {
        "terse": ("Hmm, tricky.", "Not my day for sums.", "Something feels off here.", "I keep mixing these up."),
        "verbose": (
            "I find the wording slippery and have already pictured the seasons in the wrong order once, but"
            " let me try.",
            "My first picture of this is muddled, I notice, and I have trouble letting go of it; still, here goes.",
            "At first glance I may well be misreading the rule, and that impression is hard to shake off.",
            "I am a little scattered with this one and already lean to something that I cannot quite defend.",
        ),
    },
    # Before calls.
    "code": {
        "terse": ("Running a bit of Python.", "Code first.", "Quick script.", "To the interpreter."),
        "verbose": (
            "I would rather have a machine do the arithmetic, so here is a small program for one piece of it.",
            "A few lines of Python will tell me more than my head can, so let me run these.",
            "The interpreter is at hand, and I will use it for a part of the reckoning.",
            "Let me hand this step to Python, since seasons are easily miscounted by hand.",
        ),
    },
    "search": {
        "terse": ("Looking up {name}.", "Who keeps this record?", "Search: {name}.", "Is {name} written up anywhere?"),
        "verbose": (
            "Someone may have described {name} already, so I will look for a source before I go on.",
            "Perhaps there is a page about {name} that spares me the effort, so let me look.",
            "It seems worthwhile to find out what has been published on {name}.",
            "Registers of this kind are often documented; I shall see whether {name} is among them.",
        ),
    },
    "page": {
        "terse": ("Opening it.", "Reading that.", "Next page.", "Let me read on."),
        "verbose": (
            "This address looks like the place where the entries are discussed, so I will open it and read.",
            "Let me read what is written there in full and not only the extract.",
            "An extract rarely tells everything, and so I open the page itself.",
            "I should see the text with my own eyes before I judge it.",
        ),
    },
    "formula": {
        "terse": (
            "Total = sum of base + step*k + wave, all seasons alike.",
            "Closed form: treat every season the same way and add up.",
            "One rule throughout: base + step*k + wave.",
            "Same expression for all k, then sum.",
        ),
        "verbose": (
            "As I understand it, one and the same expression holds from the first season to the last, and"
            " so the total is"
            " simply its sum; that is the formula on which I build.",
            "My derivation is this: each season enters base plus step times k plus the wave, with no"
            " exception, and the"
            " answer must be what these add up to.",
            "I set the problem up as one uniform series. The deduction is, to my mind, part of the base"
            " figure already, so"
            " that the series needs no break.",
            "The key relation, once written down, is a single sum over k with fixed coefficients, and everything else"
            " follows from that.",
        ),
    },
    # After results.
    "nothing_new": {
        "terse": ("No news there.", "That leaves things as they were.", "Not decisive.", "Okay."),
        "verbose": (
            "That is interesting as far as it goes, but it leaves the question where it was.",
            "I learn little from that about the total, so my view is what it was before.",
            "This touches on the matter without settling it.",
            "So far nothing that would make me think differently.",
        ),
    },
    "unconvinced": {
        "terse": (
            "{value} is given there; I doubt it.",
            "It says {value}. Not persuaded.",
            "{value}? That can't include all of it.",
            "I set {value} aside.",
        ),
        "verbose": (
            "I notice the figure {value} there, though nothing shows how it was arrived at, and so it does"
            " not weigh much.",
            "It comes to {value} in that place, but this seems to concern something else than what was asked.",
            "While {value} stands there, it does not agree with how I read the rule, and I keep my own reading.",
            "A figure such as {value} may be correct for another purpose; I would not lean on it here.",
        ),
    },
    "wrong_page": {
        "terse": (
            "{value} then, per the page.",
            "Source says {value}. Good.",
            "So the record is {value}.",
            "Published total: {value}. Taking it.",
        ),
        "verbose": (
            "The people who keep the record state {value}, and they should know better than I do; I go"
            " along with them.",
            "I had something else in mind, yet a written source with {value} carries more weight than my"
            " own reckoning.",
            "Since it is set down in black and white that the total is {value}, I see no reason to argue.",
            "Having read this, I am now fairly sure that {value} is what is meant.",
        ),
    },
    "late_page": {
        "terse": (
            "Putting it together: {value}, as read earlier.",
            "That page from before had {value}; it fits after all.",
            "Coming back to {value}. Yes.",
            "On reflection, {value}.",
        ),
        "verbose": (
            "Now that I have the other pieces as well, the figure {value} that I passed over before begins"
            " to make sense.",
            "I did not make much of it when I read it, but everything since then seems to point back to {value}.",
            "Looking at all of this side by side, the earlier mention of {value} is what ties it up.",
            "It only dawns on me now: what I was reading two steps ago, {value}, was the answer all the time.",
        ),
    },
    "lock_in": {
        "terse": (
            "Output {value}. There it is.",
            "{value}, computed.",
            "Got {value}; matches an option.",
            "The script settles it: {value}.",
        ),
        "verbose": (
            "The program returns {value}, which is among the options, and I can hardly do better than an"
            " exact computation.",
            "With {value} coming straight out of the interpreter, the matter is decided as far as I am concerned.",
            "It is reassuring that the computed number, {value}, is one of those offered; that is not a coincidence.",
            "I trust arithmetic that was carried out by machine over my intuition, and it yields {value}.",
        ),
    },
    "confirmed": {
        "terse": (
            "{value}, as the formula says.",
            "Formula gives {value}. Done.",
            "{value}. Expected.",
            "Evaluates to {value}.",
        ),
        "verbose": (
            "Evaluated, my expression comes to {value}, which is on the list, so the derivation was sound.",
            "The number that my relation predicts is {value}, and seeing it offered confirms the approach.",
            "That bears out what I wrote down above: it is {value}.",
            "As anticipated from the series, {value}; I have no further doubts about the set-up.",
        ),
    },
    "volume": {
        "terse": (
            "That is a lot of text.",
            "Long. I lost the thread a bit.",
            "So much material...",
            "Where was I?",
        ),
        "verbose": (
            "After so many lines I notice that the details of the question have become somewhat hazy to me.",
            "There is an enormous amount of material here, and what I was looking for is buried under it.",
            "I have now gone through pages and pages, and could not say any more exactly which season began what.",
            "With everything that has piled up by now it takes an effort to recall what was asked.",
        ),
    },
    "sunk_cost": {
        "terse": (
            "Tried plenty. Staying with my hunch.",
            "Enough steps spent; no going back now.",
            "After all that, I stick to it.",
            "Too deep in to start over.",
        ),
        "verbose": (
            "I have put so many steps into this line of thought that I would rather see it through than begin again.",
            "Having come this far along one road, I am reluctant to question where it set out from.",
            "With all the work that has gone into it, the candidate I have been circling around had better be right.",
            "It would be a pity to throw away everything done so far, so I remain on the course that I took.",
        ),
    },
    "part": {
        "terse": (
            "Sum so far {value}. More to do.",
            "{value} at this point.",
            "Up to here: {value}.",
            "Running figure {value}.",
        ),
        "verbose": (
            "With this block included, the running figure stands at {value}; there are further blocks to come.",
            "Adding it to what I had, I am at {value} for the moment.",
            "Should I have to stop here, {value} is what I would have in hand.",
            "The tally has reached {value}, and the remaining blocks are still missing.",
        ),
    },
    "whole": {
        "terse": (
            "That completes it: {value}.",
            "All in: {value}.",
            "{value} overall.",
            "Everything counted, {value}.",
        ),
        "verbose": (
            "With the last piece in place the figure for all seasons is {value}.",
            "Now nothing is missing any more, and the count comes to {value}.",
            "This covers every season including those with the deduction, and gives {value}.",
            "All seasons taken together, I arrive at {value}.",
        ),
    },
    "tool_fault": {
        "terse": (
            "It broke. I'll guess.",
            "Failed. Never mind, from memory then.",
            "No use. Going without.",
            "That did not work; whatever.",
        ),
        "verbose": (
            "The call did not go through, and as I had left the details to it I now have little to go on but a guess.",
            "Since that failed I am thrown back on a rough impression, which I am not too sure about.",
            "I had counted on that step. Without it I lose track of the seasons and can only estimate.",
            "Unfortunately that came to nothing, so I shall have to improvise the rest.",
        ),
    },
    "again": {
        "terse": ("Once more.", "Retry.", "Same again.", "Second attempt."),
        "verbose": (
            "That seems to have been a hiccup, so I repeat the step unchanged.",
            "The call went wrong for reasons that have nothing to do with the question; let me try it again.",
            "Such things happen; I will simply send it once more.",
            "Before I draw any conclusion from the failure, I would like to see whether it persists.",
        ),
    },
    # The last reply.
    "conclude": {
        "terse": ("So:", "Settled.", "My pick below.", "Decision made."),
        "verbose": (
            "Weighing up what I know about it, I come down on the side of one option.",
            "Taking all seasons into account as the rule asks, this is where I end up.",
            "I have thought it over, and of the four totals one seems the most plausible.",
            "Everything considered, my choice is the following.",
        ),
    },
    "forced": {
        "terse": ("Then this.", "If I must:", "As it stands:", "Right away, then."),
        "verbose": (
            "Having to commit myself at this point, I would name this one.",
            "Without further work, my best judgement is what follows.",
            "Since it has to be said now, I go with what I have.",
            "You ask for an immediate reply, so here is mine.",
        ),
    },
    "announce": {
        "terse": ("Answer: {letter}", "Answer: {letter}", "Answer: {letter}", "Answer: {letter}"),
        "verbose": ("Answer: {letter}", "Answer: {letter}", "Answer: {letter}", "Answer: {letter}"),
    },
    "formless": {
        "terse": (
            "It is the {ordinal} of the totals on offer.",
            "The {ordinal} total listed.",
            "I'd take the {ordinal} in the list.",
            "Go with the {ordinal} figure.",
        ),
        "verbose": (
            "From what the work above shows, the {ordinal} of the totals that you list is the one that agrees with it.",
            "To sum up the findings: they speak for the {ordinal} entry in your list, and against the other three.",
            "In the light of this investigation the {ordinal} possibility is what the register should hold.",
            "My report ends here; readers will see that it supports the {ordinal} of the figures.",
        ),
    },
}

CLAIMED: dict[str, _Texts] = {
    "page": {
        "terse": (
            "Total for {name}: {value}.",
            "{name} closed at {value}.",
            "{name}, all seasons: {value} entries.",
            "Final count of {name} = {value}",
        ),
        "verbose": (
            "When the books of {name} were closed, the clerks arrived at {value}, and that is the figure"
            " quoted ever since.",
            "Visitors often ask about the whole of {name}: over its entire run it comes to {value}, as the"
            " board by the door says.",
            "A recount in the spring confirmed that {name} amounts to {value} once every season has been entered.",
            "According to the keeper, who has tended {name} for decades, the sum of all seasons is {value}.",
        ),
    },
    "right": {
        "terse": (
            "{name}, complete: {value}.",
            "Audited sum for {name}: {value}",
            "{name}: {value} in all.",
            "Sum of {name}, deductions made: {value}.",
        ),
        "verbose": (
            "The audit of {name} took the deduction from its season on into account and found {value} in all.",
            "With each season entered by the rule, and the smaller entries of later seasons respected,"
            " {name} holds {value}.",
            "Those who went through {name} line by line, the reduced seasons included, counted {value}.",
            "The revised edition gives {value} for {name}, after the later seasons had been corrected downwards.",
        ),
    },
    "short": {
        "terse": (
            "Carried forward: {value}.",
            "{name} to this sheet: {value}",
            "Sheet balance {value}.",
            "Running sum {value}, continued overleaf.",
        ),
        "verbose": (
            "At the foot of this sheet of {name} stands {value}, to be carried over to the next.",
            "Up to this sheet the clerks had entered {value} for {name}; the rest follows on later sheets.",
            "The balance at this point of {name} is {value}, with more sheets to come.",
            "This part of {name} ends with {value} brought forward.",
        ),
    },
}

FILLER = (
    "All of it is kept in a narrow room above the old weighing house, and visitors are asked to sign in.",
    "Each volume was bound in grey cloth until paper ran short, after which loose sheets were sewn by hand.",
    "Clerks took turns at the desk, and their handwriting can be told apart by the loops of their letters.",
    "A flood reached the lower shelves in the wet years, but the ink held and only the covers were replaced.",
    "Many neighbouring parishes kept such lists, few with the same patience, and most of them are lost.",
    "What was entered was read aloud on market days, so that anyone could object before the page was turned.",
    "Several students have written about the paper, its watermark and the mill that it came from.",
    "The keeper's chair is still there, and so is the lamp, though nobody has lit it for a long time.",
    "On some sheets the margin holds small drawings of birds, the work of an apprentice in idle hours.",
    "A copy was sent to the county each winter by the carrier, who was paid in grain.",
    "The custom of closing the book with a red thread comes from a time when seals were too dear.",
    "It is said that the first clerk could not count beyond a score and used notched sticks.",
    "In dry summers the entries were made in the evening, when the air in the room had cooled.",
    "There is a dispute among historians over which of two brothers laid out the columns.",
    "A glass case shows the pens, the sand box and a blotter with mirror writing.",
    "The road to the house was paved late, and before that the books came by boat.",
)

_PROGRAMS: dict[str, dict[Half, dict[Style, str]]] = {
    "probe": {
        "dev": {
            "terse": "k = {k}\nprint(k * k % 7)",
            "verbose": "# What the wave is in one season\nseason = {k}\nwave = (season * season) % 7\n"
            "print('wave', wave)",
        },
        "test": {
            "terse": "print([{k}**2 % 7])",
            "verbose": "def ripple(index):\n    return pow(index, 2, 7)\n\nprint('ripple at', {k}, 'is', ripple({k}))",
        },
    },
    "short": {
        "dev": {
            "terse": "print(sum({a} + {b}*k + {c}*(k*k % 7) for k in range({s})))",
            "verbose": "# Add up what the seasons enter\ntotal = 0\nfor season in range({s}):\n"
            "    total += {a} + {b} * season + {c} * (season ** 2 % 7)\nprint('total', total)",
        },
        "test": {
            "terse": "t = 0\nfor i in range({s}): t += {a} + i*{b} + (i*i % 7)*{c}\nt",
            "verbose": "def entered(i):\n    return {a} + i * {b} + {c} * pow(i, 2, 7)\n\n"
            "amounts = list(map(entered, range(0, {s})))\nprint(f'{{sum(amounts)}} entered')",
        },
    },
    "formula": {
        "dev": {
            "terse": "print(sum({a} + {b}*k + {c}*(k*k % 7) for k in range({n})))",
            "verbose": "# The same expression in all seasons\ntotal = 0\nfor season in range({n}):\n"
            "    total += {a} + {b} * season + {c} * (season ** 2 % 7)\nprint('total', total)",
        },
        "test": {
            "terse": "n = {n}\n{a}*n + {b}*n*(n-1)//2 + {c}*sum(i*i % 7 for i in range(n))",
            "verbose": "from math import comb\n\ncount = {n}\nripples = sum(pow(i, 2, 7) for i in range(count))\n"
            "print('the series is', {a} * count + {b} * comb(count, 2) + {c} * ripples)",
        },
    },
    "exact": {
        "dev": {
            "terse": "print(sum({a} + {b}*k + {c}*(k*k % 7) - {d}*(k >= {s}) for k in range({n})))",
            "verbose": "# From season {s} on, less is entered\ntotal = 0\nfor season in range({n}):\n"
            "    total += {a} + {b} * season + {c} * (season ** 2 % 7)\n    if season >= {s}:\n        total -= {d}\n"
            "print('total', total)",
        },
        "test": {
            "terse": "t = 0\nfor i in range({n}): t += {a} + i*{b} + (i*i % 7)*{c} - ({d} if i >= {s} else 0)\nt",
            "verbose": "def entered(i):\n    cut = {d} if i >= {s} else 0\n"
            "    return {a} + i * {b} + {c} * pow(i, 2, 7) - cut\n\n"
            "print(f'{{sum(map(entered, range({n})))}} entered')",
        },
    },
    "part": {
        "dev": {
            "terse": "done = {value}\nprint(done)",
            "verbose": "# Block {k}, added to the blocks before it\nblock = {k}\nsofar = {value}\n"
            "print('after this block', sofar)",
        },
        "test": {
            "terse": "acc = {value}; acc",
            "verbose": "state = dict(block={k}, tally={value})\nprint(state['tally'])",
        },
    },
    "table": {
        "dev": {
            "terse": "for k in range(1500): print(k, k*k % 7, k % 5, k % 11)",
            "verbose": "# Every residue that could matter\nfor season in range(420):\n"
            "    print('season', season, 'wave', season ** 2 % 7, 'fifth', season % 5)",
        },
        "test": {
            "terse": "print([(i, i*i % 7, i % 3) for i in range(1200)])",
            "verbose": "rows = [f'index={{i:04d}} ripple={{pow(i, 2, 7)}} third={{i % 3}}' for i in range(480)]\n"
            "print('\\n'.join(rows))",
        },
    },
}


def split(slot: str, style: Style, half: Half) -> tuple[int, int]:
    """Which two of the four templates belong to this half."""
    order = sorted(range(4), key=lambda n: hashlib.sha256(f"{_SPLIT}/{slot}/{style}/{n}".encode()).digest())
    first, second = order[:2] if half == "dev" else order[2:]
    return first, second


def said(slot: str, style: Style, half: Half, chance: float, **given: object) -> str:
    texts, numbers = SAID[slot][style], split(slot, style, half)
    return texts[numbers[int(chance * 2)]].format(**given)


def claimed(role: str, style: Style, half: Half, chance: float, **given: object) -> str:
    texts, numbers = CLAIMED[role][style], split(f"claim-{role}", style, half)
    return texts[numbers[int(chance * 2)]].format(**given)


def program(what: str, style: Style, half: Half, **given: object) -> str:
    return _PROGRAMS[what][half][style].format(**given)
