from toolablate.benchmarks.line_error import LineError, shown
from toolablate.benchmarks.rows.place import Place


class Identities:
    """The ids that the rows of a source have taken, and where each stands. `of` is what a row is, `key` its id's."""

    def __init__(self, of: str, key: str = "id") -> None:
        self.places: dict[str, Place] = {}
        self._of, self._key = of, key

    def take(self, identity: str, place: Place) -> None:
        """Raises LineError for an id that another row has, and for one that could not be shown in one line or typed."""
        check_id(identity)
        if identity in self.places:
            raise LineError(
                f"the {self._key} {shown(identity)} is already taken by {self.places[identity].seen_from(place)}",
                f"Every {self._of} needs an id of its own.",
            )
        self.places[identity] = place


def check_id(identity: str) -> None:
    """Raises LineError for an id that could not be shown in one line or typed."""
    if not identity.isprintable() or identity != identity.strip():
        raise LineError(f"the id {shown(identity)} has blanks around it or characters that cannot be printed")
