"""In which language texts are, and what has to be in one."""

import subprocess
import sys
from typing import Any

import pytest

from toolablate.experiments.construction.languages import told_language
from toolablate.experiments.construction.publishing import _language_of
from toolablate.experiments.construction.question_checks import faults_of


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
