"""The images that questions bring: how they are given, what is refused, and what becomes of a question's identity."""

import base64
import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.browser.hostile import png
from tests.project.pages import blocks

from toolablate.benchmarks.questions import load_questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, NumberTarget, Picture, Question
from toolablate.traces.records.pictures import MAX_BYTES, parts_of

RED = base64.b64decode(png(3, 2))
Load = Callable[..., Question]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a.png").write_bytes(RED)
    (tmp_path / "secret.png").write_bytes(RED)

    def load(**row: Any) -> Question:
        path = tmp_path / "set/questions.jsonl"
        path.write_text(json.dumps({"id": "q", "prompt": "p", "answer": 1, **row}), encoding="utf-8")
        (question,) = load_questions(path)
        return question

    return load


def drawn(kind: str, *sizes: tuple[int, int], **options: Any) -> bytes:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow, which makes the images, is not installed")
    first, *others = (pillow.new("RGB", size, colour) for size, colour in zip(sizes, ("red", "blue"), strict=False))
    written = io.BytesIO()
    moving = {"save_all": True, "append_images": others} if others else {}
    first.save(written, kind, **moving, **options)
    return written.getvalue()


def test_however_it_is_given_it_is_the_same_picture(load: Load, tmp_path: Path) -> None:
    text = base64.b64encode(RED).decode()
    picture = Picture(mime="image/png", data=text, width=3, height=2)
    ways: list[dict[str, Any]] = [
        {"image": "a.png"},
        {"images": ["./a.png"]},
        {"images": [{"path": "a.png"}]},
        {"images": [f"data:image/png;base64,{text}"]},
        {"image": {"bytes": text, "path": None}},
        {"images": [{"bytes": text, "path": "of/the/hub.png"}]},
        {"images": [json.loads(picture.to_json())]},
    ]
    read = [load(**way) for way in ways]
    assert {question.images for question in read} == {(picture,)}
    assert len({question.identity() for question in read}) == 1
    assert load(image=None).images == ()
    # What a program writes beside the pixels makes no other question.
    (tmp_path / "set/told.png").write_bytes(RED[:33] + _chunk(b"tEXt", b"by me") + RED[33:])
    assert load(image="told.png").identity() == read[0].identity()
    plain = load()
    assert plain.identity() != read[0].identity()
    assert "images" not in plain.to_json()
    assert Question.from_json(read[0].to_json()) == read[0]
    asked = Question(id="q1", prompt="What is 1 + 1?", target=NumberTarget(value=2))
    assert asked.identity() == "4723cd89bc7a4cb5cfab9c604cf2d292"


def test_texts_and_images_keep_their_order(load: Load) -> None:
    (one,) = load(image="a.png").images
    question = load(prompt=[{"text": "Is"}, {"image": "a.png"}, {"text": "like"}, {"image": "a.png"}, {"text": "?"}])
    assert question.prompt == "Is <image 1> like <image 2> ?"
    parts = ["Is <image 1>", one, " like <image 2>", one, " ?"]
    assert list(parts_of(question.prompt, question.images)) == parts
    assert list(parts_of("Which?", (one,))) == [one, "Which?"]
    # A mark that comes again is a word, and so is one of a text without images.
    assert list(parts_of("<image 1> or <image 1>", (one,))) == ["<image 1>", one, " or <image 1>"]
    assert load(prompt="<image 7>").prompt == "<image 7>"
    marked = load(images=["a.png"], choices=["<image 1>", "none"], answer="A")
    assert marked.target == ChoiceTarget(letters=("A",))


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
def test_each_kind_is_measured_and_has_to_be_whole(kind: str) -> None:
    data = drawn(kind, (37, 21))
    picture = Picture.of(data)
    assert (picture.mime, picture.width, picture.height, picture.content) == (f"image/{kind}", 37, 21, data)
    for end in (len(data) - 3, len(data) // 2, 20, 9):
        with pytest.raises(ValueError, match=r"whole|no PNG, JPEG"):
            Picture.of(data[:end])


def _png(*chunks: tuple[bytes, bytes]) -> bytes:
    return RED[:8] + b"".join(_chunk(*each) for each in chunks)


def _header(width: int, height: int, *, depth: int = 8, colour: int = 2, interlaced: int = 0) -> tuple[bytes, bytes]:
    return b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)


END, SECRET = (b"IEND", b""), b"the answer is 7"


def _data(size: int) -> tuple[bytes, bytes]:
    return b"IDAT", zlib.compress(bytes(size))


def test_what_is_no_picture_in_a_file_is_kept_nowhere() -> None:
    """Neither text, place and thumbnail nor what stands behind the end; a picture without these keeps its bytes."""
    (header, data), palette = (_header(3, 2), _data(20)), (b"PLTE", bytes(6))
    written = _png(header, data, END)
    told = [(b"tEXt", SECRET), (b"iCCP", SECRET), (b"eXIf", SECRET), (b"acTL", bytes(8)), (b"tRNS", SECRET)]
    assert Picture.of(_png(header, *told, data, (b"zTXt", SECRET), END) + SECRET).content == written
    assert Picture.of(_png(header, (b"IDAT", data[1] + SECRET), END)).content == written
    half = (b"IDAT", data[1][:5]), (b"IDAT", data[1][5:])
    needed = _png(_header(3, 2, colour=3), (b"gAMA", bytes(4)), palette, (b"tRNS", b"\0\1"), _data(8), END)
    for clean in (_png(header, *half, END), needed):
        assert Picture.of(clean).content == clean
    plain = drawn("jpeg", (37, 21))
    comment, colours = b"\xff\xfe\0\x11" + SECRET, b"\xff\xe2\0\x11" + SECRET
    assert Picture.of(plain[:2] + comment + plain[2:-2] + colours + plain[-2:] + SECRET).content == plain
    gif = drawn("gif", (37, 21))
    said = b"!\xfe\x0f" + SECRET + b"\0"
    assert Picture.of(gif[:-1] + said + gif[-1:] + SECRET).content == gif
    webp = drawn("webp", (37, 21))
    told_of = drawn("webp", (37, 21), exif=b"Exif\0\0" + SECRET, xmp=SECRET, icc_profile=SECRET) + SECRET
    assert SECRET not in (cleaned := Picture.of(told_of).content)
    assert cleaned[-(len(webp) - 12) :] == webp[12:]
    assert Picture.of(cleaned).content == cleaned


@pytest.mark.parametrize(("turned", "size"), [(1, (37, 21)), (3, (37, 21)), (6, (21, 37))])
def test_a_photo_keeps_how_it_is_turned(turned: int, size: tuple[int, int]) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow, which makes the images, is not installed")
    exif = pillow.Exif()
    exif[0x0112], exif[0x010E] = turned, SECRET.decode()
    picture = Picture.of(drawn("jpeg", (37, 21), exif=exif.tobytes(), comment=SECRET, icc_profile=SECRET))
    assert SECRET not in picture.content
    assert (picture.width, picture.height) == size
    assert pillow.open(io.BytesIO(picture.content)).getexif().get(0x0112, 1) == turned
    assert Picture.of(picture.content) == picture


@pytest.mark.parametrize("colour", [0, 2, 3, 4, 6])
@pytest.mark.parametrize("interlaced", [0, 1])
def test_the_data_of_a_png_are_as_many_as_its_header_says(colour: int, interlaced: int) -> None:
    bits = {0: 1, 2: 24, 3: 4, 4: 16, 6: 64}[colour]
    passes = [(2, 1), (1, 1), (3, 1), (2, 2), (5, 1), (4, 3), (9, 2)] if interlaced else [(9, 5)]
    size = sum(rows * (1 + -(-columns * bits // 8)) for columns, rows in passes)
    header = _header(9, 5, depth={0: 1, 3: 4, 6: 16}.get(colour, 8), colour=colour, interlaced=interlaced)
    before = (header, (b"PLTE", bytes(48))) if colour == 3 else (header,)
    assert Picture.of(_png(*before, _data(size), END)).width == 9
    for wrong in (size - 1, size + 1, size + 20_000_000):
        with pytest.raises(ValueError, match="is no whole PNG"):
            Picture.of(_png(*before, _data(wrong), END))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "svg": (lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is no PNG, JPEG, GIF or WebP"),
    "empty": (lambda: b"", "is no PNG, JPEG, GIF or WebP"),
    "bomb": (lambda: base64.b64decode(png(says=(60_000, 60_000))), "has 60,000 by 60,000 pixels; allowed are 8,000"),
    "flat": (lambda: base64.b64decode(png(says=(0, 5))), "has 0 by 5 pixels"),
    "large": (lambda: RED + bytes(50_000_000), f"has more than {MAX_BYTES:,} bytes"),
    "damaged": (lambda: RED.replace(b"IDAT", b"IDAX"), "is no whole PNG: it is cut off or damaged"),
    "moving": (lambda: drawn("gif", (4, 4), (4, 4), duration=50), "is a moving GIF"),
    "moving png": (lambda: drawn("png", (4, 4), (4, 4), duration=50), "is a moving PNG"),
    "moving webp": (lambda: drawn("webp", (4, 4), (4, 4), duration=50), "is a moving WebP"),
    "a webp that is larger inside": (
        lambda: b"RIFF\x2a\0\0\0WEBPVP8X\x0a\0\0\0" + bytes(10) + b"VP8L\x0c\0\0\0/\xff\xff\xff\x0f" + bytes(7),
        "is no whole WebP",
    ),
    "sound": (lambda: b"RIFF\x2a\0\0\0WAVE" + bytes(40), "is no PNG, JPEG, GIF or WebP"),
    "two frames": (lambda: (jpeg := drawn("jpeg", (4, 4)))[:-2] + jpeg[2:], "is no whole JPEG"),
    "no palette": (lambda: _png(_header(3, 2, colour=3), _data(8), END), "is no whole PNG"),
    "unknown chunk": (lambda: _png(_header(3, 2), (b"ABcD", b""), _data(20), END), "is no whole PNG"),
    "endless": (lambda: RED[:8] + _chunk(b"IHDR", RED[16:29]) + _chunk(b"tEXt", b"") * 3, "is no whole PNG"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_no_model_can_be_shown_is_refused_with_its_line(load: Load, tmp_path: Path, name: str) -> None:
    make, why = BAD[name]
    (tmp_path / "set/bad.img").write_bytes(make())
    with pytest.raises(InputError) as refused:
        load(images=["a.png", "bad.img"])
    assert "questions.jsonl:1" in str(refused.value)
    assert f"item 2 of 'images': \"bad.img\" {why}" in str(refused.value)
    assert "convert it, or make it smaller" in refused.value.hint


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"image": "../secret.png"}, "leads out of the folder"),
        ({"image": "link.png"}, "leads out of the folder"),
        ({"image": "/etc/passwd"}, "must be relative"),
        ({"image": "none.png"}, "cannot be read: No such file"),
        ({"image": "https://example.org/a.png"}, "is an address on the web, and none is fetched"),
        ({"image": "data:image/png,abc"}, "it is no data URL in base64"),
        ({"image": "data:image/png;base64,%%%"}, "it is not written in base64"),
        ({"image": "data:image/svg+xml;base64,PHN2Zz4="}, "it is no PNG, JPEG, GIF or WebP"),
        ({"image": 3}, "is no image; found 3"),
        ({"images": "a.png"}, "'images' must be a list"),
        ({"image": "a.png", "images": ["a.png"]}, "images are given in two places"),
        ({"image": "a.png", "prompt": [{"image": "a.png"}]}, "images are given in two places"),
        ({"prompt": [{"text": "a", "image": "a.png"}]}, "item 1 of 'prompt' is neither text nor image"),
        ({"prompt": [{"text": "<image 1>"}, {"image": "a.png"}]}, "item 1 of 'prompt' has a mark"),
        ({"image": "a.png", "prompt": "<image 2>"}, "<image 2> names no image; the question has 1"),
        ({"picture": "a.png"}, "Did you mean 'image'?"),
    ],
)
def test_what_is_no_image_is_told(load: Load, tmp_path: Path, row: dict[str, Any], why: str) -> None:
    (tmp_path / "set/link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(InputError) as refused:
        load(**row)
    assert why in f"{refused.value} {refused.value.hint}"
    assert "questions.jsonl:1" in str(refused.value)


def test_the_questions_of_the_page_load(tmp_path: Path) -> None:
    (example,) = blocks("docs/plans.md", "jsonl")
    (tmp_path / "questions.jsonl").write_text(example, encoding="utf-8")
    for name in ("dots.png", "a.png", "b.jpg", "map.webp"):
        (tmp_path / name).write_bytes(RED)
    assert [len(question.images) for question in load_questions(tmp_path / "questions.jsonl")] == [1, 2, 1]
