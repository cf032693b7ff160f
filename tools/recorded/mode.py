"""Where what a tool asks for comes from."""

from typing import Literal

Mode = Literal["live", "record", "replay"]
"""`live` asks the web each time, `record` the archive first and keeps what it asks the web for, `replay` the archive
alone."""
