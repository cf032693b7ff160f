"""Which words of an endpoint say that a conversation is too long, and which speak of something else."""

import json

import pytest

from toolablate.agents.endpoint.refusals import refused

TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 and 100",
    "Input is too long for requested model.",
    "Invalid request: Your request exceeded model token limit: 8192",
    "Range of input length should be [1, 30720]",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Please reduce the length of the messages or completion.",
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of "
    "only 4096 tokens, which is not enough. Try to load the model with a larger context length",
    "However, the model is loaded with context length of only 4096 tokens",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "Reached context length of 4096 tokens, but this model does not support mid-generation context overflow",
    "The number of input tokens (5000) is greater than the model's context window (4096)",
    "litellm.ContextWindowExceededError: no",
]
NO_IMAGES = [
    "Invalid content type. image_url is only supported by certain models.",
    "No endpoints found that support image input",
    "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`",
    "gemma-7b is not a multimodal model",
    "At most 0 image(s) may be provided in one prompt.",
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    "This model does not support images.",
    "llama3 doesn't support vision",
    "Image input is unsupported for this deployment",
]
BAD_IMAGE = [
    "Could not process image",
    "Unable to process input image. Please retry or report in",
    "You uploaded an unsupported image. Please make sure your image is valid.",
    "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "Invalid image data",
    "cannot identify image file <_io.BytesIO object>",
]
OF_SOMETHING_ELSE = [
    "tool description: maximum 1024 tokens",
    "tools[0].function.description is too long: maximum 1024",
    "tools.0.description: too many tokens (2000 > 1024)",
    "Please reduce the length of the function's name",
    "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens",
    "Unrecognized request argument supplied: max_context_length",
    "unknown field: context_window",
    "temperature: 3 is greater than the maximum of 2",
    "stop: at most 4 sequences of a maximum of 16 tokens",
]


def code_of(status: int, said: str, word: str = "invalid_request_error") -> str:
    return refused(status, {}, {"error": {"message": said, "code": word}}, key_variable="").code


@pytest.mark.parametrize(
    ("code", "said"), [*(("no_images", s) for s in NO_IMAGES), *(("bad_image", s) for s in BAD_IMAGE)]
)
@pytest.mark.parametrize("status", [400, 500])
def test_what_is_said_of_images_is_no_passing_trouble(status: int, code: str, said: str) -> None:
    error = refused(status, {}, {"error": {"message": said}}, key_variable="")
    assert (error.code, error.retryable) == (code, False)
    assert "image" in error.hint


@pytest.mark.parametrize("said", TOO_LONG)
def test_a_conversation_that_is_too_long(said: str) -> None:
    assert code_of(400, said) == "context_length"


@pytest.mark.parametrize("said", OF_SOMETHING_ELSE)
def test_what_is_of_something_else(said: str) -> None:
    assert code_of(400, said) == "bad_request"


@pytest.mark.parametrize("headers", [{}, {"retry-after": "7"}])
@pytest.mark.parametrize("status", [400, 403, 413, 429, 500])
def test_the_endpoints_word_says_more_than_its_status(status: int, headers: dict[str, str]) -> None:
    said = "Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5500, Requested 900. Try again in 4s."
    body = {"error": {"message": said, "code": "rate_limit_exceeded"}}
    error = refused(status, headers, body, key_variable="")
    assert (error.code, error.retryable) == ("rate_limited", True)
    assert error.retry_after == (7.0 if headers else None)
    if status != 429:
        assert code_of(status, "no", "context_length_exceeded") == "context_length"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("", "request_too_large"),
        ("<html><h1>413 Request Entity Too Large</h1></html>", "request_too_large"),
        ("request body of 20 MB exceeds 10 MB", "request_too_large"),
        (json.dumps({"message": "the prompt has 9000 tokens, and 8192 are allowed"}), "context_length"),
        (json.dumps({"error": TOO_LONG[0]}), "context_length"),
        ("Tokens per minute (TPM): limit 6000, used 5500, requested 900", "rate_limited"),
        ("Request too large: tokens per minute (TPM): limit 6000, requested 7000", "context_length"),
    ],
)
def test_what_is_too_large_in_bytes_is_not_too_long(said: str, code: str) -> None:
    body = json.loads(said) if said.startswith("{") else said
    assert refused(413, {}, body, key_variable="").code == code


@pytest.mark.parametrize("word", ["rate_limit_exceeded", "rate_limit_error", ""])
@pytest.mark.parametrize("status", [413, 429])
@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ("Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9012, reduce it", False),
        ("Request too large for x on tokens per min. Shorten it.", False),
        ("Rate limit reached on tokens per day (TPD): Limit: 90,000, Used: 0, Requested: 100,000.", False),
        ("Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5999, Requested 6000.", True),
        ("Rate limit reached on tokens per minute: Limit: 10,000, Used: 9,500, Requested: 9,000.", True),
    ],
)
def test_a_request_larger_than_a_rate_allows_never_passes(status: int, word: str, said: str, fits: bool) -> None:
    """Groq answers 413 with `rate_limit_exceeded` where one request has more tokens than a minute allows."""
    body = {"error": {"message": said, "code": word}}
    error = refused(status, {"retry-after": "7"}, body, key_variable="")
    assert (error.code, error.retryable) == (("rate_limited", True) if fits else ("context_length", False))
    assert error.retry_after == (7.0 if fits else None)


@pytest.mark.parametrize(
    ("said", "limit_of"),
    [
        ("Rate limit exceeded for api_key: 88dc. Limit type: requests. Current limit: 2, Remaining: 0.", "key"),
        ("Max parallel request limit reached. Hit limit for api_key: 88dc", "key"),
        ("Rate limit exceeded for team: t1. Limit type: tokens. Current limit: 100, Remaining: 0.", "key"),
        ("This request would exceed your account's rate limit. Please try again later.", "key"),
        ("Key limit exceeded (total limit).", "key"),
        ("key over its limit", "key"),
        ("Rate limit exceeded for model_per_key: 88dc:asked. Limit type: requests. Current limit: 2", "model"),
        ("Rate limit reached for asked in organization org-1 on requests per min (RPM): Limit 3, Used 3", "model"),
        ("No deployments available for selected model, Try again in 60 seconds.", "model"),
        ("lab/asked:free is temporarily rate-limited upstream. Add your own key to accumulate limits", "model"),
        ("This request would exceed your organization's rate limit of 50,000 input tokens per minute.", ""),
        ("Rate limit exceeded: free-models-per-min.", ""),
        ("Requests rate limit exceeded", ""),
        ("", ""),
    ],
)
def test_whose_limit_a_refusal_names(said: str, limit_of: str) -> None:
    error = refused(429, {}, {"error": {"message": said}}, key_variable="KEY", model="asked")
    assert (error.code, error.limit_of) == ("rate_limited", limit_of)
