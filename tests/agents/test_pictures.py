"""Pictures of questions and of tools' results, as each API gets them."""

import base64
from typing import Any

import pytest
from tests.agents.conftest import Play
from tests.browser.hostile import png
from tests.servers.chat_server import ChatServer, reply
from tests.servers.responses import response, says

from toolablate.agents.spending import estimated_tokens
from toolablate.traces.records import Message, ModelRequest, Picture

ONE, OTHER = (Picture.of(base64.b64decode(png(side, 2))) for side in (3, 4))


@pytest.mark.parametrize(
    ("api", "text", "image"), [("chat", "text", "image_url"), ("responses", "input_text", "input_image")]
)
async def test_a_question_s_pictures_stand_where_it_marks_them(
    chat_server: ChatServer, play: Play, api: str, text: str, image: str
) -> None:
    chat_server.plays(reply("Answer: A") if api == "chat" else response(says("Answer: A")))
    played = await play(model={"api": api}, images=(ONE, OTHER))
    (message,) = chat_server.requests[0]["messages" if api == "chat" else "input"]
    urls = [{"url": each.url} if api == "chat" else each.url for each in (ONE, OTHER)]
    assert message == {
        "role": "user",
        "content": [*({"type": image, "image_url": url} for url in urls), {"type": text, "text": "Which one?"}],
    }
    (call,) = played.of("model_call")
    assert call.request.messages == (Message(role="user", content="Which one?", images=(ONE, OTHER)),)


def test_a_picture_counts_as_about_as_many_tokens_as_models_read_it_as() -> None:
    def tokens(*images: Any) -> int:
        return estimated_tokens(ModelRequest(messages=(Message(role="user", content="Hi", images=images),)))

    large = ONE.model_copy(update={"width": 4000, "height": 3000})
    middle = ONE.model_copy(update={"width": 300, "height": 250})
    assert (tokens(), tokens(ONE), tokens(middle), tokens(large, large)) == (1, 2, 101, 3201)
