"""The pages of a corpus, for browsing without a network."""

from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.corpus import Corpus
from toolablate.tools.plain import one_line


class CorpusPages:
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    async def read(self, url: str) -> Page:
        document = self._corpus.at(url)
        if document is None:
            raise PageUnreadableError(f"{one_line(url, 300)} is not in this corpus", code="not_in_corpus")
        return Page.of(document.url, document.title or document.url, document.text)
