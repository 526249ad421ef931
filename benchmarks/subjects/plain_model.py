"""The reference item as a plain Pydantic model."""

from datetime import datetime

from pydantic import BaseModel, create_model

from benchmarks.shapes import Shape


class Place(BaseModel):
    """A map of three."""

    city: str
    country: str
    postcode: str


class PlainPost(BaseModel):
    """The ten attributes."""

    user_id: str
    posted_at: datetime
    title: str
    likes: int
    score: float
    public: bool
    tags: set[str]
    place: Place
    history: list[int]
    text: str


def plain_model(shape: Shape) -> type[BaseModel]:
    """Return a shape as a plain Pydantic model."""
    fields = {name: (kind, ...) for name, kind in shape.fields.items()}
    return create_model("Shaped", **fields)  # type: ignore[call-overload]
