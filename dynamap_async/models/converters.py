"""The protocol by which the compilers of types call each other, because the parts of a type are types too.

A compiler is ``exact`` where values must come back as the program's own types, and not where they may be left as
text that Pydantic parses faster than Python does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, Protocol

from pydantic import BaseModel

from dynamap_async.codec import ALL_TAGS, Converter, Deferred
from dynamap_async.models.annotations import Metadata
from dynamap_async.wire import Tag

ONLY_FIELDS: Final = (
    "has MISSING inside its type, which stands for a field without a value, as in int | MISSING; elements, members of "
    "dicts, dataclasses and typed dicts, and roots cannot be missing: use None there, or a nested model"
)
"""What is wrong with a type that has ``MISSING`` inside of it."""


class UnstorableTypeError(TypeError):
    """A type has values without a stored form that reads back; the compiler of its field says which field it is."""


class IncompleteModelError(Exception):
    """A nested model names a type that does not exist yet, so what holds it cannot be compiled yet."""

    def __init__(self, model: type[BaseModel]) -> None:
        super().__init__(model.__name__)
        self.model: type[BaseModel] = model
        """The nested model."""


def not_found(kind: type[Any], error: NameError) -> UnstorableTypeError:
    """Return the error of a class that names a type which is local to another function."""
    return UnstorableTypeError(
        f"{kind.__name__} names the type {error.name!r}, which cannot be found; define both outside functions"
    )


class Compiler(Protocol):
    """Makes the converter of any type, in the context of one model."""

    @property
    def model(self) -> type[BaseModel]:
        """The model whose fields are compiled."""
        ...

    @property
    def exact(self) -> bool:
        """Whether decoding gives final Python values."""
        ...

    @property
    def local(self) -> dict[str, Any]:
        """The types that are local to the function in which the model's class is made, by their names."""
        ...

    @property
    def known(self) -> dict[Hashable, Converter]:
        """Types that were met before, so that one which contains itself ends."""
        ...

    @property
    def exactly(self) -> Compiler:
        """The same compiler, but exact."""
        ...

    def of(self, annotation: Any, metadata: Metadata = ()) -> Converter:
        """Return the converter of a type."""
        ...

    def member(self, annotation: Any) -> Converter:
        """Return the converter of a type inside a collection, where None is always NULL."""
        ...

    def inside(self, owner: type[Any]) -> Compiler:
        """Return the compiler of the fields of a nested model, dataclass or typed dict."""
        ...

    def field(self, annotation: Any, metadata: Metadata) -> Converter:
        """Return the converter of a field of a model, None aside."""
        ...

    def note_ambiguous(self, label: str) -> None:
        """Remember a union some of whose values read back as another member's."""
        ...


def deferred(
    compiler: Compiler,
    annotation: Hashable,
    make: Callable[[], Converter],
    *,
    label: str,
    tags: frozenset[Tag] = ALL_TAGS,
    types: tuple[type, ...] = (object,),
) -> Converter:
    """Return the converter of a type that may contain itself; ``make`` is called later, once."""
    known = compiler.known.get(annotation)
    if known is None:
        known = compiler.known[annotation] = Deferred(label, make, tags=tags, types=types)
    return known
