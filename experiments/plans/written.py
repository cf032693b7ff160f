"""A plan as it is written: TOML, YAML or JSON, what replaces parts of it, and the `.env` beside it."""

import json
import os
import re
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.validation import why_unreadable

YAML = (".yaml", ".yml")


def plan_text(path: Path, what: str = "plan") -> str:
    """Also takes the `.env` beside it. `what` it is, for errors. Raises InputError."""
    take_env(path.parent)
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no {what} at {path}", code="no_plan") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the {what} {path}: {why_unreadable(error)}", code="unreadable_plan") from None


def require_file_of(command: str, content: Mapping[str, Any], path: Path) -> None:
    """Raises InputError where what was read is a file of another command of toolablate."""
    other = _command_of(content)
    if other and other != command:
        raise InputError(
            f"{path} is a file of `toolablate {other}`, not of `toolablate {command}`",
            hint=f"toolablate {other} {path}",
            code="bad_plan",
        )


def _command_of(content: Mapping[str, Any]) -> str:
    """By keys that no other has; "" where that does not tell."""
    if "conditions" in content or isinstance(content.get("questions"), dict):
        return "run"
    if "items" in content:
        return "build"
    if "books" in content:
        return "build regions"
    forums = content.get("forums")
    first = forums[0] if isinstance(forums, list) and forums and isinstance(forums[0], dict) else {}
    if "kind" in first:
        return "build threads"
    return "build capture" if {"threads", "listing"} & first.keys() else ""


def plan_content(text: str, path: Path) -> dict[str, Any]:
    """YAML by the name of the file; JSON where the text is an object, as no TOML is; else TOML. A store keeps the text
    of its plans and no names: `kept_text` makes JSON of YAML. Raises InputError."""
    if path.suffix.lower() in YAML:
        return _table(_yaml(text, path), path)
    if path.suffix.lower() == ".json" or text.lstrip().startswith("{"):
        return _table(_json(text, path), path)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}", code="bad_toml") from None


def kept_text(content: Mapping[str, Any]) -> str:
    """JSON that `plan_content` reads as the same. Raises InputError for what no plan can hold."""
    try:
        return json.dumps(content, ensure_ascii=False, indent=1, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"plan: {one_line(str(error), 200)}",
            hint='a plan names what is made in Python, so that it can be run again: agent = "module:graph",'
            ' class = "module:Class"; the module may lie beside the plan',
            code="bad_plan",
        ) from None


def _plain(value: object) -> Any:
    """Of values that Python or YAML have and JSON has not."""
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"found {type(value).__name__}, where a plan has texts, numbers, lists and tables")


def _table(found: object, path: Path) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise InputError(
            f"{path} is no plan: it should be a table of keys; found {type(found).__name__}", code="bad_plan"
        )
    for key in found:
        if not isinstance(key, str):
            raise InputError(f"{path}: {key!r} is no key of a plan: a key is text", code="bad_plan")
    return found


def _json(text: str, path: Path) -> object:
    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ValueError(f"the key {one_line(key, 80)!r} is there twice")
            found[key] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}", code="bad_json") from None


def _yaml(text: str, path: Path) -> object:
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
        """Refuses a key that is there twice, as TOML does."""

    def once(loader: Any, node: Any) -> dict[Any, Any]:
        own = set[str]()
        for key_node, _ in node.value:
            if key_node.value in own and isinstance(key_node, yaml.ScalarNode):
                said = f"the key {one_line(key_node.value, 80)!r} is there twice"
                raise yaml.constructor.ConstructorError(None, None, said, key_node.start_mark)
            if isinstance(key_node, yaml.ScalarNode):
                own.add(key_node.value)
        # What is merged (`<<`) comes first, so that a key of one's own replaces it.
        loader.flatten_mapping(node)
        return {
            loader.construct_object(key, deep=True): loader.construct_object(value, deep=True)
            for key, value in node.value
        }

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, once)
    try:
        return yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is not valid YAML: {_where(error)}", code="bad_yaml") from None


def _where(error: Any) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return one_line(str(error), 200)
    return f"{problem} (at line {mark.line + 1}, column {mark.column + 1})"


# What replaces parts of a plan, by the places of its keys.


_NAMED = frozenset({"conditions", "ladder", "tools", "interventions"})
"""Lists whose items may be names, each short for a table with nothing but the name."""


def with_values(content: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Puts values in their places: `models.0.sampling.temperature` is a key of the first model. Tables on the way that
    are not there are made; items of lists have to be there. Raises InputError that names the key."""
    for key, value in values.items():
        _put(content, key, key.split("."), value)


def values_given(given: Sequence[str]) -> dict[str, Any]:
    """Of texts of the form KEY=VALUE: a value as TOML has it, or else a text without quotation marks. Raises
    InputError."""
    values = {}
    for each in given:
        key, equals, text = each.partition("=")
        if not (equals and key.strip()):
            raise InputError(f"--set: found {one_line(each, 80)!r}", hint="as in --set repeats=2", code="usage")
        values[key.strip()] = _value(text.strip())
    return values


def _value(text: str) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return found["value"] if len(found) == 1 else text


def _put(content: dict[str, Any], key: str, parts: Sequence[str], value: Any) -> None:
    place: Any = content
    for number, part in enumerate(parts):
        there = ".".join(parts[:number])
        if not part:
            raise _refused(key, "a part of it is empty", "as in models.0.sampling.temperature")
        last = number == len(parts) - 1
        if isinstance(place, list):
            at = _item(place, key, there, part)
            if last:
                place[at] = value
            elif isinstance(place[at], str) and parts[number - 1] in _NAMED:
                place[at] = {"name": place[at]}
            place = place[at]
        elif isinstance(place, dict):
            if last:
                place[part] = value
            elif part == "sandbox" and isinstance(place.get(part), str):
                place[part] = {"backend": place[part]}
            place = place.setdefault(part, {})
        else:
            raise _refused(key, f"{there} is {one_line(repr(place), 60)}, and has no keys", f"set {there} as a whole")


def _item(place: Sequence[Any], key: str, there: str, part: str) -> int:
    named = [number for number, each in enumerate(place) if each == part or _name(each) == part]
    if len(named) == 1:
        return named[0]
    if part.isascii() and part.isdigit() and int(part) < len(place):
        return int(part)
    known = ", ".join(
        f"{number} ({name})" if (name := _name(each)) else str(number) for number, each in enumerate(place)
    )
    raise _refused(key, f"{there} has no item {one_line(part, 80)!r}", f"its items: {one_line(known, 400) or 'none'}")


def _name(item: object) -> str:
    if isinstance(item, str):
        return item
    return str(item.get("name", "")) if isinstance(item, dict) else ""


def _refused(key: str, wrong: str, hint: str) -> InputError:
    return InputError(f"--set {one_line(key, 120)}: {wrong}", hint=hint, code="bad_override")


# The `.env` beside a plan: variables for keys of endpoints and the like.


_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
# By name; or an address with a password in it.
_SECRET = re.compile(r"(?i)key|token|secret|passw|pwd|credential|auth|dsn")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s]*:[^/\s]*@")
_taken: dict[str, str] = {}
_named: set[str] = set()
_running: list[Path] = []
_changing = threading.Lock()


@contextmanager
def keeping_env(folder: Path) -> Iterator[None]:
    """Takes the variables of a plan in this folder, and keeps them from its reading to the end of its run, whatever
    other plan is read.

    All code of a process sees its variables, so that the key of one plan could go to the endpoint of another: raises
    InputError where a plan of another folder runs and their `.env` are not the same."""
    folder = folder.resolve()
    with _changing:
        _require_alone(folder)
        if not _running:
            _take_back()
        _take(folder)
        _running.append(folder)
    try:
        yield
    finally:
        with _changing:
            _running.remove(folder)


def _require_alone(folder: Path) -> None:
    for other in _running:
        others = _variables(folder).items() ^ _variables(other).items()
        if names := sorted({name for name, _ in others if name in _taken or name not in os.environ}):
            raise InputError(
                f"{folder / '.env'}: the plan that is running in {other} has not the same {', '.join(names)}",
                hint="run this one when that has ended, or put the variables into the environment",
                code="env_in_use",
            )


def take_env(folder: Path) -> None:
    """Sets the variables of `.env` in the folder of a plan that are not set already, instead of those of the plan
    before, unless that runs. Values are taken as they stand, without `$` or line breaks; lines of another form are left
    out.

    Sandboxes have an environment of their own and see none of it. Raises InputError where it cannot be read, and where
    a plan that runs has another value; no value is ever told.
    """
    with _changing:
        if not _running:
            _take_back()
        _take(folder)


def secrets() -> list[str]:
    """The values of variables that the `.env` of the plan names and that are secrets, wherever they were set."""
    values = ((name, os.environ.get(name, "")) for name in sorted(_named))
    return [value for name, value in values if _SECRET.search(name) or _ADDRESS.match(value)]


def _take_back() -> None:
    for name, value in _taken.items():
        if os.environ.get(name) == value:
            del os.environ[name]
    _taken.clear()
    _named.clear()


def _take(folder: Path) -> None:
    for name, value in _variables(folder).items():
        _named.add(name)
        if name not in os.environ:
            os.environ[name] = _taken[name] = value
        elif _taken.get(name, value) != value:
            raise InputError(
                f"{folder / '.env'}: a plan that is running has another {name}",
                hint="run this one when that has ended, or name another variable as api_key_env",
                code="env_in_use",
            )


def _variables(folder: Path) -> dict[str, str]:
    """Of its `.env`; of a name that is there twice, the first counts. Raises InputError."""
    path = folder / ".env"
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {why_unreadable(error)}", code="unreadable_env") from None
    found: dict[str, str] = {}
    for line in lines:
        if (parts := _LINE.fullmatch(line)) and "\0" not in parts[2]:
            found.setdefault(parts[1], _unquoted(parts[2]))
    return found


def _unquoted(text: str) -> str:
    """Without quotation marks around it, or else without a comment behind it."""
    quoted = re.fullmatch(r"""(["'])(.*?)\1(?:\s+#.*)?""", text)
    return quoted[2] if quoted else re.sub(r"(?:^|\s+)#.*", "", text)
