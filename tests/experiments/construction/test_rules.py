"""Rules without a model: personal data, near-duplicates, checks over a set."""

import gzip
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import lxml.html  # type: ignore[import-untyped]
import pytest
from scipy.stats import binom, chi2

from toolablate.benchmarks.prompt import LETTERS
from toolablate.experiments.construction.duplicates import MOST_NEAR, Deduplicate, Distinct, _grams, near_pairs
from toolablate.experiments.construction.funnel import _faults
from toolablate.experiments.construction.known_names import KnownNames, NamesAndTexts, names_of
from toolablate.experiments.construction.languages import told_language
from toolablate.experiments.construction.personal_data import personal_data_in, without_personal_data
from toolablate.experiments.construction.pipeline import DuplicatesSection
from toolablate.experiments.construction.publishing import _language_of, question_of
from toolablate.experiments.construction.question_checks import _lists_options, checks_of, faults_of
from toolablate.experiments.construction.stages import Kept
from toolablate.experiments.construction.statement_stages import _bare
from toolablate.experiments.construction.workbench import Workbench
from toolablate.traces.database import UNRELEASED_ID
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.store import Store


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
        # What a question is about stays.
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
        ("https://annegray.example/1", "https://-.example/1"),
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
    ],
)
def test_a_name_that_is_an_ordinary_word_goes_where_it_means_a_person(
    name: str, question: str, text: str, clean: str
) -> None:
    names = known([name], question, [text], "Physics 物理 physics.f.example")
    assert without_personal_data(text, names) == clean


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
    ],
)
def test_an_address_loses_what_names_a_person_and_no_ordinary_word(url: str, clean: str) -> None:
    names = known(["physics", "Marlow Quist"], "", (), "Physics physics.f.example")
    assert names.without_in_address(url, "A question for Marlow") == clean


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
    ("language", "text"),
    [
        ("de", "Der Ring braucht einen Film aus Wasser, damit er nicht trocken läuft."),
        ("de", "Welche Pumpe?"),
        ("en", "Which salt?"),
        ("en", "Which enzyme unwinds DNA? Helicase"),
        ("en", "Find Antilog_10 0.8762 - 2.\n8.762\n0.8762\n0.0752"),
        ("en", "Find $b$ if $\\log_{b}343=-\\frac{3}{2}$.\n1\n\\frac{1}{49}"),
        ("en", "3 + 4 = ?"),
        ("es", "¿Qué sal?"),
        ("ru", "Какая соль?"),
        ("ru", "Какая соль: NaCl?"),
        ("uk", "Чому іржавіє сталь?"),
        ("ar", "أي ملح؟"),
        ("fa", "چرا لوله نشت می‌کند؟"),
        ("ko", "펌프?"),
        ("el", "Αντλία;"),
        ("he", "איזו משאבה?"),
        ("zh", "水沸腾"),
        ("zh", "水"),
        ("ja", "物理の法則は何ですか"),
        ("ja", "ポンプ"),
    ],
)
def test_the_language_of_a_text_is_told_by_itself(language: str, text: str) -> None:
    assert told_language(text) == language


def test_where_a_language_cannot_be_told_for_want_of_space_is_named() -> None:
    """As of a folder for temporary files that is full: py3langid unpacks its model there."""
    code = (
        "import resource, signal\n"
        "from toolablate.experiments.construction.languages import told_language\n"
        "from toolablate.traces.errors import InputError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))\n"
        "try:\n    told_language('Which?')\n"
        "except InputError as error:\n    print(error.code, error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("unwritable free some space there")


def test_near_pairs_are_those_of_the_exact_similarity() -> None:
    """Against all pairs compared by their sets: MinHash may miss few near the least similarity, and adds none."""
    rng = random.Random(5)
    words = [f"{rng.choice('bcdfgklmnp')}{rng.choice('aeiou')}{rng.choice('rstvw')}{n}" for n in range(60)]
    texts = {}
    for n in range(60):
        base = rng.sample(words, 12)
        texts[f"a{n}"] = " ".join(base)
        for _ in range(rng.randrange(6)):
            base[rng.randrange(12)] = rng.choice(words)
        texts[f"b{n}"] = " ".join(base)
    found = {(later, earlier): value for later, earlier, value in near_pairs(texts, 0.5)}
    grams = {name: _grams(text) for name, text in texts.items()}
    names = list(texts)
    exact = {
        (later, earlier): value
        for place, later in enumerate(names)
        for earlier in names[:place]
        if (value := len(grams[later] & grams[earlier]) / len(grams[later] | grams[earlier])) >= 0.5
    }
    assert found.items() <= exact.items()
    assert len(exact) > 20
    assert len(found) >= 0.97 * len(exact)
    assert {pair for pair, value in exact.items() if value >= 0.7} <= found.keys()


@pytest.mark.deep
def test_checks_over_a_set_find_a_bias_and_rarely_what_chance_does() -> None:
    """Their error rate under chance: at most 5 % of 400 sets, within its own 99 % limits; a bias is found."""
    rng = random.Random(11)

    def drawn(longest: float, first: float) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for _ in range(60):
            options = ["x" * length for length in rng.sample(range(4, 40), rng.choice((5, 6, 7)))]
            right = max(options, key=len) if rng.random() < longest else rng.choice(options)
            if rng.random() < first:
                options.remove(right)
                options.insert(0, right)
            rows.append({"options": options, "right": right})
        return rows

    sets = [checks_of(drawn(0, 0)) for _ in range(400)]
    limit = int(binom.ppf(0.99, 400, 0.05))
    assert sum((each.longest_p or 0) < 0.05 for each in sets) <= limit
    found = sum((each.letters_p or 0) < 0.05 for each in sets)
    assert int(binom.ppf(0.01, 400, 0.05)) <= found <= limit
    biased = checks_of(drawn(0.5, 0.4))
    assert biased.longest_p is not None
    assert biased.letters_p is not None
    assert max(biased.longest_p, biased.letters_p) < 0.001
    assert biased.letters[LETTERS[0]] > 20
    assert checks_of(drawn(0, 0)[:19]).longest_p is None


def test_letters_are_all_told_and_a_letter_that_is_never_right_is_uneven() -> None:
    def of_letters(counts: list[int]) -> list[dict[str, object]]:
        options = ["iron", "zinc", "lead", "gold", "tungsten"]
        return [
            {"options": options, "right": option}
            for option, count in zip(options, counts, strict=True)
            for _ in range(count)
        ]

    # No letter is right much too often.
    never = checks_of(of_letters([0, 15, 15, 15, 15]))
    assert never.letters == {"A": 0, "B": 15, "C": 15, "D": 15, "E": 15}
    assert never.letters_p == pytest.approx(chi2.sf(15, 4), rel=0.3)
    assert checks_of(of_letters([12] * 5)).letters_p == 1.0
    assert checks_of([]).letters == {}
    # The fifth letter is that of few questions: it is measured by these.
    short = [{"options": ["iron", "zinc"], "right": each} for each in ("iron", "zinc") * 20]
    assert (checks_of([*short, *of_letters([1, 1, 1, 1, 1])]).letters_p or 0) > 0.9


def test_the_longest_option_is_told_of_questions_that_have_one() -> None:
    tied = [{"options": ["iron", "zinc", "lead"], "right": "lead"}] * 13
    told = checks_of([*tied, *([{"options": ["iron", "zinc", "copper"], "right": "copper"}] * 8)])
    assert (told.questions, told.longest, told.longest_of) == (21, 8, 8)
    assert told.longest_expected == pytest.approx(8 / 3)


def test_a_workbench_has_one_writer_and_is_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with pytest.raises(InputError, match="no workbench"), Workbench(path, write=False):
        pass
    with Workbench(path) as bench:
        bench.keep_step("s", "a", "check", Kept({"question": "q"}))
        with pytest.raises(InputError, match="another process"), Workbench(path):
            pass
        with Workbench(path, write=False) as reading:
            assert reading.steps("check") == {"s": Kept({"question": "q"})}
    (tmp_path / "text").write_text("not a database, but long enough to be one" * 20, encoding="utf-8")
    with pytest.raises(InputError, match="not a workbench"), Workbench(tmp_path / "text"):
        pass
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith("-driver")] == []


def test_a_workbench_of_an_earlier_form_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with Workbench(path) as bench:
        bench.keep_step("s", "a", "check", Kept({"question": "q"}))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"DROP TABLE failure; PRAGMA application_id = {UNRELEASED_ID}; PRAGMA user_version = 1"
        )
    before = path.read_bytes()
    for write in (False, True):
        with pytest.raises(InputError, match="written by a development version") as refused:
            Workbench(path, write=write).__enter__()
        assert refused.value.code == "older_version"
        assert "name another `workbench`" in (refused.value.hint or "")
    assert path.read_bytes() == before


def test_a_workbench_is_taken_for_no_store(tmp_path: Path) -> None:
    with Workbench(tmp_path / "w.sqlite"):
        pass
    with pytest.raises(StoreError, match="is a workbench of `toolablate build`, not a store") as refused:
        Store(tmp_path / "w.sqlite")
    assert "build status" in refused.value.hint


@pytest.mark.parametrize(
    ("question", "lists"),
    [
        ("Which keeps lithium? A) water B) tin C) iron", True),
        ("Which keeps lithium?\na. water\nb. tin", True),
        ("A) Water boils. B) Tin melts. C) Iron rusts. Which holds?", True),
        ("选项A.water，选项B.tin", True),
        ("Is it A) waters or B) tins?", False),
        ("Find (a) the speed, (b) the mass of the tin and (c) the time.", False),
        ("In which order do the steps (A)→(B)→(C) of the cycle go?", False),
        ("Do the sets (A), (B), (C) overlap?", False),
        ("Which of the points A、B、C、D is it?", False),
    ],
)
def test_options_are_listed_where_they_stand_behind_letters(question: str, lists: bool) -> None:
    assert _lists_options(question, ["tin", "water", "iron", "lead", "zinc"]) == lists


@pytest.mark.parametrize("text", ["A) B) " * 4_000, "A. x B. x " * 4_000, "\n" * 20_000, "A\n" * 10_000])
def test_options_are_looked_for_in_linear_time(text: str) -> None:
    """With patterns that went back, a reply of 20,000 characters took longer than a test may."""
    assert not _lists_options(text, OPTIONS)


def test_endings_are_looked_for_in_linear_time() -> None:
    assert _bare("s" * 200_000 + "x") == "s" * 200_000 + "x"


QUESTION = "Which additive keeps lithium stable?"
OPTIONS = ["nitrate of soda", "a sulphate", "oxide", "chloride, dry", "borate"]


def option_faults(options: Sequence[str], right: str = "", question: str = QUESTION) -> list[str]:
    """As they are asked, in an order that was drawn."""
    asked = {"question": question, "options": [*options[2:], *options[:2]], "right": right or options[0]}
    return [fault.partition(":")[0] for fault in faults_of({"question": question}, {**asked, "explanation": ""})]


@pytest.mark.parametrize(
    ("form", "labels"),
    [
        ("{}. {}", "12345"),
        ("({}) {}", "12345"),
        ("{}) {}", ("i", "ii", "iii", "iv", "v")),
        ("Option {}: {}", "ABCDE"),
        ("{} - {}", "ABCDE"),
        ("**{}.** {}", "ABCDE"),
        ("{} {}", "ABCDE"),
        ("{}) {}", "\u0410\u0411\u0412\u0413\u0414"),
        ("{}、{}", "甲乙丙丁戊"),
        ("选项{}：{}", "ABCDE"),
    ],
)
def test_letters_and_numbers_of_options_are_a_fault(form: str, labels: Sequence[str]) -> None:
    options = [form.format(label, text) for label, text in zip(labels, OPTIONS, strict=True)]
    assert option_faults(options) == ["options"]


@pytest.mark.parametrize(
    "options",
    [
        ["1 mg", "2 mg", "3 mg", "4 mg", "5 mg"],
        [f"{hours} h at {90 - hours} K" for hours in range(1, 6)],
        ["1:2", "2:3", "3:4", "4:5", "5:6"],
        ["1.5 V", "2.7 V", "3.1 V", "4.2 V", "5.0 V"],
        ["1-butanol", "2-pentanol", "3-hexanol", "4-decanol", "5-nonanol"],
        [f"Vitamin {letter}" for letter in "ABCDE"],
        ["vitamins A and B", "vitamins B and C", "vitamin C", "vitamins D and E", "zinc"],
        ["C (carbon)", "N (nitrogen)", "O", "F", "He"],
        ["1 - 2 h", "2 - 3 h", "3 - 4 h", "4 - 5 h", "5 - 6 h"],
        ["1 : 2", "2 : 3", "3 : 4", "4 : 5", "5 : 1"],
        *([*OPTIONS, more] for more in ("All metals above 300 K", "Both right ventricles", "None at 300 K", "B cells")),
        *(
            [*OPTIONS, more]
            for more in ("None", "Keine", "Both", "Both to the right", "Both are true", "All above 300 K")
        ),
        *(
            [*OPTIONS, more]
            for more in ("All primes below n", "All long options", "Keine der Größen", "For all x above")
        ),
        *([*OPTIONS, more] for more in ("平均错误率", "平均对数分布", "全对称伸缩振动", "NaCl和KCl都是离子晶体")),
    ],
)
def test_numbers_and_letters_of_what_is_asked_are_none(options: Sequence[str]) -> None:
    assert not option_faults(options)


@pytest.mark.parametrize(
    "option",
    [
        "A and B",
        "Both A and B",
        "A、B",
        "All of the above",
        "all of the above except B and D.",
        "None of these",
        "Both of the above",
        "All other options are wrong",
        "All are correct",
        "Neither answer",
        "Keine der genannten",
        "toutes les réponses ci-dessus",
        "以上都是",
        "全部正确",
        "以上说法均不正确",
        "都不对",
        "Keine der Aussagen trifft zu",
        "Aucune de ces réponses n'est correcte",
        "ninguna de las anteriores",
        "bor\u200bate",
    ],
)
def test_options_that_name_others_or_look_like_one_are_a_fault(option: str) -> None:
    assert set(option_faults([*OPTIONS, option])) == {"options"}


def test_letters_that_the_question_names_are_its_own() -> None:
    assert not option_faults([*OPTIONS, "A and B"], question="Which of the samples A and B keeps lithium stable?")


SALTS = ["borax", "soda", "lime", "talc", "alum"]


@pytest.mark.parametrize(
    ("question", "options", "faulty"),
    [
        ("Which salt, such as borax, keeps lithium stable?", SALTS, True),
        ("Which of borax, soda, lime, talc and alum keeps lithium stable?", SALTS, False),
        ("Which of the boraxes of 1.124 kg and 124.5 kg keeps lithium stable?", SALTS, False),
        ("Which mass keeps lithium stable at 1.124 V and 124.5 K?", ["124", "200", "300", "400", "500"], False),
        ("Which mass keeps lithium stable at 124 K?", ["124", "200", "300", "400", "500"], True),
        ("哪种溶剂像丙酮一样溶解这种聚合物？", ["丙酮", "苯", "己烷", "乙醚", "水"], True),
        ("Which keeps lithium stable? (a) lime (b) talc (c) alum", SALTS, True),
        ("Which keeps lithium stable?\na) lime\nb) talc", SALTS, True),
        ("Which keeps lithium stable? (a) water (b) tin (c) iron", OPTIONS, False),
        ("Which keeps lithium stable, borax or soda?", SALTS, False),
        ("Which keeps lithium stable: borax, soda or lime?", SALTS, False),
        ("Which salt or acid keeps lithium stable in a solution of borax?", SALTS, True),
        ("Which keeps (a) lithium and (b) sodium stable?", OPTIONS, False),
    ],
)
def test_a_question_holds_neither_its_answer_nor_its_options(question: str, options: list[str], faulty: bool) -> None:
    assert option_faults(options, question=question) == (["question"] if faulty else [])


@pytest.mark.parametrize(("answer", "faulty"), [("PREN", True), ("4.08 m", True), ("2", False), ("REN", False)])
def test_a_question_with_a_short_answer_does_not_hold_it(answer: str, faulty: bool) -> None:
    question = "Which number ranks steels, as PREN = Cr + 3.3 Mo does, for 2 pumps that lift by 4.08 m?"
    asked = {"question": question, "answer": answer, "points": ["names it"], "explanation": ""}
    assert faults_of({"question": question}, asked) == (["question: holds the answer"] if faulty else [])


@pytest.mark.parametrize(
    ("question", "answer", "faulty"),
    [
        ("Which is denser, ice or water?", "water", False),
        ("Is it True or False that tin melts?", "False", False),
        ("Ist Kupfer oder Silber der bessere Leiter?", "Silber", False),
        ("Which of list and tuple is hashable?", "tuple", False),
        ("丙酮和乙醇哪个沸点更低？", "丙酮", False),
        ("Which is the density of water beside ice?", "water", True),
        ("Which list and tuple are hashable?", "tuple", True),
        ("Does one of them hold, or a salt that keeps lithium stable?", "a salt that keeps lithium stable", True),
    ],
)
def test_an_answer_that_the_question_offers_beside_another_is_not_given_away(
    question: str, answer: str, faulty: bool
) -> None:
    asked = {"question": question, "answer": answer, "points": ["names it"], "explanation": ""}
    assert faults_of({"question": question}, asked) == (["question: holds the answer"] if faulty else [])


ARABIC = "لماذا تنتفخ خلايا الليثيوم بعد صيف طويل في سيارة مغلقة، وأي مادة مضافة تمنع ذلك؟"
ENGLISH = "The salt decomposes above four volts and the gas makes the cell swell."


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({"answer": ENGLISH, "points": ["لأن الملح يتحلل فوق أربعة فولت وينتفخ الغاز"]}, ["answer"]),
        ({"answer": "لأن الملح يتحلل فوق أربعة فولت وينتفخ الغاز", "points": [ENGLISH]}, ["points"]),
        ({"options": [f"{ENGLISH} {n}" for n in "vwxyz"], "right": f"{ENGLISH} z"}, ["options"]),
        ({"answer": "Lithium hexafluorophosphate", "points": ["LiPF6 (lithium salt)"]}, []),
        (
            {
                "options": ["Escherichia coli", "TCP", "LiPF6", "ethylene carbonate", "Bacillus subtilis"],
                "right": "TCP",
            },
            [],
        ),
    ],
)
def test_what_is_published_beside_a_question_is_in_its_language(change: dict[str, Any], keys: list[str]) -> None:
    asked = {"question": ARABIC, "explanation": "", **change}
    faults = faults_of({"question": ARABIC}, asked)
    assert [each.partition(":")[0] for each in faults if "language" in each] == keys


def test_a_language_is_told_of_what_is_asked_alone() -> None:
    asked = {"question": ARABIC, "answer": "LiPF6", "points": ["LiPF6"], "explanation": ENGLISH * 9}
    assert _language_of({"asked": asked}) == "ar"
    assert _language_of({"asked": {"question": "Welche?", "options": ["Die Pumpe ist es.", "Das Ventil"]}}) == "de"


def test_labels_and_the_canary_are_no_part_of_what_a_model_is_asked() -> None:
    """A new contact address would otherwise pay for a pilot's trials again."""
    options = ["water", "ether", "acetone", "benzene", "hexane"]
    content = {
        "asked": {"question": "Which solvent?", "options": options, "right": "acetone", "explanation": ""},
        "wrong_replies": ["Water."],
        **{"url": "https://forum.example/t/1", "forum": "Solvents", "domain": "Chemistry"},
        **{"kind": "knowledge", "clarity": 5},
    }
    built = question_of("a" * 64, content, "canary 1", "en")
    terms = {"licence": "CC BY-SA 4.0"}
    for change in ({"kind": "reasoning"}, {"clarity": 4}, {"forum": "Labs"}, {"domain": "Physics"}, terms, {}):
        assert question_of("a" * 64, {**content, **change}, "canary 2", "en").identity() == built.identity(), change
    other = {**content, "asked": {**content["asked"], "question": "Which liquid?"}}
    assert question_of("a" * 64, other, "canary 1", "en").identity() != built.identity()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({}, ""),
        ({"options": ["water \n and ice", *OPTIONS[1:]], "right": OPTIONS[2]}, ""),
        ({"options": ["water\nC. ice", *OPTIONS[1:]], "right": OPTIONS[2]}, "options"),
        ({"options": [*(f"```\nx = {each}\n```" for each in range(4)), "none is"], "right": "none is"}, "options"),
        ({"question": "Which of these keeps lithium stable?\nB. subtilis\nchoose"}, ""),
        ({"question": "Which keeps lithium stable?\nI. Water boils.\nII. Tin rusts."}, ""),
        ({"question": "E. coli grows in it.\nWhich keeps lithium stable?"}, ""),
    ],
)
def test_options_that_lpfqas_form_would_not_give_back_are_a_fault(change: dict[str, Any], key: str) -> None:
    asked = {"question": QUESTION, "options": [f" {each} " for each in OPTIONS], "right": OPTIONS[0]}
    asked = {**asked, "explanation": "", **change}
    faults = faults_of({"question": asked["question"]}, asked)
    assert [fault.partition(":")[0] for fault in faults] == ([key] if key else [])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"options": [*OPTIONS[:4], "a film\n\nof it"]}, ["options: this one has a blank line", "'a film\\n\\nof it'"]),
        ({"options": [*OPTIONS[:4], "is it a film?"]}, ["options: this one would be read as the question", "'is it a"]),
        ({"options": [*OPTIONS[:4], "```\na film\n```"]}, ["options: write this one without fences", "a film"]),
        (
            {"options": ["water\nC. ice", *OPTIONS[1:]], "right": OPTIONS[2]},
            ["options: this one has several lines", "ice"],
        ),
        ({"question": "Which?\nA. x\nB. y"}, ["question: has lines that would be read as options"]),
    ],
)
def test_an_option_that_would_not_be_read_back_is_named_with_why(change: dict[str, Any], told: list[str]) -> None:
    asked = {"question": QUESTION, "options": OPTIONS, "right": OPTIONS[0], "explanation": "", **change}
    (fault,) = faults_of({"question": asked["question"]}, asked)
    assert fault.startswith(told[0])
    assert told[-1] in fault


def test_all_names_of_a_text_are_told_at_once() -> None:
    names = known(["Marlow Quist", "Anne Gray"]).kept()
    asked = {"question": QUESTION, "options": OPTIONS, "right": OPTIONS[0], "explanation": "As Anne Gray and M. Quist."}
    (fault,) = faults_of({"question": QUESTION, "names": names}, asked)
    assert fault.startswith("explanation: leave out 'Anne Gray', 'M. Quist': ")
    many = "".join(f"jo{n}@mail.example " for n in range(30))
    (fault,) = faults_of({"question": QUESTION}, asked | {"explanation": many})
    assert "'jo9@mail.example' and 20 more: " in fault


def test_faults_are_counted_by_their_kind() -> None:
    names = "explanation: leave out {}: each may be a person's address, number or name"
    twice = "options: two are the same: {}"
    faults = [
        *(names.format(name) for name in ("'Bob'", "'Ann', \"O'Brien\"", "'jo' and 3 more")),
        f"{names.format(repr('Bob'))}; {twice.format(repr('a film'))}",
        *(twice.format(option) for option in ("'a film'", "'it\\'s'")),
        twice.format("'x'").replace("options", "points"),
    ]
    assert _faults(faults) == {
        names.format("'…'"): 3,
        twice.format("'…'"): 2,
        f"{names.format(repr('Bob'))}; {twice.format(repr('a film'))}": 1,
        "points: two are the same: 'x'": 1,
    }


@pytest.mark.parametrize(
    ("answer", "question", "faulty"),
    [
        (" Two volts. ", "How many?", False),
        ("Two volts\n<Evaluation Points>\n1. anything", "How many?", True),
        ("参考 <评估要点> two", "How many?", True),
        ("B", "Which of them is it?\nA. water\nB. ice\nC. tin", True),
    ],
)
def test_an_answer_that_lpfqas_form_would_not_give_back_is_a_fault(answer: str, question: str, faulty: bool) -> None:
    asked = {"question": question, "answer": answer, "points": ["says so ", "names\nboth"], "explanation": ""}
    faults = faults_of({"question": question}, asked)
    assert [fault.partition(":")[0] for fault in faults] == (["answer"] if faulty else [])


def test_of_many_questions_alike_each_is_compared_with_few() -> None:
    """1,000 of them were 499,500 pairs, and as many requests where a model is to tell them apart."""
    draws = random.Random(0)
    words = ["".join(draws.choices("abcdefghij", k=6)) for _ in range(60)]
    said = " ".join(words)
    alike = {f"item {number}": {"question": f"{said} {'x' * number}", "answer": "water"} for number in range(60)}
    found = Deduplicate(DuplicatesSection(), asks=1).context(alike)
    assert [[each["asked"] for each in near] for near in found.values()] == [[False]] * 59
    numbered = {f"item {number}": {"question": f"{said} {number}", "answer": "water"} for number in range(60)}
    found = Deduplicate(DuplicatesSection(), asks=1).context(numbered)
    assert max(len(near) for near in found.values()) == MOST_NEAR
    doubtful = {
        f"item {number}": {
            "question": f"{' '.join(words[:45])} {' '.join(draws.sample(words[45:], 15))} {number}",
            "answer": "water",
        }
        for number in range(60)
    }
    found = Deduplicate(DuplicatesSection(same=0.99, near=0.4), asks=1).context(doubtful)
    assert max(len(near) for near in found.values()) == MOST_NEAR


ACID = "What is the pH of a solution of acetic acid of concentration {} mol/L at 25 °C, if its Ka is 1.8e-5?"
ALKENE = "Of cis- and trans-1,2-dichloroethene, which isomer has the {} boiling point at one atmosphere, and why?"


@pytest.mark.parametrize(
    ("one", "other", "asked"),
    [
        ((ACID.format("0.10"), "2.88"), (ACID.format("0.0010"), "3.91"), [True]),
        ((ACID.format("0.10"), "2.88"), (ACID.format("0.10").replace("What is", "Give"), " 2.88."), [False]),
        ((ACID.format("0.10"), "acidic"), (ACID.format("0.0010"), "acidic"), [True]),
        ((ALKENE.format("higher"), "cis"), (ALKENE.format("lower"), "trans"), [True]),
        (("What colour has it then?", "Colourless"), ("What colour has it then?", "Brown, MnO2"), [True]),
        (("What colour has it then?", "Colourless"), ("What colour  has it then", "colourless."), [False]),
        (("What colour has it then?", "Colourless"), ("Why do tyres wear out?", "Colourless"), []),
    ],
)
def test_what_repeats_another_without_a_doubt_has_its_answer_and_its_numbers(
    one: tuple[str, str], other: tuple[str, str], asked: list[bool]
) -> None:
    contents = {name: {"question": said, "answer": answer} for name, (said, answer) in {"1": one, "2": other}.items()}
    found = Deduplicate(DuplicatesSection(), asks=1).context(contents)
    assert [each["asked"] for each in found.get("2", ())] == asked


def test_questions_of_the_same_words_are_told_apart_by_their_options() -> None:
    asked: dict[str, dict[str, Any]] = {
        "first": {"right": "iron rusts", "options": ["iron rusts", "tin boils"]},
        "other options": {"right": "lead melts", "options": ["lead melts", "zinc burns"]},
        "other answer": {"right": "tin boils", "options": ["iron rusts", "tin boils"]},
        "short": {"answer": "zinc burns"},
    }
    contents = {name: {"asked": {"question": "Which of these holds?", **each}} for name, each in asked.items()}
    assert Distinct(0.8).context(contents) == {"other answer": ["first", 1.0], "short": ["first", 1.0]}


def test_questions_that_are_near_repeat_one_with_the_same_answer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of 5-grams of 2,000 with one stem and other answers were compared 2 million times."""
    said = "Which additive keeps the lithium of the cell stable above 4 volts at a temperature of {} K?"
    contents = {
        str(number): {"asked": {"question": said.format(300 + number), "answer": f"salt {number % 50}"}}
        for number in range(100)
    }
    pairs = []

    def seen(*given: Any) -> Any:
        for pair in near_pairs(*given):
            pairs.append(pair)
            yield pair

    monkeypatch.setattr("toolablate.experiments.construction.duplicates.near_pairs", seen)
    found = Distinct(0.8).context(contents)
    assert {later: earlier for later, (earlier, _) in found.items()} == {str(n): str(n - 50) for n in range(50, 100)}
    assert len(pairs) == 50


@pytest.mark.parametrize(
    "part", ["thanks Bob ", "Bob ", "@", "a at b dot ", "twitter.com/jdoe ", "/u/", "Bob\n", "王芳"]
)
def test_personal_data_is_looked_for_in_linear_time(part: str) -> None:
    """Where each match copied all of the text, 200,000 characters took 6 s of a core. What is left is left again."""
    names = known(["Bob", "王芳"], "Bob?", ["the bob"])
    clean = without_personal_data(part * (200_000 // len(part)), names)
    assert without_personal_data(clean[:2_000], names) == clean[:2_000]
