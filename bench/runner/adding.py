"""The tool of `four-tools`, as a user of toolablate writes it; it is copied beside the plan."""

from toolablate.tools import tool


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b
