"""What to know of a report's figures."""

from collections.abc import Iterator

from toolablate.analysis.findings import Findings


def simulated_note(findings: Findings) -> str:
    """ "" where every model is a real one."""
    if not findings.simulated:
        return ""
    names = ", ".join(sorted(findings.simulated))
    return f"Simulated, no measurement: {names}. Simulated models imitate one, and say nothing of any that exists."


def how_to_read(findings: Findings) -> Iterator[str]:
    if findings.comparisons:
        yield (
            "An effect is the difference of a condition from the baseline in percentage points, paired over the"
            " questions that are scored under both. Its interval is by a bootstrap over questions; p by a sign-flip"
            " test, and p Holm corrected for all comparisons of its table."
        )
        yield "Some questions flip between any two runs: flips tell of tools where they are more than chance gives."
    if findings.why is not None and findings.why.resolved:
        yield (
            "Mechanisms are shares of an effect that sum to it. What rests on arms or replays was measured; what rests"
            " on traces alone is a hypothesis; what was not replayed is unresolved, and hidden nowhere."
        )


def notes_of(findings: Findings) -> Iterator[str]:
    yield from findings.notes
    if findings.why is not None:
        yield from findings.why.notes
        if findings.why.unreplayed:
            yield "Replays that are missing are made by: toolablate attribute STORE --replay"
