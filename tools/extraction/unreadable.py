"""Why a document gives no text."""


class Unreadable(Exception):
    """A document without text that could be read; `code` is a stable word, `reason` a sentence."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
