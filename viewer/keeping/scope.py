import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Scope:
    """What of which store is viewed; `run`, `scorer` and `baseline` are as `read_trials` takes them."""

    store: Path
    run: str = "latest"
    scorer: str | None = None
    baseline: str | None = None

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "store": str(self.store)})

    @classmethod
    def from_json(cls, text: str) -> "Scope":
        content = json.loads(text)
        return cls(**{**content, "store": Path(content["store"])})
