from toolablate.tools.browser.page import Page
from toolablate.tools.recorded.pages import PageCache
from toolablate.traces.records import Link


def page(name: str, chars: int, links: int = 0) -> Page:
    link = Link(start=0, end=1, url="https://example.org/")
    return Page.of(f"https://example.org/{name}", name, "x" * (chars - 1), (link,) * links)


def test_what_was_asked_for_last_is_held_up_to_the_size() -> None:
    cache = PageCache(max_chars=250)
    pages = {name: page(name, 100) for name in "abc"}
    cache.put("a", pages["a"])
    cache.put("b", pages["b"])
    assert cache.get("a") is pages["a"]
    cache.put("c", pages["c"])
    assert [cache.get(name) for name in "abc"] == [pages["a"], None, pages["c"]]


def test_a_page_put_twice_counts_once() -> None:
    cache = PageCache(max_chars=250)
    cache.put("a", page("a", 100))
    for _ in range(5):
        cache.put("b", page("b", 100))
    assert cache.get("a") is not None


def test_links_count() -> None:
    cache = PageCache(max_chars=1_000)
    cache.put("a", page("a", 100))
    cache.put("b", page("b", 100, links=1))
    assert cache.get("a") is not None
    cache.put("c", page("c", 100, links=1))
    assert cache.get("a") is not None
    assert cache.get("b") is None


def test_a_page_larger_than_all_room_is_not_held() -> None:
    cache = PageCache(max_chars=50)
    cache.put("a", page("a", 100))
    assert cache.get("a") is None
    cache.put("b", page("b", 40))
    assert cache.get("b") is not None
