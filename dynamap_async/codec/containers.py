"""Converters of sets, lists, tuples and maps.

``decode`` gives members that are all as expected; ``decode_parts`` looks at each one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, TypeGuard, cast

from dynamap_async.codec.converter import Converter, Decode, Description, ValuePart, one_deeper
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.map_keys import TEXT_KEY, MapKey
from dynamap_async.codec.part_decoding import list_parts, map_parts, set_parts, with_all
from dynamap_async.codec.scalars import AS_STORED, STORED_TEXT, encode_text
from dynamap_async.errors import EncodeError
from dynamap_async.wire import AttributeValue, Tag

_SET_TAGS: Final[dict[frozenset[str], tuple[str, Tag]]] = {
    frozenset(("S",)): ("S", "SS"),
    frozenset(("N",)): ("N", "NS"),
    frozenset(("B",)): ("B", "BS"),
}
_LIST: Final[frozenset[Tag]] = frozenset(("L",))
_MAP: Final[frozenset[Tag]] = frozenset(("M",))


def _is_position(part: str | int) -> TypeGuard[int]:
    return isinstance(part, int) and not isinstance(part, bool)


class _Sequence(Converter):
    """A list, a set or a tuple of any length: every member has the same converter."""

    __slots__ = ("_indexed", "_member")

    def __init__(self, member: Converter, *, indexed: bool, **contract: Any) -> None:
        super().__init__(**contract)
        self._member = member
        self._indexed = indexed

    def step(self, part: str | int) -> ValuePart | None:
        """Return the member at a position; sets have no positions."""
        return ValuePart(part, self._member) if self._indexed and _is_position(part) else None

    @property
    def member(self) -> Converter:
        """The converter of the members."""
        return self._member

    @property
    def levels(self) -> int | None:
        """One level more than the members have."""
        return one_deeper((self._member,))


class _Tuple(Converter):
    __slots__ = ("_members",)

    def __init__(self, members: Sequence[Converter], **contract: Any) -> None:
        super().__init__(**contract)
        self._members = tuple(members)

    def step(self, part: str | int) -> ValuePart | None:
        """Return the member at a position."""
        if _is_position(part) and 0 <= part < len(self._members):
            return ValuePart(part, self._members[part])
        return None

    @property
    def levels(self) -> int | None:
        """One level more than its deepest member has."""
        return one_deeper(self._members)


class _Map(Converter):
    __slots__ = ("_key", "_value")

    def __init__(self, key: MapKey, value: Converter, **contract: Any) -> None:
        super().__init__(**contract)
        self._key = key
        self._value = value

    def step(self, part: str | int) -> ValuePart | None:
        """Return the member of a key, given as the key itself or as its text."""
        try:
            return ValuePart(self._key.encode(part), self._value)
        except EncodeError:
            return ValuePart(part, self._value) if isinstance(part, str) else None

    @property
    def levels(self) -> int | None:
        """One level more than the values have."""
        return one_deeper((self._value,))


def set_of(member: Converter, *, frozen: bool = False, as_list: bool = False) -> Converter:
    """Return the converter of set or frozenset.

    A set of text, numbers or bytes is stored as a set, any other as a list; both in sorted order, so that equal sets
    are sent as equal bytes. DynamoDB has no empty sets: an empty one is stored as an empty list.

    Args:
        member: the converter of the members, exact.
        frozen: give back a frozenset.
        as_list: give back a list, of which Pydantic makes the set.
    """
    kind: type[Any] = frozenset if frozen else set
    label = f"{'frozenset' if frozen else 'set'}[{member.label}]"
    pair = _SET_TAGS.get(member.tags)
    return _Sequence(
        member,
        indexed=False,
        label=label,
        tags=_LIST if pair is None else frozenset((pair[1], "L")),
        encode=_plain_set_encoder(member, label) if pair is None else _set_encoder(member, label, *pair),
        decode=_set_decoder(member, list if as_list else kind, pair),
        decode_parts=set_parts(member, pair),
        types=(set, frozenset),
        description=_description_of_texts(member, kind, as_list=as_list),
    )


def _description_of_texts(member: Converter, kind: type[Any], *, as_list: bool) -> Description | None:
    """Return what the native codec is told of a set of text; None of other sets."""
    if member.decode is not STORED_TEXT:
        return None
    return Description("texts", kind if member.encode is encode_text else None, None if as_list else kind)


def list_of(member: Converter, *, accepts: tuple[type[Any], ...] = (list,), label: str = "list") -> Converter:
    """Return the converter of a list, or of another sequence that Pydantic makes from a list.

    Args:
        member: the converter of the elements.
        accepts: the types of sequence that are stored.
        label: their name.
    """
    label = f"{label}[{member.label}]"
    return _Sequence(
        member,
        indexed=True,
        label=label,
        tags=_LIST,
        encode=_list_encoder(member, label, accepts),
        decode=_list_decoder(member.decode, list),
        decode_parts=list_parts(repeat(member)),
        types=accepts,
        description=Description("list", accepts[0], inner=(member,)),
    )


def variadic_tuple_of(member: Converter) -> Converter:
    """Return the converter of ``tuple[member, ...]``."""
    label = f"tuple[{member.label}, ...]"
    return _Sequence(
        member,
        indexed=True,
        label=label,
        tags=_LIST,
        encode=_list_encoder(member, label, (tuple,)),
        decode=_list_decoder(member.decode, tuple),
        decode_parts=list_parts(repeat(member)),
        types=(tuple,),
        description=Description("list", tuple, tuple, inner=(member,)),
    )


def tuple_of(members: Sequence[Converter]) -> Converter:
    """Return the converter of a tuple with a fixed number of members, each of its own type."""
    label = f"tuple[{', '.join(member.label for member in members)}]"
    return _Tuple(
        members,
        label=label,
        tags=_LIST,
        encode=_tuple_encoder([member.encode for member in members], label, (tuple,)),
        decode=_tuple_decoder([member.decode for member in members]),
        decode_parts=list_parts(members),
        types=(tuple,),
    )


def map_of(
    key: MapKey, value: Converter, *, accepts: tuple[type[Any], ...] = (dict,), label: str = "dict"
) -> Converter:
    """Return the converter of a dict, or of another mapping that Pydantic makes from a dict.

    Args:
        key: how the keys are written as text.
        value: the converter of the values.
        accepts: the types of mapping that are stored.
        label: their name.
    """
    label = f"{label}[{key.label}, {value.label}]"
    return _Map(
        key,
        value,
        label=label,
        tags=_MAP,
        encode=_map_encoder(key, value, label, accepts),
        decode=_map_decoder(key, value.decode, label),
        decode_parts=map_parts(key, value, label),
        types=accepts,
        description=Description("map", dict if dict in accepts else None, inner=(value,)) if key is TEXT_KEY else None,
    )


def only_text(members: Iterable[Any]) -> bool:
    """Return whether all members are text, and not of a subclass of it."""
    for each in members:  # noqa: SIM110 - a third of what all() costs for sets of the usual size (benchmarks: encode)
        if type(each) is not str:
            return False
    return True


def _set_encoder(member: Converter, label: str, tag: str, set_tag: str) -> Callable[[Any], AttributeValue]:
    encode_member: Any = member.encode

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, set | frozenset):
            raise refusal(label, value)
        if not value:
            return {"L": []}
        if encode_member is encode_text and only_text(cast("set[Any]", value)):
            return {"SS": sorted(cast("set[str]", value))}
        # Members that differ in Python may be one number to DynamoDB, which refuses duplicates.
        texts = sorted({encode_member(element)[tag] for element in cast("set[Any]", value)})
        return cast("AttributeValue", {set_tag: texts})

    return encode


def _plain_set_encoder(member: Converter, label: str) -> Callable[[Any], AttributeValue]:
    encode_member = member.encode

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, set | frozenset):
            raise refusal(label, value)
        return {"L": sorted(map(encode_member, cast("set[Any]", value)), key=repr)}

    return encode


def _set_decoder(member: Converter, kind: Callable[[Any], Any], pair: tuple[str, str] | None) -> Decode:
    decode_member: Any = member.decode

    def decode_list(value: Any) -> Any:
        return kind([decode_member(element) for element in value["L"]])

    if pair is None:
        return decode_list
    tag, set_tag = pair
    stored_members: Callable[[AttributeValue], Any] = itemgetter(set_tag)

    def decode_texts(value: Any) -> Any:
        return kind(stored_members(value)) if "L" not in value else decode_list(value)

    if kind is list and member.decode is STORED_TEXT:
        return stored_members  # the list as it arrived; an empty set, stored as a list, is decoded by its own type

    def decode(value: Any) -> Any:
        if "L" in value:
            return decode_list(value)
        return kind([decode_member({tag: element}) for element in stored_members(value)])

    return decode_texts if member.decode is STORED_TEXT else decode


def _list_encoder(member: Converter, label: str, accepts: tuple[type[Any], ...]) -> Callable[[Any], AttributeValue]:
    encode_member = member.encode

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, accepts):
            raise refusal(label, value)
        return {"L": _elements(repeat(encode_member), value)}

    return encode


def _elements(encoders: Iterable[Callable[[Any], AttributeValue]], values: Iterable[Any]) -> list[AttributeValue]:
    """Return encoded elements; the error of one tells its position."""
    elements: list[AttributeValue] = []
    try:
        for encode, value in zip(encoders, values, strict=False):
            elements.append(encode(value))  # its length tells which element fails
    except EncodeError as error:
        raise error.at(len(elements)) from error.__cause__
    return elements


def _list_decoder(decode_member: Decode, kind: Callable[[Any], Any]) -> Decode:
    def decode(value: Any) -> Any:
        return kind(map(decode_member, value["L"]))

    def decode_tagged(value: Any) -> Any:  # in half the time of the other (benchmarks: decode)
        return [element[tag] for element in value["L"]]

    tag = AS_STORED.get(decode_member)
    return decode if kind is not list or tag is None else decode_tagged


def _tuple_encoder(
    encoders: Sequence[Callable[[Any], AttributeValue]], label: str, accepts: tuple[type[Any], ...]
) -> Callable[[Any], AttributeValue]:
    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, accepts) or len(value) != len(encoders):
            raise refusal(label, value)
        return {"L": _elements(encoders, value)}

    return encode


def _tuple_decoder(decoders: Sequence[Decode]) -> Decode:
    def decode(value: Any) -> tuple[Any, ...]:
        stored = value["L"]
        if len(stored) != len(decoders):
            raise ValueError(f"expected {len(decoders)} elements, got {len(stored)}")
        return tuple([decode(element) for decode, element in zip(decoders, stored, strict=True)])

    return decode


def _map_encoder(
    key: MapKey, value: Converter, label: str, accepts: tuple[type[Any], ...]
) -> Callable[[Any], AttributeValue]:
    key_text, encode_member = key.encode, value.encode

    def encode(mapping: Any) -> AttributeValue:
        if not isinstance(mapping, accepts):
            raise refusal(label, mapping)
        try:
            members = {key_text(name): encode_member(member) for name, member in mapping.items()}
        except EncodeError:
            members = _encode_each(mapping, key_text, encode_member)
        if len(members) != len(mapping):
            raise EncodeError("two keys of the map would be stored as the same text; use keys whose texts differ")
        return {"M": members}

    return encode


def _encode_each(
    mapping: Mapping[Any, Any], key_text: Callable[[Any], str], encode_member: Callable[[Any], AttributeValue]
) -> dict[str, AttributeValue]:
    """Return encoded members; the error of one tells its key."""
    members: dict[str, AttributeValue] = {}
    for key, member in mapping.items():
        name = key_text(key)
        try:
            members[name] = encode_member(member)
        except EncodeError as error:
            raise error.at(name) from error.__cause__
    return members


def _map_decoder(key: MapKey, decode_member: Decode, label: str) -> Decode:
    read_key = key.decode

    def decode(value: Any) -> Any:
        return {name: decode_member(member) for name, member in value["M"].items()}

    def decode_keys(value: Any) -> Any:
        stored = value["M"]
        return with_all({read_key(name): decode_member(member) for name, member in stored.items()}, stored, label)

    return decode if read_key is str else decode_keys
