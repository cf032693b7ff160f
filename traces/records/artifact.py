from toolablate.traces.records._base import Record


class Artifact(Record):
    """A rich output of a tool, kept as inert data; binary MIME types are base64."""

    mime: str
    data: str
