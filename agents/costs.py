"""What a reply cost: what the plan's price makes of it, else what the endpoint says, else what the price table does."""

from toolablate.traces.records import ModelReply, Price, Rates, Usage


def known_cost(reply: ModelReply, price: Price | None) -> float | None:
    """US dollars; None where the price is unknown, or where the reply does not report what the price needs.

    A cache of which nothing was reported gave nothing. Where writing to it has a price of its own, it may not be passed
    over in silence: what was written then has to be reported, if only as 0.
    """
    priced = None if price is None else _priced(reply.usage, price)
    if price is not None and not price.from_table and priced is not None:
        return priced
    return priced if reply.charged_usd is None else reply.charged_usd


def _priced(usage: Usage, price: Price) -> float | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    rates = rates_of(price, usage.input_tokens)
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens
    if written is None and rates.cache_write not in (None, rates.input):
        return None
    written = written or 0
    if cached + written > usage.input_tokens:
        return None
    return _cost(rates, usage.input_tokens, cached, written, usage.output_tokens)


def counted_cost(reply: ModelReply, price: Price | None, read: int, wrote: int) -> float:
    """US dollars that count against a limit; `read` and `wrote` are tokens of input and output, at least by estimate.

    Where both the price table and the endpoint say what a reply cost, the larger counts: an endpoint that reports 0
    would switch the limit off.
    """
    charged = reply.charged_usd or 0.0
    if price is None:
        return charged
    priced = _priced(reply.usage, price)
    if priced is None:
        return charged or estimated_cost(reply, price, read, wrote)
    return max(priced, charged) if price.from_table else priced


def estimated_cost(reply: ModelReply, price: Price, read: int, wrote: int) -> float:
    """US dollars for a reply whose cost is not known; `read` and `wrote` are tokens of input and output. What may have
    been written to the cache counts as written."""
    cached = min(reply.usage.cached_tokens or 0, read)
    written = reply.usage.cache_write_tokens
    written = read - cached if written is None else min(written, read - cached)
    return _cost(rates_of(price, read), read, cached, written, wrote)


def rates_of(price: Price, read: int) -> Rates:
    """The rates of a request with so many tokens of input, all of which the highest tier that it reaches prices."""
    return next((tier for tier in reversed(price.tiers) if read > tier.above), price)


def _cost(rates: Rates, read: int, cached: int, written: int, wrote: int) -> float:
    cached_input = rates.input if rates.cached_input is None else rates.cached_input
    cache_write = rates.input if rates.cache_write is None else rates.cache_write
    plain = (read - cached - written) * rates.input
    return (plain + cached * cached_input + written * cache_write + wrote * rates.output) / 1e6
