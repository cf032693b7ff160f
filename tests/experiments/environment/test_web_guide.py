"""The commands of the guide to the web, run as they stand there, one after the other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.experiments.library import Library
from tests.project.pages import blocks, commands

from toolablate.tools.corpus import open_corpus

GUIDE = "docs/web.md"


@pytest.mark.deep
def test_the_commands_of_the_guide_work_in_their_order(tmp_path: Path) -> None:
    typed = commands(GUIDE)
    assert len(typed) >= 11
    (tmp_path / "queries.txt").write_text("harmonic series\n", encoding="utf-8")
    (tmp_path / "more-queries.txt").write_text("muon decay\n", encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with Library().running() as library:
        plan = next(text for text in blocks(GUIDE, "toml") if "[[models]]" in text)
        there = plan.replace("http://localhost:8888", library.url)
        assert there != plan
        allowed = there.replace("[web]\n", f'[web]\nallow = ["{library.host}"]\ndelay_seconds = 0\n')
        (tmp_path / "plan.toml").write_text(allowed, encoding="utf-8")
        for command in typed:
            ran = subprocess.run(
                ["sh", "-c", command],
                cwd=tmp_path,
                env=os.environ | {"PATH": path, "NO_PROXY": "*"},
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"


def test_the_documents_of_the_guide_are_a_corpus(tmp_path: Path) -> None:
    documents = tmp_path / "documents.jsonl"
    documents.write_text("".join(blocks(GUIDE, "json")), encoding="utf-8")
    corpus = open_corpus(documents)
    try:
        assert len(corpus) == 1
    finally:
        corpus.close()
