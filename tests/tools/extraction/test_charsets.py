"""Bytes to characters: marks, declarations that are right, wrong or missing, and bytes that are spoilt."""

import pytest

from toolablate.tools.extraction import ExtractionOptions, extract
from toolablate.tools.extraction.kinds import codec_of, decode

CHINESE = "昨天夜里，守了四十年灯塔的老周正式退休，以后灯塔的开关由县里的计算机控制。他把值班日志捐给了县博物馆。"
TAIWAN = "從下個月起，河濱夜市的一百二十個攤位將全面改用可重複清洗的餐具，市府表示這是全國第一個不用紙碗的夜市。"
JAPANESE = (
    "山あいの小さな駅で駅長を務める猫が、今月十歳の誕生日を迎えた。ホームには朝から百人を超えるファンが集まった。"
)
RUSSIAN = "В этом году яблони в ботаническом саду зацвели на одиннадцать дней раньше обычного, сообщают сотрудники."
KOREAN = "주민이 삼백 명도 안 되는 산골 마을에 책방이 다시 문을 열었다. 오 년 전 문을 닫은 우체국 건물이다."
GERMAN = "Das älteste Wohnhaus der Gemeinde steht künftig „dreihundert Meter“ weiter östlich – Balken für Balken."

WRITTEN = [
    (CHINESE, "gb18030"),
    (TAIWAN, "big5"),
    (JAPANESE, "cp932"),
    (JAPANESE, "euc_jp"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8_r"),
    (GERMAN, "cp1252"),
    (CHINESE, "utf-8"),
]
LABELS = {
    "gb18030": "gb2312",
    "cp932": "Shift_JIS",
    "euc_jp": "euc-jp",
    "cp1252": "ISO-8859-1",
    "cp949": "ks_c_5601-1987",
}


@pytest.mark.parametrize(("text", "codec"), [*WRITTEN, (KOREAN, "cp949")])
def test_the_header_says_it(text: str, codec: str) -> None:
    assert decode(text.encode(codec), f"text/html; charset={LABELS.get(codec, codec)}") == text


@pytest.mark.parametrize(("text", "codec"), [*WRITTEN, (KOREAN, "cp949")])
def test_the_page_says_it(text: str, codec: str) -> None:
    label = LABELS.get(codec, codec)
    for meta in (f"<meta charset='{label}'>", f'<META http-equiv=Content-Type content="text/html; charset={label}">'):
        page = f"<html><head>{meta}<title>x</title></head><body><p>{text}</p></body></html>"
        assert text in decode(page.encode(codec), "text/html")


@pytest.mark.parametrize(("text", "codec"), WRITTEN)
def test_nobody_says_it(text: str, codec: str) -> None:
    assert text in decode(f"<html><body><p>{text * 3}</p></body></html>".encode(codec), "text/html")


@pytest.mark.parametrize(("text", "codec"), WRITTEN)
def test_the_declaration_is_wrong(text: str, codec: str) -> None:
    declared = "utf-8" if codec != "utf-8" else "euc-kr"
    assert text in decode(
        f"<html><body><p>{text * 3}</p></body></html>".encode(codec), f"text/html; charset={declared}"
    )


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_believed_before_all(codec: str) -> None:
    assert decode(CHINESE.encode(codec), "text/html; charset=big5") == CHINESE


def test_a_header_that_is_invalid_gives_way_to_the_page() -> None:
    page = f"<html><head><meta charset=gbk></head><body>{CHINESE}</body></html>"
    assert CHINESE in decode(page.encode("gbk"), "text/html; charset=utf-8")


@pytest.mark.parametrize("label", ["iso-8859-1", "windows-1251", "gbk", "shift_jis", "big5"])
def test_pages_that_were_moved_to_utf_8_and_declare_what_they_were(label: str) -> None:
    page = f"<html><head><meta charset={label}></head><body>{GERMAN} {CHINESE}</body></html>"
    assert f"{GERMAN} {CHINESE}" in decode(page.encode(), f"text/html; charset={label}")


def test_two_words_that_are_utf_8_by_chance() -> None:
    assert "模式".encode("gbk").decode("utf-8") == "ģʽ"
    assert decode("模式".encode("gbk"), "text/html; charset=gbk") == "模式"


def test_charsets_of_escapes_are_believed_where_declared() -> None:
    assert decode(JAPANESE.encode("iso2022_jp"), "text/html; charset=iso-2022-jp") == JAPANESE


ENGLISH = (
    "The tower clock \u2014 it\u2019s wound daily, \u201cby hand\u201d, at the caf\u00e9 of se\u00f1or M\u00fcller. "
)
PLAIN = "The keeper wound the great clock every morning before the market opened. "


@pytest.mark.parametrize("share", [0, 1, 60])
@pytest.mark.parametrize("content_type", ["text/html", "text/html; charset=utf-8"])
@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        "It\u2019s open. ",
        "A caf\u00e9. ",
        "Se\u00f1or. ",
        "\u201cNo,\u201d he said \u2013 and left the caf\u00e9. ",
    ],
)
def test_western_signs_in_english_that_nobody_declares(text: str, content_type: str, share: int) -> None:
    body = f"<html><body><p>{PLAIN * share}{text}{PLAIN * share}</p></body></html>".encode("cp1252")
    assert text in decode(body, content_type)


def test_korean_that_nobody_declares() -> None:
    assert KOREAN in decode(f"<html><body><p>{KOREAN}</p></body></html>".encode("cp949"))


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("media", ["text/html", "text/plain"])
@pytest.mark.parametrize("label", ["utf-16", "utf-16le"])
def test_utf_16_without_a_mark_that_the_header_declares(codec: str, media: str, label: str) -> None:
    html = f"<html><body><p>{GERMAN}</p><p>{CHINESE}</p></body></html>"
    written = html if media == "text/html" else f"{GERMAN}\n{CHINESE}"
    text = extract(written.encode(codec), ExtractionOptions(content_type=f"{media}; charset={label}"))
    assert text.text == f"{GERMAN}\n{CHINESE}"


def test_utf_16_with_hardly_an_ascii_character() -> None:
    written = "灯塔建于一八七四年。" * 30
    text = extract(written.encode("utf-16-le"), ExtractionOptions(content_type="text/plain; charset=utf-16le"))
    assert text.text == written


@pytest.mark.parametrize("media", ["text/html", "text/plain"])
def test_utf_16_that_the_header_declares_wrongly(media: str) -> None:
    text = extract(f"<p>{CHINESE}</p>".encode(), ExtractionOptions(content_type=f"{media}; charset=utf-16"))
    assert CHINESE in text.text


def test_bytes_that_are_nothing_are_no_text_whatever_the_header_says() -> None:
    body = bytes(range(32)) * 40
    assert extract(body, ExtractionOptions(content_type="text/plain; charset=utf-16")).code == "not_text"


def test_a_few_spoilt_bytes_do_not_make_it_another_charset() -> None:
    spoilt = (CHINESE * 20).encode() + b"\xff\xfe\xe4" + CHINESE.encode()
    assert decode(spoilt, "text/html; charset=utf-8").count(CHINESE) == 21
    assert decode(spoilt).count(CHINESE) == 21


def test_utf_16_that_is_declared_in_ascii_is_not_believed() -> None:
    page = f"<html><head><meta charset=utf-16></head><body>{CHINESE}</body></html>"
    assert CHINESE in decode(page.encode(), "")


@pytest.mark.parametrize(
    "label", ["idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "rot13", "zip", "mbcs", "x" * 9]
)
def test_codecs_that_no_page_is_written_in_are_refused(label: str) -> None:
    assert codec_of(label) == ""
    assert decode(b"plain words", f"text/plain; charset={label}") == "plain words"


def test_bytes_without_any_sense_become_text() -> None:
    body = (
        b"<html><body><p>"
        + b"Words that can be read by everybody. " * 9
        + bytes(range(128, 256))
        + b"</p></body></html>"
    )
    text = extract(body, ExtractionOptions(content_type="text/html; charset=utf-8"))
    assert "Words that can be read" in text.text
