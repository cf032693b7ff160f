"""Hints what to install, by how toolablate itself was installed."""

import json
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from toolablate.traces import installing
from toolablate.traces.installing import to_install, to_upgrade


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    installing._source.cache_clear()
    yield
    installing._source.cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a checkout").mkdir()
    return tmp_path / "a checkout"


def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: object) -> None:
    there = tmp_path / "toolablate-1.dist-info"
    there.mkdir()
    if origin is not None:
        (there / "direct_url.json").write_text(origin if isinstance(origin, str) else json.dumps(origin))
    monkeypatch.setattr(installing, "distribution", lambda name: PathDistribution(there))


@pytest.mark.parametrize(("editable", "option"), [(True, "-e "), (False, "")])
def test_a_folder_is_named_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editable: bool, option: str
) -> None:
    installed(monkeypatch, tmp_path, {"url": folder.as_uri(), "dir_info": {"editable": editable}})
    assert to_install("view") == f"pip install {option}'{folder}[view]'"
    monkeypatch.chdir(folder)
    assert to_install("view") == f"pip install {option}'.[view]'"


def test_a_wheel_is_named_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "toolablate-1-py3-none-any.whl"
    wheel.touch()
    installed(monkeypatch, tmp_path, {"url": wheel.as_uri(), "archive_info": {}})
    assert to_install("otlp") == f"pip install '{wheel}[otlp]'"


def test_a_commit_is_named_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin = {"vcs": "git", "commit_id": "3f2a91"}
    installed(monkeypatch, tmp_path, {"url": "https://example.org/toolablate.git", "vcs_info": origin})
    wanted = "toolablate[view] @ git+https://example.org/toolablate.git@3f2a91"
    assert to_install("view") == f"pip install '{wanted}'"


@pytest.mark.parametrize("origin", [None, "", "no JSON", "{}", {"url": "file:///nowhere/any/more", "dir_info": {}}])
def test_else_an_index_has_it(origin: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, tmp_path, origin)
    assert to_install("view") == "pip install 'toolablate[view]'"


def test_a_newer_version_comes_from_where_this_one_came(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origins = [
        (None, "pip install -U toolablate"),
        ({"url": folder.as_uri(), "dir_info": {"editable": True}}, f"update {folder}, then pip install -e '{folder}'"),
        ({"url": folder.as_uri(), "dir_info": {}}, f"update {folder}, then pip install -U '{folder}'"),
        (
            {"url": "https://x.org/t.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install -U 'toolablate @ git+https://x.org/t.git'",
        ),
    ]
    for number, (origin, told) in enumerate(origins):
        (tmp_path / str(number)).mkdir()
        installed(monkeypatch, tmp_path / str(number), origin)
        installing._source.cache_clear()
        assert to_upgrade() == told
