"""dynamoxy with Pydantic models: the same client, and validation by Pydantic."""

from datetime import datetime
from types import new_class
from typing import Annotated, Any, ClassVar

from dynamoxy import PartitionKey, PydanticModel, SortKey

from benchmarks.items import TABLE
from benchmarks.shapes import KEY, Shape
from benchmarks.subjects.dynamoxy import Dynamoxy
from benchmarks.subjects.plain_model import Place


class Post(PydanticModel, table=TABLE, datetime_format="iso_z"):
    """The reference item."""

    user_id: Annotated[str, PartitionKey()]
    posted_at: Annotated[datetime, SortKey()]
    title: str
    likes: int
    score: float
    public: bool
    tags: set[str]
    place: Place
    history: list[int]
    text: str


class DynamoxyPydantic(Dynamoxy):
    """Pydantic models."""

    label = "dynamoxy, Pydantic"
    imports = "dynamoxy, pydantic.main"  # `import pydantic` alone loads nothing yet
    distributions = ("dynamoxy", "pydantic", "pydantic_core")
    model: ClassVar[Any] = Post

    def shaped(self, shape: Shape) -> Any:
        fields = {name: Annotated[kind, PartitionKey()] if name == KEY else kind for name, kind in shape.fields.items()}
        namespace = {"__annotations__": fields, "__module__": __name__}
        return new_class("Shaped", (PydanticModel,), {"table": TABLE}, lambda body: body.update(namespace))

    def define(self) -> object:
        class Fresh(PydanticModel, table=TABLE, datetime_format="iso_z"):
            user_id: Annotated[str, PartitionKey()]
            posted_at: Annotated[datetime, SortKey()]
            title: str
            likes: int
            score: float
            public: bool
            tags: set[str]
            place: Place
            history: list[int]
            text: str

        return Fresh
