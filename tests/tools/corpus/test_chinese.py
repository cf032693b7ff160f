"""Known items in Chinese: whoever remembers a phrase of a document finds it."""

import json
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.tools.corpus.conftest import Opener, found

from toolablate.tools.corpus import Corpus

DATA = Path(os.environ.get("TOOLABLATE_DATA", Path(__file__).parents[4] / "shared/data")) / "lfqa_e_zh.json"
AIM = 0.95
_RUN = re.compile("[\u4e00-\u9fff]{6,}")


async def recall(corpus: Corpus, texts: Sequence[str], draw: random.Random, count: int) -> float:
    """Share of documents that are among the first ten for 6 to 12 characters of their text, drawn at random."""
    hits = []
    for number in draw.sample(range(len(texts)), count):
        run = draw.choice(_RUN.findall(texts[number]))
        length = min(len(run), draw.randint(6, 12))
        start = draw.randrange(len(run) - length + 1)
        urls = await found(corpus, run[start : start + length])
        hits.append(f"https://corpus.invalid/{number:05d}" in urls)
    return sum(hits) / len(hits)


def opened_texts(opened: Opener, texts: Sequence[str]) -> Corpus:
    return opened({"id": f"{number:05d}", "text": text} for number, text in enumerate(texts))


async def test_phrases_of_real_answers(opened: Opener) -> None:
    if not DATA.exists():
        pytest.skip(f"the recorded data are not here: {DATA.parent} (set TOOLABLATE_DATA to their folder)")
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    fields = ("context", "reference", "response_a", "response_b")
    texts = sorted({row[field] for row in rows for field in fields if _RUN.search(row[field] or "")})
    assert len(texts) > 2_000
    assert await recall(opened_texts(opened, texts), texts, random.Random(1), 300) >= AIM


SUBJECTS = [
    "唐代诗人",
    "古代水利工程",
    "高原湖泊",
    "地方戏曲",
    "海洋生物",
    "早期铁路",
    "传统木构建筑",
    "城市供水系统",
    "青铜器铭文",
    "农业气象",
]
REGIONS = [
    "江南",
    "岭南",
    "西域",
    "关中",
    "巴蜀",
    "辽东",
    "河西",
    "滇南",
    "闽北",
    "燕赵",
    "齐鲁",
    "荆楚",
    "淮北",
    "塞外",
    "湘西",
]
VERBS = ["记载了", "影响了", "取代了", "继承了", "保护了", "改变了", "描绘了", "促进了", "限制了", "见证了"]
OBJECTS = [
    "地方志书",
    "水稻种植",
    "商业往来",
    "民间信仰",
    "官员任命",
    "河道变迁",
    "货币流通",
    "书院教育",
    "手工作坊",
    "边境贸易",
    "节庆习俗",
    "医药知识",
]
NAMES = "李王张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕"
GIVEN = "明德文远志安国华建兴永昌思齐嘉树若水子墨长风云帆景行怀瑾承宇清扬"


def composed(draw: random.Random) -> str:
    """Sentences that differ in who and when, as in an encyclopedia: most pairs of characters are in many of them."""

    def sentence() -> str:
        person = draw.choice(NAMES) + "".join(draw.sample(GIVEN, 2))
        return (
            f"{draw.choice(REGIONS)}的{draw.choice(SUBJECTS)}{draw.choice(VERBS)}{draw.choice(OBJECTS)}，"
            f"{person}于公元{draw.randint(600, 1900)}年在{draw.choice(REGIONS)}{draw.choice(VERBS)}{draw.choice(OBJECTS)}"
        )

    return "。".join(sentence() for _ in range(draw.randint(3, 12))) + "。"


async def test_names_and_dates_in_composed_articles(opened: Opener) -> None:
    """A name and a year of one sentence, among two thousand articles whose sentences are all alike."""
    draw = random.Random(2)
    texts = [composed(draw) for _ in range(2_000)]
    corpus = opened_texts(opened, texts)
    hits = []
    for number in draw.sample(range(len(texts)), 200):
        person, year = draw.choice(re.findall("，(.{3})于公元(\\d+)年", texts[number]))
        hits.append(f"https://corpus.invalid/{number:05d}" in await found(corpus, f"{person} {year}年"))
    assert sum(hits) / len(hits) >= AIM


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("関数の連続性", "実数値関数の連続性について述べる。"),
        ("미분 방정식", "상미분방정식의 해를 구한다."),
        ("ทฤษฎีจำนวน", "บทนำสู่ทฤษฎีจำนวนเบื้องต้น"),
    ],
)
async def test_other_scripts_that_are_not_spaced_as_a_query_is(opened: Opener, query: str, text: str) -> None:
    corpus = opened([{"id": "there", "text": text}, {"id": "other", "text": "別の話。다른 이야기. เรื่องอื่น"}])
    assert (await found(corpus, query))[0] == "https://corpus.invalid/there"
