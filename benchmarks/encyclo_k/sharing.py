"""Which questions lean on the same knowledge."""

from collections.abc import Hashable, Sequence


def clusters(shared: Sequence[Sequence[Hashable]], names: Sequence[str]) -> list[str]:
    """Of each question, the name of the first of those that it hangs together with: by what `shared` says that they
    have in common, or by way of others. Empty for a question that has nothing in common with any other."""
    parents = list(range(len(shared)))

    def root(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    first: dict[Hashable, int] = {}
    for place, parts in enumerate(shared):
        for part in parts:
            one, other = sorted((root(first.setdefault(part, place)), root(place)))
            parents[other] = one
    roots = [root(place) for place in range(len(shared))]
    several = {one for place, one in enumerate(roots) if place != one}
    return [names[one] if one in several else "" for one in roots]
