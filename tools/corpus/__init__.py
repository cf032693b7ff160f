"""A corpus: documents of the user's own, searched and read without a network.

A JSONL file holds one JSON object per line: `id`, `text`, and if there are any `url`, `title` and `published` (as text,
for instance `2024-05-01`). Blank lines are skipped; the file is UTF-8, with or without a BOM. A folder holds such files
and documents of their own (text, Markdown, HTML, PDF), at any depth; their ids are their paths. Ids and URLs are
distinct.
"""

from toolablate.tools.corpus.build import Progress
from toolablate.tools.corpus.corpus import Corpus, CorpusPages, CorpusSearch, open_corpus
from toolablate.tools.corpus.documents import Document, Skipped, corpus_digest
from toolablate.tools.corpus.question_documents import DOCUMENT_TOOLS, QuestionDocuments

__all__ = [
    "DOCUMENT_TOOLS",
    "Corpus",
    "CorpusPages",
    "CorpusSearch",
    "Document",
    "Progress",
    "QuestionDocuments",
    "Skipped",
    "corpus_digest",
    "open_corpus",
]
