"""Thoughts that some endpoints leave in a reply, between tags, before what is said."""

_BEGINS = ("<think>", "<thinking>", "<reasoning>", "[THINK]", "◁think▷", "<seed:think>")
_ENDS = ("</think>", "</thinking>", "</reasoning>", "[/THINK]", "◁/think▷", "</seed:think>")


def after_thoughts(reply: str) -> str:
    """What a reply says after its thoughts; "" where it does not get there. Some endpoints leave out the first tag."""
    ends = max((reply.rfind(tag) + len(tag) for tag in _ENDS if tag in reply), default=0)
    said = reply[ends:]
    return "" if said.lstrip().startswith(_BEGINS) else said
