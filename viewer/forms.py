"""What a page's form sends."""

from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

LONGEST_FORM, MOST_FIELDS = 300_000, 50
"""In bytes: a note of 20,000 characters of four bytes each, three characters for a byte in a form, is 240,000."""

Form = dict[str, str]
"""Of `code` all values, by line; of other fields the last one."""


async def read_form(request: Request, longest: int = LONGEST_FORM, most: int = MOST_FIELDS) -> Form:
    """The fields of a form as browsers send it by default, each once but `code`."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > longest:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This is longer than what is kept may be.")
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=most)
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "This is no form of this page: it has too many fields.") from None
    return {name: "\n".join(values) if name == "code" else values[-1] for name, values in fields.items()}
