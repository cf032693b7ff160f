import base64
import io

import pytest
from tests.browser.hostile import png

from toolablate.reports.html.environment import Image, NoImage, image
from toolablate.traces.records import Artifact


def _of(mime: str, data: bytes) -> Image | NoImage:
    return image(Artifact(mime=mime, data=base64.b64encode(data).decode()))


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
def test_an_image_is_shown_in_its_size(kind: str) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow, which makes the images, is not installed")
    written = io.BytesIO()
    pillow.new("RGB", (37, 21), "red").save(written, kind)
    found = _of(f"image/{kind}", written.getvalue())
    assert isinstance(found, Image)
    assert (found.width, found.height, found.size) == (37, 21, len(written.getvalue()))
    assert found.url.startswith(f"data:image/{kind};base64,")


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp"])
@pytest.mark.parametrize(
    "data", [b"", b"<svg onload=alert(1)>", b"\xff\xd8\xff", b"RIFF1234WEBPVP8X", b"GIF89a", b"\x89PNG"]
)
def test_bytes_that_are_no_image_are_not_shown(kind: str, data: bytes) -> None:
    assert _of(f"image/{kind}", data) == NoImage(f"not shown: its bytes are no {kind}")


def test_an_image_of_another_kind_than_it_says_is_not_shown() -> None:
    assert isinstance(image(Artifact(mime="image/png", data=png())), Image)
    assert isinstance(image(Artifact(mime="image/gif", data=png())), NoImage)


def test_an_image_too_large_for_a_browser_is_not_shown() -> None:
    found = image(Artifact(mime="image/png", data=png(says=(60_000, 60_000))))
    assert found == NoImage("not shown: 60,000 by 60,000 pixels")
    assert isinstance(_of("image/png", b"x" * 5_000_000), NoImage)


@pytest.mark.parametrize("table", [b"\x00\x00\x00", b"\x81\x00\x00" + 12 * b"\x00"])
def test_a_gif_is_as_large_as_its_first_image(table: bytes) -> None:
    said = b"\x21\xf9\x04\x00\x00\x00\x00\x00\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
    small, large = (b"\x2c\x00\x00\x00\x00" + 2 * side.to_bytes(2, "little") + b"\x00" for side in (1, 60_000))
    begin = b"GIF89a\x02\x00\x01\x00" + table + said
    assert _of("image/gif", begin + large) == NoImage("not shown: 60,000 by 60,000 pixels")
    found = _of("image/gif", begin + small + b"\x02\x02\x4c\x01\x00" + said[:8] + large)
    assert isinstance(found, Image)
    assert (found.width, found.height) == (2, 1)
    assert (
        _of("image/gif", begin + said)
        == _of("image/gif", begin + b"\x3b")
        == NoImage("not shown: its bytes are no gif")
    )


def test_what_can_do_things_is_shown_as_its_source() -> None:
    for mime in ("image/svg+xml", "text/html", "application/json"):
        assert image(Artifact(mime=mime, data="<svg onload=x>")) == NoImage("shown as its source", "<svg onload=x>")
    assert image(Artifact(mime="application/pdf", data="abc")) == NoImage("not shown")
