from math import isfinite

import click


def finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """`nan` is in every range, and more than nothing."""
    if value is not None and not isfinite(value):
        raise click.BadParameter(f"{value} is no number to count with.", context, parameter)
    return value
