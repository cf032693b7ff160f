"""What an endpoint reports of a reply's tokens and cost, under the names that it has for them.

`cache_write_tokens`    OpenAI, OpenRouter, litellm; `cache_creation_tokens` and `cache_creation_input_tokens` are
                        older names of litellm's, and those of gateways that pass Anthropic's on
`cost`                  https://openrouter.ai/docs/use-cases/usage-accounting, in credits of one US dollar
`cost_in_usd_ticks`     https://docs.x.ai/developers/cost-tracking
"""

from collections.abc import Mapping
from typing import Any

from toolablate.agents.endpoint.wire import count_in
from toolablate.traces.records import Usage

_CACHE_WRITES = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
_TICKS_PER_DOLLAR = 10**10
# No reply cost as much; what is more is no price.
_DOLLARS_BELOW = 1e6
# Twice what the longest replies of Google's models have.
_MOST_UNNAMED_THOUGHTS = 2**17


def completions_usage(usage: object) -> Usage:
    """Of Chat Completions."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = count_in(details, "cached_tokens")
    if cached is None:
        # DeepSeek's and Kimi's names for it.
        cached = count_in(usage, "prompt_cache_hit_tokens", "cached_tokens")
    written = count_in(details, *_CACHE_WRITES)
    if written is None:
        written = count_in(usage, *_CACHE_WRITES)
    reasoning = count_in(usage.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(
        input_tokens=count_in(usage, "prompt_tokens"),
        output_tokens=_output(usage, cached or 0, written or 0, reasoning),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def responses_usage(usage: object) -> Usage:
    """Of Responses."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("input_tokens_details")
    return Usage(
        input_tokens=count_in(usage, "input_tokens"),
        output_tokens=count_in(usage, "output_tokens"),
        cached_tokens=count_in(details, "cached_tokens"),
        cache_write_tokens=count_in(details, *_CACHE_WRITES),
        reasoning_tokens=count_in(usage.get("output_tokens_details"), "reasoning_tokens"),
    )


def charged_usd(usage: object) -> float | None:
    """What the endpoint says that it charged, in US dollars."""
    if not isinstance(usage, dict):
        return None
    ticks = count_in(usage, "cost_in_usd_ticks")
    if ticks is not None:
        return ticks / _TICKS_PER_DOLLAR
    charged = _amount(usage.get("cost"))
    details = usage.get("cost_details")
    upstream = _amount(details.get("upstream_inference_cost")) if isinstance(details, dict) else None
    own_key = usage.get("is_byok")
    if not isinstance(own_key, bool):
        own_key = charged is not None and upstream is not None and upstream > charged
    if not own_key:
        return charged
    # Under a key of the user's own, OpenRouter's part is a fee, and the provider charges the rest.
    return None if charged is None or upstream is None else charged + upstream


def _output(usage: Mapping[str, Any], cached: int, written: int, reasoning: int | None) -> int | None:
    """The tokens that were written, thoughts among them.

    xAI counts thoughts beside `completion_tokens`, Google too and under no name: they are what the total has more. So
    a surplus counts where it is what was told as `reasoning_tokens`, and where no such number was told and thoughts can
    be as long. Any other is no output: some gateways count what was in the cache beside `prompt_tokens`, and some give
    the total of a conversation.
    """
    read, wrote, total = (count_in(usage, key) for key in ("prompt_tokens", "completion_tokens", "total_tokens"))
    if read is None or wrote is None or total is None:
        return wrote
    more = total - read - wrote
    if reasoning is not None:
        return wrote + more if more == reasoning else wrote
    thought = 0 < more <= _MOST_UNNAMED_THOUGHTS and more not in (cached, written, cached + written)
    return wrote + more if thought else wrote


def _amount(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _DOLLARS_BELOW else None
