"""Personal data: what is taken out, what stays, and what is told."""

import gzip
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lxml.html  # type: ignore[import-untyped]
import pytest

from toolablate.experiments.construction.known_names import (
    NO_NAMES,
    KnownNames,
    NamesAndTexts,
    _spelled,
    _spelled_in_address,
    names_of,
)
from toolablate.experiments.construction.personal_data import (
    address_without_personal_data,
    personal_data_in,
    without_personal_data,
)


def known(names: Sequence[str], question: str = "", others: Sequence[str] = (), place: str = "") -> KnownNames:
    return names_of(NamesAndTexts(names, question, others, place))


DATA = Path(os.environ.get("TOOLABLATE_DATA", Path(__file__).parents[4] / "shared" / "data"))

THREADS = DATA / "web_forum_gold.jsonl.gz"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Write to jo.e@mail.example.org, please", "Write to [email], please"),
        ("jo (at) example [dot] org", "[email]"),
        ("see https://f.example/u/Tesdudo-dream for more", "see [profile] for more"),
        ("call +49 171 2345678 today", "call [phone] today"),
        ("my IP 84.12.7.3 is blocked", "my IP [ip] is blocked"),
        ("@Berny thx", "[name] thx"),
        ("Anne Gray and anne gray, not Gray's law", "[name] and [name], not Gray's law"),
        (
            "问题来自王芳老师，发到jo@mail.example.org或谢谢@zhang就好",
            "问题来自[name]老师，发到[email]或谢谢[name]就好",
        ),
        ("thanks @john.doe. And @josé, ＠john, @王小明 too", "thanks [name]. And [name], [name], [name] too"),
        ("jürgen@web.de, jean (at) web (dot) de", "[email], [email]"),
        ("jo@müller.example, info@mu\u0308ller-köln.example, jo[@]f.example", "[email], [email], [email]"),
        ("иван@почта.рф. ｂｏｂ＠ｆ．ｅｘａｍｐｌｅ, jo@f．example", "[email]. [email], [email]"),
        ("jo@메일.example으로 보내, 发到jo@例子.中国就好", "[email]으로 보내, 发到[email]就好"),
        ("jo@f.exa\u200bmple, j\xado@f.example, An\u200dne Gray", "[email], [email], [name]"),
        ("jo @ mail.example, jo at müller dot example", "[email], [email]"),
        ("+44 20 7946 0958. Or +1 (212) 555-0199. Or +49 89 1234567.", "[phone]. Or [phone]. Or [phone]."),
        ("call +49 (0)89 1234567 or ＋86 138 1234 5678", "call [phone] or [phone]"),
        ("JOSÉ, Jose\u0301 and Joséphine", "[name], [name] and Joséphine"),
        ("O’Brien and O'Brien", "[name] and [name]"),
        ("https://f.example/profile.php?id=12", "[profile]"),
        ("https://f.example/member.php?5-hans", "[profile]"),
        ("https://f.example/memberlist.php?mode=viewprofile&u=5", "[profile]"),
        ("john.doe＠mail.example.org or jo at mail dot example", "[email] or [email]"),
        ("see twitter.com/jdoe, https://github.com/jdoe.", "see [profile], [profile]."),
        ("https://www.facebook.com/john.doe.33 and https://home.example/~jdoe", "[profile] and [profile]"),
        ("https://f.example/index.php?action=profile;u=17", "[profile]"),
        ("x.com/jdoe/status/1, twitter.com/home_jdoe, t.me/jdoe", "[profile], [profile], [profile]"),
        ("researchgate.net/profile/J-Doe and https://www.linkedin.com/in/jdoe/", "[profile] and [profile]"),
        ("f.example/memberlist.php?mode=viewprofile&u=5 or /u/jdoe", "[profile] or [profile]"),
        ("as /users/17/jdoe says, f.example/users/17/jdoe", "as [profile] says, [profile]"),
        ("https://f.example/user-17.html", "[profile]"),
        (
            "https://orcid.org/0000-0002-1825-0097, https://scholar.google.com/citations?hl=en&user=qc6CJjYAAAAJ.",
            "[profile], [profile].",
        ),
        ("IP: 84.12.7.3, my IP address is 84.12.7.3", "IP: [ip], my IP address is [ip]"),
        ("IP: 2001:db8::1, IPv4 address 84.12.7.3", "IP: [ip], IPv4 address [ip]"),
        (
            "see https://f.example/t/x/12?u=zorbax, and f.example/s?a=1&user=jo.",
            "see https://f.example/t/x/12?u=-, and f.example/s?a=1&user=-.",
        ),
        ("https://jo:pw@f.example/x", "https://f.example/x"),
        ("jo&#64;f.example or jo%40f.example", "[email] or [email]"),
        ("https://steamcommunity.com/id/jdoe, ORCID 0000-0002-1825-0097.", "[profile], ORCID [profile]."),
        # What a question is about stays.
        ("at 12:30:45, std::map, 100%40.5", "at 12:30:45, std::map, 100%40.5"),
        ("https://s.example/share?u=https://f.example/t/1", "https://s.example/share?u=https://f.example/t/1"),
        ("part 0000-00-0002 and 1234-5678-1234-5678", "part 0000-00-0002 and 1234-5678-1234-5678"),
        ("look at each dot product at the dot com price", "look at each dot product at the dot com price"),
        ("https://github.com/numpy/numpy/issues/5 or m/s/u/v", "https://github.com/numpy/numpy/issues/5 or m/s/u/v"),
        ("its speed u/v at x.com", "its speed u/v at x.com"),
        *(
            (page, page)
            for page in (
                "https://www.researchgate.net/publication/1_Wear_of_rings",
                "linkedin.com/pulse/why-seals-leak",
                "https://x.com/search?q=seal, twitter.com/hashtag/seal and x.com/i/events/1",
                "twitter.com/home, x.com/explore",
                "https://x.org/wiki/Seals",
                "https://scholar.google.com/citations?view_op=search_venues, https://orcid.org/about",
                "facebook.com/groups/seals",
            )
        ),
        ("version 23.0.11.48 of it", "version 23.0.11.48 of it"),
        ("use @property or @cached(3) in a.b@", "use @property or @cached(3) in a.b@"),
        ("x @ y.at[0], 3 @ 2.5, x@y.z", "x @ y.at[0], 3 @ 2.5, x@y.z"),
        ("می\u200cخواهم \u200b👩\u200d🔬", "می\u200cخواهم \u200b👩\u200d🔬"),
        ("$10^{-3}$ to +5 000 000 Pa at 10-20 K", "$10^{-3}$ to +5 000 000 Pa at 10-20 K"),
    ],
)
def test_personal_data_is_taken_out_and_content_stays(text: str, clean: str) -> None:
    assert without_personal_data(text, known(["Anne Gray", "王芳", "José", "O'Brien"])) == clean


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://f.example/t/why-jose-asks/1?by=O%27Brien#x", "https://f.example/t/why---asks/1?by=-#x"),
        ("https://f.example/u/anne_gray/posts", "https://f.example/u/-/posts"),
        ("https://f.example/7/anne.gray", "https://f.example/7/-"),
        ("https://f.example/%E7%8E%8B%E8%8A%B3/1", "https://f.example/-/1"),
        ("https://f.example/t/%E5%BE%85%E7%8E%8B%E8%8A%B3%E7%9A%84", "https://f.example/t/%E5%BE%85-%E7%9A%84"),
        ("https://f.example/u/anne-gray/t?u=http://x.example/1", "https://f.example/u/-/t?u=http://x.example/1"),
        ("f.example/t/anne-gray", "f.example/t/-"),
        ("https://f.example/josephine/annegrayer/2", "https://f.example/josephine/annegrayer/2"),
        ("https://annegray.example/u/anne-gray", "https://annegray.example/u/-"),
        ("https://f.example/t/anne-grays-cell", "https://f.example/t/-s-cell"),
        ("", ""),
    ],
)
def test_names_in_addresses_give_way(url: str, clean: str) -> None:
    assert known(["Anne Gray", "王芳", "José", "O'Brien", "an", "***"]).without_in_address(url, "") == clean


@pytest.mark.parametrize(
    ("names", "text", "clean"),
    [
        (
            ["bob_carter"],
            "Bob Carter, thanks Bob. As Bob said, B. Carter",
            "[name], thanks [name]. As [name] said, [name]",
        ),
        (["BobCarter"], "I agree with Bob and bob.carter", "I agree with Bob and [name]"),
        (["Marlow Quist"], "Thanks Marlow, M. Quist", "Thanks [name], [name]"),
        (["Marlow Quist"], "marlow at quist dot example", "[email]"),
        (["Marlow Quist"], "By Quist's law, Marlow's answer is right", "By Quist's law, [name]'s answer is right"),
        (["JonnyCJ", "Marlon1999"], "JonnyCJ said: no\nLG Marlon", "[name] said: no\nLG [name]"),
        (
            ["BatteryGuy", "Solar_Panel"],
            "Battery voltage sags. Panel voltage too.",
            "Battery voltage sags. Panel voltage too.",
        ),
        (["Jordan Smith", "Hans Eisen"], "The Jordan form; am Eisen rostet es", "The Jordan form; am Eisen rostet es"),
        (["Emma Young"], "Young's modulus. Emma Young wrote so.", "Young's modulus. [name] wrote so."),
        (["jsmith", "jo-smith_42"], "jsmith's algorithm, jo-smith_42's method", "[name]'s algorithm, [name]'s method"),
        (["Anne Gray"], "@Anne Gray: a gray cat", "[name]: a gray cat"),
        (["Anne Gray"], "Anne\u0301s gray cat at 3 a gray", "Anne\u0301s gray cat at 3 a gray"),
        (
            ["Marlow Quist"],
            "He asks Mr. Quist, MRS QUIST, Herrn Prof. Quist",
            "He asks Mr. [name], MRS [name], Herrn Prof. [name]",
        ),
        (["alice_quist"], "Kann Frau Dr. Quist helfen? M. Quist dit", "Kann Frau Dr. [name] helfen? M. [name] dit"),
        (["Marlow Quist", "王芳"], "Quist 先生和王女士", "[name] 先生和[name]女士"),
        (["Hans Müller"], "Hallo Herr Mueller hier, nicht Müllers Korn", "Hallo Herr [name] hier, nicht Müllers Korn"),
        (["Hans Mueller"], "Müller Hans, HANS MÜLLER und das Müller-Ding", "[name], [name] und das Müller-Ding"),
        (["Marlow Quist"], "Quist, M. (2011); Quist, M. J. and Quist, Marlow", "[name] (2011); [name] and [name]"),
        (["Marlow Quist"], "Marlow C. Quist, M. C. Quist, marlow c quist", "[name], [name], marlow c quist"),
        (["Wei Li"], "Dr. Li, an LI cell, Li+", "Dr. [name], an LI cell, Li+"),
        (
            ["Will_Power"],
            "The Prof will say. Power, W and Power will Miss it",
            "The Prof will say. Power, W and Power will Miss it",
        ),
        (
            ["Wasser_Pumpe", "王芳"],
            "Die Pumpe Wasser, mit Pumpe, Wasser, 国王的",
            "Die Pumpe Wasser, mit Pumpe, Wasser, 国王的",
        ),
        (["Quist Copper"], "It is 2 M. Copper is not.", "It is 2 M. Copper is not."),
        (["Ohm"], "Thanks Ohm, by Ohm's law it is 3", "Thanks [name], by Ohm's law it is 3"),
        (["José Quíst", "Łukasz Żak"], "As Jose Quist and Lukasz Zak showed", "As [name] and [name] showed"),
        (["jose_quist", "Mueller Gross"], "José Quist, MÜLLER GROẞ", "[name], [name]"),
        (["René"], "As Rene showed, and rené", "As [name] showed, and [name]"),
        (["bar"], "Der Bär hat 3 bar", "Der Bär hat 3 [name]"),
        (["Hans Müller"], "Hans Müllers und Hans Muellers Rat", "[name]s und [name]s Rat"),
        (["Solar_Panel"], "A solar panel, solar panels", "A [name], solar panels"),
        (
            ["김민수"],
            "김민수님께 감사합니다. 김민수가 맞습니다. 답은 김민수",
            "[name]님께 감사합니다. [name]가 맞습니다. 답은 [name]",
        ),
        (["김민수"], "김민수산업 제품", "김민수산업 제품"),
        (["Иван Петров"], "Ответ Ивана Петрова, спасибо Ивану Петрову", "Ответ [name], спасибо [name]"),
        (["Вера Надежда"], "с верой, надеждой и вера надежда", "с верой, надеждой и [name]"),
        (["王芳"], "问王芳so问王芳", "问[name]so问[name]"),
        (["Tom&not"], "As Tom&not said", "As [name] said"),
        (["Marlow Quist"], "Marlow, try this.\nQuist: did you?", "[name], try this.\n[name]: did you?"),
        (["Marlow Quist"], "Marlow! It holds.\n+1 Marlow", "[name]! It holds.\n+1 [name]"),
        (["Marlow Quist"], "Well, Marlow, you are right, Quist.", "Well, [name], you are right, [name]."),
        (["Quist Copper"], "Copper, tin and lead. Copper: 9 g", "Copper, tin and lead. Copper: 9 g"),
        (["Quist Copper"], "A +1 Copper ion, as well Copper", "A +1 Copper ion, as well Copper"),
        (["Jean-Luc Quist"], "Jean-Luc wrote, J.-L. Quist, Jean Luc Quist", "[name] wrote, [name], [name]"),
        (["Anna van der Berg"], "A. van der Berg; van der Berg wrote", "[name]; [name] wrote"),
        (["María García López"], "María García, M. Garcia, García López", "[name], [name], [name]"),
        (["Bob C. Carter"], "By Bob Carter", "By [name]"),
        (["王小明"], "小明说得对，谢谢小明。小明说明书", "[name]说得对，谢谢[name]。小明说明书"),
        (["老电池", "张老师"], "电池说完, 老师说", "电池说完, 老师说"),
        (["M&#246;rre Qu&amp;#237;st"], "As Mörre Quíst showed", "As [name] showed"),
    ],
)
def test_a_handle_and_a_full_name_cover_each_other_and_their_parts(names: list[str], text: str, clean: str) -> None:
    assert without_personal_data(text, known(names)) == clean


@pytest.mark.parametrize(
    ("name", "question", "text", "clean"),
    [
        ("Will", "Will it hold? It will.", "I will ask Will. Will do!", "I will ask [name]. Will do!"),
        ("Mark", "How do I mark it?", "As Mark wrote, a mark", "As [name] wrote, a mark"),
        ("copper", "Why does copper corrode?", "Copper is noble. Thanks copper!", "Copper is noble. Thanks [name]!"),
        (
            "copper",
            "Why?",
            "The copper pipe. Copper rusts, copper says.",
            "The copper pipe. Copper rusts, [name] says.",
        ),
        ("Stahl", "Rostet das Stahl?", "Wer mit Stahl baut. Danke Stahl!", "Wer mit Stahl baut. Danke [name]!"),
        ("water_pump", "The water pump hums.", "water_pump wrote of a water pump", "[name] wrote of a water pump"),
        ("physics", "Why?", "Physics is so, hi physics!", "Physics is so, hi [name]!"),
        ("王芳", "王芳老师说", "问王芳", "问[name]"),
        ("物理", "物理", "物理课。谢谢物理", "物理课。谢谢[name]"),
        ("berny", "Berny?", "I asked berny", "I asked [name]"),
        ("jdoe", "Is it jdoe42 or jdoe_x?", "jdoe's rig", "[name]'s rig"),
        ("jdoe", "Does jdoe see why it leaks?", "I did what jdoe did", "I did what [name] did"),
        ("marlow", "marlow told me to ask here", "I did what marlow did", "I did what [name] did"),
        ("hans", "Dank an hans und alle: wieso?", "Das hat hans gemessen", "Das hat [name] gemessen"),
        ("Marlow Quist", "marlow quist of Delft here. Why?", "Ask Marlow Quist", "Ask [name]"),
        ("Marlow Quist", "marlow quist of Delft here. Why?", "M. Quist knows", "[name] knows"),
        ("solar_panel", "Why does my solar panel hum?", "A solar panel does", "A solar panel does"),
        ("김민수", "김민수 씨, 왜?", "답은 김민수", "답은 [name]"),
    ],
)
def test_a_name_that_is_an_ordinary_word_goes_where_it_means_a_person(
    name: str, question: str, text: str, clean: str
) -> None:
    names = known([name], question, [text], "Physics 物理 physics.f.example")
    assert without_personal_data(text, names) == clean


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Quist Copper", "Is it copper?\nCopper, you know, is"),
        ("Solar Panel Guy", "Solar Panel sizes\nA solar panel"),
    ],
)
def test_a_part_of_a_name_that_its_thread_has_as_a_word_is_nobody_who_is_spoken_to(name: str, text: str) -> None:
    assert without_personal_data(text, known([name], "", [text])) == text


def test_a_title_before_a_name_that_the_material_has_as_a_word_is_found() -> None:
    material = "Quist's law holds, says [name]."
    assert personal_data_in("Mr. Quist is right by Quist's law.", material, known(["Marlow Quist"])) == ["Quist"]
    assert personal_data_in("It is Quist's law.", material, known(["Marlow Quist"])) == []


def test_words_that_stay_and_may_be_a_name_are_told() -> None:
    names = known(["Bob Carter", "Newton"])
    clean = names.taken_out("Bob Carter and Bob know Newton's laws")
    assert clean == "[name] and Bob know Newton's laws"
    assert names.left_in(clean) == ["Newton", "Bob"]


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        (
            "https://physics.f.example/questions/1/what-is-physics",
            "https://physics.f.example/questions/1/what-is-physics",
        ),
        ("https://f.example/u/physics/will", "https://f.example/u/-/will"),
        ("https://f.example/users/17/physics", "https://f.example/users/17/-"),
        ("https://f.example/t/a-question-for-marlow-quist", "https://f.example/t/a-question-for--"),
        ("https://marlow-quist.example/t/1", "https://marlow-quist.example/t/1"),
    ],
)
def test_an_address_loses_what_names_a_person_and_no_ordinary_word(url: str, clean: str) -> None:
    names = known(["physics", "Marlow Quist"], "", (), "Physics physics.f.example")
    assert names.without_in_address(url, "A question for Marlow") == clean


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        (
            "https://f.example/u/zed/t/3?email=zed@corp.example#post-by-@zed",
            "https://f.example/u/-/t/3?email=-#post-by--",
        ),
        ("https://f.example/t/3?from=zed%40corp.example&p=2", "https://f.example/t/3?from=-&p=2"),
        (
            "https://zed:pass@f.example/members/17-zed/post?username=zed",
            "https://f.example/members/17--/post?username=-",
        ),
        ("https://m.example/@zed/110", "https://m.example/-/110"),
        ("https://f.example/~zed/salts.html", "https://f.example/-/salts.html"),
        ("https://f.example/t/users-of-salts/17?page=2#post_3", "https://f.example/t/users-of-salts/17?page=2#post_3"),
        ("https://f.example/viewtopic.php?t=17&u=8", "https://f.example/viewtopic.php?t=17&u=-"),
        ("", ""),
    ],
)
def test_an_address_loses_accounts_whoever_they_are(url: str, clean: str) -> None:
    assert address_without_personal_data(url, NO_NAMES, "") == clean


def posters(thread: dict[str, Any]) -> list[str]:
    """As the page calls them in the links to their profiles, by which they were marked, else as they were marked."""
    marked = {str(post.get("user") or "") for post in thread["posts"]} - {""}
    shown = dict.fromkeys(marked, "")
    for link in lxml.html.document_fromstring(thread["html"]).iter("a"):
        text = " ".join(link.text_content().split())
        if link.get("href") in marked and text:
            shown[link.get("href")] = text
    return sorted(name for name in {shown or user for user, shown in shown.items()} if len(name) >= 3)


def is_said(name: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE))


@pytest.mark.skipif(not THREADS.exists(), reason=f"{THREADS.name} is not in {DATA} (set TOOLABLATE_DATA)")
def test_no_poster_of_real_threads_is_named_in_its_posts() -> None:
    """207 posts of 24 forums: the users that a forum's page names are in no text afterwards, and nothing else is."""
    seen = 0
    for line in gzip.decompress(THREADS.read_bytes()).decode().splitlines():
        thread = json.loads(line)
        posts, names = thread["posts"], posters(thread)
        for post in posts:
            text = str(post.get("post_text") or "")
            clean = without_personal_data(text, known(names))
            words = clean.casefold().split()
            assert not [name for name in names if is_said(name, " ".join(words))]
            assert len(clean) > 0.8 * len(text), "what it is about stays"
            seen += sum(is_said(name, text) for name in names)
    assert seen > 50, "without the rule they are there"


@pytest.mark.parametrize(
    "part", ["thanks Bob ", "Bob ", "@", "a at b dot ", "twitter.com/jdoe ", "/u/", "Bob\n", "王芳"]
)
def test_personal_data_is_looked_for_in_linear_time(part: str) -> None:
    """Where each match copied all of the text, 200,000 characters took 6 s of a core. What is left is left again."""
    names = known(["Bob", "王芳"], "Bob?", ["the bob"])
    clean = without_personal_data(part * (200_000 // len(part)), names)
    assert without_personal_data(clean[:2_000], names) == clean[:2_000]


def test_no_pattern_is_compiled_for_a_name_that_is_not_there() -> None:
    """100 threads of 15 names each took a minute, of which 94 % were for patterns."""
    names = known([f"Xavier{letter} Yvonne{other}" for letter in "bcdfgh" for other in "bcdfgh"])
    _spelled.cache_clear()
    _spelled_in_address.cache_clear()
    text = "Thanks, Xavierb Yvonnec: the cell swells."
    assert without_personal_data(text, names) == "Thanks, [name]: the cell swells."
    assert names.without_in_address("https://forum.org/t/cells", "Cells") == "https://forum.org/t/cells"
    assert _spelled.cache_info().misses < 20
    assert _spelled_in_address.cache_info().misses == 0
