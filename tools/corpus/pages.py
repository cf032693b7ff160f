"""The pages of a corpus, for browsing without a network."""

from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.corpus.corpus import Corpus
from toolablate.tools.plain import one_line
from toolablate.traces.records import Lookup, clean_text, digest_text


class CorpusPages:
    """Opens the documents of a corpus and nothing else."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    async def read(self, url: str) -> Page:
        document = self._corpus.at(url)
        if document is None:
            raise PageUnreadableError(
                f"{one_line(url, 300)} is not in this corpus", code="not_in_corpus", lookup=_lookup(url)
            )
        heading = document.heading
        return Page.of(heading.url, heading.title or heading.url, document.text, heading.links, _lookup(heading.url))


def _lookup(url: str) -> Lookup:
    return Lookup(kind="page", key=digest_text(clean_text(url)))
