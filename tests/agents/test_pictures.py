"""Pictures of questions and of tools' results, as each API gets them."""

import base64
import json
from typing import Any

import pytest
from tests.agents.conftest import LocalTools, Play
from tests.browser.hostile import png
from tests.servers.chat_server import ChatServer, reply
from tests.servers.responses import calls, response, says

from toolablate.agents.langchain.messages import said_before, written_message
from toolablate.agents.plots import MOST_PLOTS
from toolablate.agents.resuming import start_before
from toolablate.agents.spending import estimated_tokens
from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Artifact, Condition, Message, ModelRequest, Picture

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


SEES = Condition(name="sees", show_plots=True)
PLOT, TABLE = Artifact(mime="image/png", data=ONE.data), Artifact(mime="text/html", data="<p>")


async def draw(plots: int = 1) -> ToolResult:
    return ToolResult("drawn", artifacts=(TABLE, *[PLOT] * plots))


async def test_chat_shows_plots_behind_all_results_of_a_turn(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply(None, ("draw", {}), ("draw", {"plots": 0}), ("draw", {"plots": 2})), reply("Answer: A"))
    played = await play(LocalTools(draw=draw), SEES)
    *results, shown = chat_server.requests[1]["messages"][2:]
    assert [each["content"] for each in results] == ["drawn"] * 3
    image = {"type": "image_url", "image_url": {"url": ONE.url}}
    told = [{"type": "text", "text": f"Images of the result of call call_draw_{place}:"} for place in (0, 2)]
    assert shown == {"role": "user", "content": [told[0], image, told[1], image, image]}
    events = played.events
    (_, second) = played.of("model_call")
    assert [len(each.images) for each in second.request.messages[2:]] == [1, 0, 2]
    # Taken up where the calls wait, their recorded results show what they showed.
    begun = start_before(events[:4], 3, SEES)
    assert {place: len(result.images) for place, result in begun.results.items()} == {0: 1, 1: 0}
    assert start_before([*events[:4], *events[5:]], 4, SEES).messages == second.request.messages


async def test_responses_shows_plots_in_the_result(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(response(calls("draw", {})), response(says("Answer: A")))
    await play(LocalTools(draw=draw), SEES, model={"api": "responses"})
    (result,) = [each for each in chat_server.requests[1]["input"] if each.get("type") == "function_call_output"]
    assert result["output"] == [
        {"type": "input_image", "image_url": ONE.url},
        {"type": "input_text", "text": "drawn"},
    ]
    assert chat_server.requests[1]["input"][-1] is result


async def test_no_plot_is_shown_but_where_the_condition_says_so(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply(None, ("draw", {})), reply("Answer: A"))
    await play(LocalTools(draw=draw))
    assert "image" not in json.dumps(chat_server.requests)


async def test_what_is_not_shown_of_a_call_is_said(chat_server: ChatServer, play: Play) -> None:
    large = base64.b64encode(ONE.content.replace(bytes([0, 0, 0, 3]), bytes([0, 0, 9, 3]), 1)).decode()
    odd = (large, "%%%", base64.b64encode(b"<svg>").decode())

    async def much() -> ToolResult:
        return ToolResult("much", artifacts=(*(Artifact(mime="image/png", data=each) for each in odd), *[PLOT] * 6))

    chat_server.plays(reply(None, ("much", {})), reply("Answer: A"))
    await play(LocalTools(much=much), SEES)
    _, _, result, shown = chat_server.requests[1]["messages"]
    assert len(shown["content"]) == 1 + MOST_PLOTS
    assert result["content"].splitlines() == [
        "much",
        "[An image is not shown: it is no whole PNG: it is cut off or damaged.]",
        "[An image is not shown: it is damaged.]",
        "[An image is not shown: it is no PNG, JPEG, GIF or WebP.]",
        "[2 more images are not shown: at most 4 are.]",
    ]


def test_a_condition_that_shows_no_plots_has_the_id_it_had() -> None:
    assert Condition(name="c", show_plots=False).identity() == Condition(name="c").identity() != SEES.identity()


@pytest.mark.parametrize("text", ["Which?", "See <image 2> and <image 1>.", "<image 1>"])
def test_an_agent_of_the_user_s_is_given_pictures_that_its_requests_are_read_with(text: str) -> None:
    said = Message(role="user", content=text, images=(ONE, OTHER))
    assert said_before(written_message(said), 0, str) == said
    other = written_message(said).model_copy(update={"content": [{"type": "image", "url": "https://x.test/a.png"}]})
    assert said_before(other, 0, str).images == ()
