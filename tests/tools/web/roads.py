"""Where connections were wanted to lead."""

from dataclasses import dataclass, field

from tests.tools.web_server import WebServer


@dataclass
class Roads:
    """Every connection leads to one server of the test's; where it was wanted to lead is kept."""

    server: WebServer | None = None
    wanted: list[tuple[str, int]] = field(default_factory=list)
