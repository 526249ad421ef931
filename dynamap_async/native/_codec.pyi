from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, final

from dynamap_async.wire import AttributeValue, WireItem

def write_json(spliced: type[Any], value: object, /) -> bytes:
    """Return the JSON of a value.

    Args:
        spliced: the type of those parts of it that are JSON already, which they have as ``text``.
        value: the value.

    Raises:
        TypeError: a part of it has no form in JSON.
    """

@final
class JsonItem:
    """An item of an answer, as its JSON; it becomes a dict in wire form when somebody looks into it."""

    @property
    def json(self) -> bytes:
        """The JSON."""

    @property
    def json_bytes(self) -> int:
        """The length of the JSON."""

    @property
    def kept(self) -> bytes | None:
        """The JSON of an object that has those attributes which the decoder that read the item last was to keep.

        None where it is longer than 1,000 bytes, or the item is unusual or was not decoded.
        """

    def wire(self) -> WireItem:
        """Return the item in wire form, always the same dict."""

    def get(self, name: str, otherwise: Any = None, /) -> Any:
        """Return an attribute value, or something else where there is none."""

    def holds(self, attributes: dict[str, AttributeValue], /) -> bool:
        """Return whether the item has all of up to four attributes, with their values."""

    def texts(self, names: tuple[str, ...], /) -> tuple[str, ...]:
        """Return the texts of up to four attributes.

        Raises:
            KeyError: one of them is of another type, or there is none.
        """

    def keys(self) -> KeysView[str]:
        """Return the attribute names."""

    def values(self) -> ValuesView[AttributeValue]:
        """Return the attribute values."""

    def items(self) -> ItemsView[str, AttributeValue]:
        """Return the attribute names and values."""

    def __getitem__(self, name: str, /) -> AttributeValue: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class AnswerReader:
    """Reads the JSON object of an answer, and leaves each item in it as a ``JsonItem``."""

    def __new__(cls, text: bytes) -> AnswerReader: ...
    @property
    def answer(self) -> dict[str, Any] | None:
        """The JSON object; None until all of it is read."""

    def read(self, most: int, /) -> bool:
        """Read about so many bytes more; return whether all are read.

        Raises:
            ValueError: it is no JSON object, or one of an unusual form.
        """

@final
class ItemDecoder:
    """Decodes the items of one model from JSON to what Pydantic validates."""

    def __new__(
        cls,
        fields: tuple[Any, ...],
        mark: tuple[str, tuple[bytes, ...]] = ...,
        apart: tuple[Any, ...] = ...,
        plain: tuple[Any, ...] = ...,
    ) -> ItemDecoder:
        """Make a decoder of types, as ``type.h`` describes them.

        Args:
            fields: that of items.
            mark: a stored name, and the JSON of its values by which items are counted.
            apart: that of what is given apart, as plain values of which these fields are made later.
            plain: that of plain values.
        """

    def decode_apart(self, items: Sequence[Any], /) -> tuple[list[tuple[dict[str, Any], dict[str, Any]] | None], int]:
        """Return of each item name -> value and stored name -> plain value; how many nested members were left out.

        Args:
            items: a list or tuple.

        Returns:
            None in the place of what is no ``JsonItem``, or is unusual.
        """

    def put_plain(self, plain: dict[str, Any], values: dict[str, Any], /) -> bool:
        """Put what is made of plain values, and of absent ones, among other values.

        Args:
            plain: stored name -> plain value.
            values: name -> value; it is changed.

        Returns:
            False where that is left to others: a value is unusual, or is of a name that is not read apart.
        """

    def decode(self, items: Sequence[Any], /) -> tuple[list[dict[str, Any] | None], int, int]:
        """Return of each item name -> value, how many members of nested values were left out, how many have the mark.

        Args:
            items: a list or tuple.

        Returns:
            None in the place of what is no ``JsonItem``, or is unusual; it does not count as one with the mark.
        """

@final
class ItemEncoder:
    """Encodes the items of one model to JSON."""

    def __new__(
        cls,
        fields: tuple[Any, ...],
        before: tuple[bytes, int, WireItem],
        limits: tuple[int, int, int],
        /,
    ) -> ItemEncoder:
        """Make an encoder of a type, as ``type.h`` describes it.

        Args:
            fields: that of items.
            before: the JSON that each begins with, from its brace on; its size; and the attributes in it.
            limits: the most bytes of an item, its most levels, and the most bytes of a name.
        """

    def encode(self, values: Mapping[str, Any], /) -> tuple[WireItem, bytes, int] | None:
        """Return those attributes in wire form that are kept, the JSON of the item, and its size in bytes.

        Args:
            values: name -> value; a dict.

        Returns:
            None for an item that is unusual, or cannot be stored.
        """
