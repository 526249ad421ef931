"""One page of a list as a web response, the same for all web integrations."""

from typing import Generic, TypeVar

from pydantic import BaseModel, Field

ItemT = TypeVar("ItemT")


class CursorPage(BaseModel, Generic[ItemT]):
    """One page of a list, as a response."""

    items: list[ItemT]
    cursor: str | None = Field(default=None, description="Where the next page begins; null after the last item.")
    next: str | None = Field(default=None, description="The path and query of the next page; null after the last item.")


def link_header(link: str) -> str:
    """Return the value of the header ``Link`` that leads to the next page.

    Source: https://www.rfc-editor.org/rfc/rfc8288
    """
    return f'<{link}>; rel="next"'
