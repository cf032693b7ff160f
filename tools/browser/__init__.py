"""A text browser: pages as numbered lines with numbered links."""

from toolablate.tools.browser.page import Page, PageSource, PageUnreadableError
from toolablate.tools.browser.tool import Browser

__all__ = ["Browser", "Page", "PageSource", "PageUnreadableError"]
