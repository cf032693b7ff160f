"""The posts of threads in forums and of questions with answers, on the systems that most of them run on.

Extractors look for one article and take answers for comments. The class names below are those of the systems' own
templates. Others use some of them too, for comments below an article; so posts are only looked for where all is there
that marks a thread of the system.
"""

from typing import Any

# What every thread of a system has in its source, and where its posts are; {name} tests for a class.
_SYSTEMS: tuple[tuple[tuple[str, ...], str], ...] = (
    # XenForo
    (('id="XF"', 'data-template="thread_view', "bbWrapper"), "//*[{message-body}]//*[{bbWrapper}]"),
    # vBulletin
    (("vBulletin", "showthread", "post_message_"), "//*[starts-with(@id, 'post_message_')]"),
    # phpBB
    (('id="phpbb"', "viewtopic", "postbody"), "//*[{postbody}]//div[{content}]"),
    # Discourse
    (('content="Discourse', "crawler-post"), "//*[{topic-body}]//*[{post}]"),
    # Stack Exchange
    (("schema.org/QAPage", "js-post-body", "postcell", "answercell"), "//*[{js-post-body}]"),
    # Hacker News
    (('op="item"', "hnmain", "athing", "commtext"), "//*[{commtext} or {toptext}]"),
    # Reddit
    (("comments-page", "data-fullname", "usertext-body"), "//*[{usertext-body}]//*[{md}]"),
    # Discuz
    (("Discuz!", "viewthread", "postmessage_"), "//td[starts-with(@id, 'postmessage_')]"),
    # Tieba
    (("贴吧", "p_postlist", "j_d_post_content"), "//*[{d_post_content}]"),
    # Zhihu
    (("知乎", "QuestionHeader", "AnswerItem"), "//*[{QuestionRichText}] | //*[{AnswerItem}]//*[{RichContent-inner}]"),
    # V2EX
    (("V2EX", "topic_content", "reply_content"), "//*[{topic_content} or {reply_content}]"),
    # SegmentFault
    (("思否", "answer-item", "article-content"), "//article[{article-content}]"),
)


def posts_of(html: str, tree: Any) -> str:
    """The text of the posts, in order; empty where the page is no thread that is known, or has one post only."""
    for marks, path in _SYSTEMS:
        if all(mark in html for mark in marks):
            texts = [text for post in _outermost(tree.xpath(_with_classes(path))) if (text := _text(post))]
            if len(texts) > 1:
                return "\n\n".join(texts)
    return ""


def _with_classes(path: str) -> str:
    opened = path.replace("{", "contains(concat(' ', normalize-space(@class), ' '), ' ")
    return opened.replace("}", " ')")


def _outermost(elements: list[Any]) -> list[Any]:
    known = set(elements)
    return [element for element in elements if not any(around in known for around in element.iterancestors())]


def _text(post: Any) -> str:
    from lxml.html import tostring  # type: ignore[import-untyped]
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(tostring(post, encoding="unicode", with_tail=False), preserve_formatting=True).strip()
