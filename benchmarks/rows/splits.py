from collections.abc import Sequence

from toolablate.traces.errors import InputError


def chosen(source: str, split: str, splits: Sequence[str]) -> str:
    """The split that is named, or the only one. Raises InputError."""
    if split in splits:
        return split
    if not split and len(splits) == 1:
        return splits[0]
    there = f"it has {', '.join(splits)}" if splits else "it has none"
    said = f"no split {split!r}; {there}" if split else f"several splits; {there}"
    base = source.removesuffix(f"#{split}") if split else source
    hint = f"Name one of them: {base}#{splits[0]}" if splits else f"Leave it out: {base}"
    raise InputError(f"{source}: {said}", hint=hint, code="no_split")
