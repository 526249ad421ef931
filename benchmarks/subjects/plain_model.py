"""The reference item as a plain Pydantic model."""

from datetime import datetime

from pydantic import BaseModel


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
