"""A text browser: pages as numbered lines, from the live web or a corpus."""

from toolablate.tools.browser.corpus import CorpusPages
from toolablate.tools.browser.page import Page, PageSource, PageUnreadableError
from toolablate.tools.browser.policy import FetchPolicy
from toolablate.tools.browser.tool import Browser
from toolablate.tools.browser.web import WebPages

__all__ = ["Browser", "CorpusPages", "FetchPolicy", "Page", "PageSource", "PageUnreadableError", "WebPages"]
