"""Python value <-> attribute value, and how many bytes DynamoDB counts. Pure: no I/O, no event loop.

Of Pydantic it knows one value: ``MISSING``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.codec.anything import anything, own_text, through
from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.codec.choices import enum_of, literal_of
    from dynamap_async.codec.containers import list_of, map_of, set_of, tuple_of, variadic_tuple_of
    from dynamap_async.codec.converter import (
        ALL_TAGS,
        DECODE_ERRORS,
        MISSING,
        Absence,
        Converter,
        Decode,
        Description,
        FieldEncoding,
        ValuePart,
        deepest,
    )
    from dynamap_async.codec.deferred import Deferred
    from dynamap_async.codec.encode_errors import abbreviate, refusal
    from dynamap_async.codec.forms import (
        EPOCH_MILLISECONDS,
        EPOCH_SECONDS,
        JSON_TEXT,
        OwnText,
        StoredForm,
        TimeText,
        stored_as,
        time_text,
    )
    from dynamap_async.codec.images import wire_item
    from dynamap_async.codec.instants import ZONELESS, instant_text, parse_instant, to_epoch_seconds
    from dynamap_async.codec.map_keys import MapKey, map_key
    from dynamap_async.codec.native_codec import (
        Members,
        NativeDecode,
        NativeEncode,
        native_apart,
        native_decoder,
        native_encoder,
    )
    from dynamap_async.codec.nested import (
        EMPTY_SET,
        NULL,
        OMISSIONS,
        Field,
        Nested,
        Omissions,
        nested_of,
        omit,
        unless_missing,
    )
    from dynamap_async.codec.numbers import number_text, parse_number
    from dynamap_async.codec.plain import decode_any, encode_any, order_key, readable, readable_key
    from dynamap_async.codec.scalars import (
        STORED_NUMBER,
        binary,
        boolean,
        date,
        decimal,
        duration,
        encode_text,
        fits_keys,
        floating,
        instant,
        integer,
        null,
        secret,
        text,
        time,
        uuid,
    )
    from dynamap_async.codec.several_forms import SeveralForms, in_type
    from dynamap_async.codec.sizes import (
        KeyRole,
        binary_size,
        check_item,
        check_key_value,
        check_value,
        item_json,
        item_size,
        number_size,
        text_size,
        value_size,
    )
    from dynamap_async.codec.time_patterns import TimePattern
    from dynamap_async.codec.unions import Union, optional, tagged_union, union_of

__all__ = [
    "ALL_TAGS",
    "DECODE_ERRORS",
    "EMPTY_SET",
    "EPOCH_MILLISECONDS",
    "EPOCH_SECONDS",
    "JSON_TEXT",
    "MISSING",
    "NULL",
    "OMISSIONS",
    "STORED_NUMBER",
    "ZONELESS",
    "Absence",
    "Converter",
    "Decode",
    "Deferred",
    "Description",
    "Field",
    "FieldEncoding",
    "KeyRole",
    "MapKey",
    "Members",
    "NativeDecode",
    "NativeEncode",
    "Nested",
    "Omissions",
    "OwnText",
    "SeveralForms",
    "StoredForm",
    "TimePattern",
    "TimeText",
    "Union",
    "ValuePart",
    "abbreviate",
    "anything",
    "binary",
    "binary_size",
    "boolean",
    "check_item",
    "check_key_value",
    "check_value",
    "date",
    "decimal",
    "decode_any",
    "deepest",
    "duration",
    "encode_any",
    "encode_text",
    "enum_of",
    "fits_keys",
    "floating",
    "in_type",
    "instant",
    "instant_text",
    "integer",
    "item_json",
    "item_size",
    "list_of",
    "literal_of",
    "map_key",
    "map_of",
    "native_apart",
    "native_decoder",
    "native_encoder",
    "nested_of",
    "null",
    "number_size",
    "number_text",
    "omit",
    "optional",
    "order_key",
    "own_text",
    "parse_instant",
    "parse_number",
    "readable",
    "readable_key",
    "refusal",
    "secret",
    "set_of",
    "stored_as",
    "tagged_union",
    "text",
    "text_size",
    "through",
    "time",
    "time_text",
    "to_epoch_seconds",
    "tuple_of",
    "union_of",
    "unless_missing",
    "uuid",
    "value_size",
    "variadic_tuple_of",
    "wire_item",
]

_HOMES: Final = {
    "choices": "enum_of literal_of",
    "containers": "list_of map_of set_of tuple_of variadic_tuple_of",
    "converter": "ALL_TAGS DECODE_ERRORS MISSING Absence Converter Decode Description FieldEncoding ValuePart deepest",
    "deferred": "Deferred",
    "encode_errors": "abbreviate refusal",
    "forms": "EPOCH_MILLISECONDS EPOCH_SECONDS JSON_TEXT OwnText StoredForm TimeText stored_as time_text",
    "images": "wire_item",
    "instants": "ZONELESS instant_text parse_instant to_epoch_seconds",
    "map_keys": "MapKey map_key",
    "native_codec": "Members NativeDecode NativeEncode native_apart native_decoder native_encoder",
    "nested": "EMPTY_SET NULL OMISSIONS Field Nested Omissions nested_of omit unless_missing",
    "numbers": "number_text parse_number",
    "plain": "decode_any encode_any order_key readable readable_key",
    "scalars": (
        "STORED_NUMBER binary boolean date decimal duration encode_text fits_keys floating instant integer null secret "
        "text time uuid"
    ),
    "several_forms": "SeveralForms in_type",
    "sizes": (
        "KeyRole binary_size check_item check_key_value check_value item_json item_size number_size text_size "
        "value_size"
    ),
    "time_patterns": "TimePattern",
    "unions": "Union optional tagged_union union_of",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
