"""Hosts that a plan keeps from models, however their addresses are written."""

import pytest

from toolablate.tools import LeakGuard

QUESTION = "Which river did the 1932 surveyors of the northern expedition cross twice?"
HOSTS = frozenset({"huggingface.co/datasets", "answers.example", "xn--bcher-kva.example"})


@pytest.mark.parametrize(
    ("url", "blocked"),
    [
        ("https://huggingface.co/datasets/x", True),
        ("huggingface.co/datasets", True),
        ("HTTP://HuggingFace.CO:443//datasets/x?y#z", True),
        ("https://huggingface.co/%64ataSets/x", True),
        ("https://huggingface.co/models/../datasets/x", True),
        ("https://huggingface.co\\datasets\\x", True),
        ("https://cdn.huggingface.co./datasets/x", True),
        ("https://ｈuggingface.co/datasets/x", True),
        ("https://web.archive.org/web/2024/https://huggingface.co/datasets/x", True),
        ("https://mirror.example/?u=https%3A%2F%2Fhuggingface.co%2Fdatasets%2Fx", True),
        ("https://bücher.example/", True),
        ("https://web.archive.org/web/2024/huggingface.co/datasets/x", True),
        ("web.archive.org/web/2024/huggingface.co/datasets/x", True),
        ("https://r.jina.ai/huggingface.co:443/datasets/x", True),
        ("https://r.jina.ai/huggingface\u3002co/datasets/x", True),
        ("https://r.jina.ai/https://me@huggingface.co/datasets/x", True),
        ("https://r.jina.ai/answers.example", True),
        ("https://mirror.example/?url=huggingface.co%2Fdatasets%2Fx&v=2", True),
        ("https://mirror.example/?u=https%253A%252F%252Fhuggingface.co%252Fdatasets", True),
        ("https://huggingface.co/x/..%2fdatasets/x", True),
        ("https://huggingface.co/.%2fdatasets/x", True),
        ("https://huggingface.co/%5cdatasets/x", True),
        ("https://huggingface.co/datasets;v=1/x", True),
        ("https://huggingface.co/data%2573ets/x", True),
        ("https://huggingface.co/datasets/x/..%2f..%2fy", True),
        ("https://me@huggingface.co/datasets/x", True),
        ("https://huggingface.co/datasets/" + "调" * 3_000, True),
        ("https://example.org/?q=huggingface.co/datasets", False),
        ("https://r.jina.ai/huggingface.co/models", False),
        ("https://huggingface.co/models;x=/datasets", False),
        ("https://huggingface.co/models?x=/datasets/", False),
        ("https://answers.example", True),
        ("https://huggingface.co/models", False),
        ("https://huggingface.co/datasetsx", False),
        ("https://notanswers.example/", False),
        ("https://answers.example.org/", False),
        ("https://example.org/?q=answers.example", False),
        ("", False),
        ("no url at all", False),
        ("javascript:alert(1)", False),
        ("read", False),
    ],
)
def test_blocked_hosts_in_every_spelling(url: str, blocked: bool) -> None:
    assert LeakGuard(QUESTION, ["x"], blocked_hosts=HOSTS).inspect(url, "").blocked == blocked


@pytest.mark.parametrize("part", ["http:/a/", "http:/", "a.b/", "%25", "../", "?u=a.b&", "a@", "https://a.b/%2f;"])
def test_no_address_keeps_it_busy_for_long(part: str) -> None:
    guard = LeakGuard(QUESTION, ["x"], blocked_hosts=HOSTS)
    for count in (300, 3_900 // len(part), 20_000):
        guard.inspect("https://x.org/" + part * count, "")


@pytest.mark.parametrize("entry", ["", "https://x.org", "a b", "x.org:80"])
def test_a_host_that_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="blocked_hosts"):
        LeakGuard(QUESTION, ["x"], blocked_hosts=frozenset({entry}))
