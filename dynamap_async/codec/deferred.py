"""A converter that does not exist yet: how recursive types refer to themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dynamap_async.codec.converter import Converter, ValuePart
from dynamap_async.wire import AttributeValue, Tag

_MAP: Final[frozenset[Tag]] = frozenset(("M",))


class Deferred(Converter):
    """Stands for a converter that does not exist yet: how recursive types refer to themselves."""

    __slots__ = ("_asked", "_resolve", "_target")

    def __init__(
        self,
        label: str,
        resolve: Callable[[], Converter],
        *,
        tags: frozenset[Tag] = _MAP,
        types: tuple[type, ...] = (object,),
    ) -> None:
        """Remember how to find the converter; ``resolve`` is called at the first use and never again."""
        super().__init__(label=label, tags=tags, encode=self._encode, decode=self._decode, types=types)
        self._resolve = resolve
        self._target: Converter | None = None
        self._asked = False

    @property
    def target(self) -> Converter:
        """The converter that this one stands for."""
        if self._target is None:
            self._target = self._resolve()
            self.encode: Callable[[Any], AttributeValue] = self._target.encode
            self.decode: Callable[[AttributeValue], Any] = self._target.decode
        return self._target

    def _encode(self, value: Any) -> AttributeValue:
        return self.target.encode(value)

    def _decode(self, value: AttributeValue) -> Any:
        return self.target.decode(value)

    def decode_or_plain(self, value: AttributeValue) -> Any:
        """Return what the converter that this one stands for gives."""
        return self.target.decode_or_plain(value)

    def step(self, part: str | int) -> ValuePart | None:
        """Return the part of the converter that this one stands for."""
        return self.target.step(part)

    @property
    def member(self) -> Converter | None:
        """The member of the converter that this one stands for."""
        return self.target.member

    @property
    def levels(self) -> int | None:
        """The levels of the converter that this one stands for; unknown for one that contains itself."""
        if self._asked:
            return None
        self._asked = True
        try:
            return self.target.levels
        finally:
            self._asked = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts of the converter that this one stands for."""
        return self.target.names

    @property
    def ordered(self) -> bool:
        """Whether the converter that this one stands for is ordered."""
        return self.target.ordered

    @property
    def document(self) -> bool:
        """Whether the converter that this one stands for is a nested model's."""
        return self.target.document


def target_of(converter: Converter) -> Converter:
    """Return what a converter stands for: itself, where it is not deferred."""
    while isinstance(converter, Deferred):
        converter = converter.target
    return converter
