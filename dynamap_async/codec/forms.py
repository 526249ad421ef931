"""Other stored forms for a field, for tables that hold them already: ``attr(stored_as=...)``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from dynamap_async.codec.converter import Converter
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.instants import (
    from_epoch_milliseconds,
    from_epoch_seconds,
    is_naive,
    to_epoch_milliseconds,
    to_epoch_seconds,
)
from dynamap_async.codec.numbers import number_text
from dynamap_async.codec.plain import decode_any, encode_any, order_key
from dynamap_async.codec.time_patterns import TimePattern
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DecodeError, EncodeError, ModelDefinitionError
from dynamap_async.wire import AttributeValue, Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredForm:
    """A way to store a field's values that is not the usual one for its type.

    Example:
        >>> cents = StoredForm(name="cents", tag="N", encode=lambda price: int(price * 100), decode=lambda n: n / 100)
    """

    name: str
    """What messages call it."""

    tag: Tag
    """The stored type, such as ``"N"``."""

    encode: Callable[[Any], Any]
    """Python value -> what is stored: str for ``S``, a number or its text for ``N``, bytes for ``B``, and so on."""

    decode: Callable[[Any], Any]
    """What is stored (an int or Decimal for ``N``, bytes for ``B``) -> Python value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeText(StoredForm):
    """A form of times in text, which says how its texts look."""

    pattern: TimePattern


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnText(StoredForm):
    """The text that a type makes of its values itself."""

    sorts: bool
    """Whether the texts are known to sort as the values do."""

    places: tuple[str, ...] | None
    """The characters that each place of the texts may have, where that is known."""


def time_text(pattern: str, /, *, zone: tzinfo = UTC) -> TimeText:
    """Return the stored form of times that are written by a pattern, for ``attr(stored_as=...)``.

    ``time_text("%Y-%m-%dT%H:%M:%S")`` for ``2021-08-01T06:25:00``. It is for fields of datetimes with an offset; what
    the pattern does not have is cut off towards the past, and reads back as zero.

    Args:
        pattern: constant text, and ``%Y %m %d %H %M %S``, each with a fixed number of digits, ``%f`` for microseconds,
            ``%3f`` for milliseconds; ``%%`` for the sign itself.
        zone: the zone that is meant, because the text does not say it.

    Raises:
        ModelDefinitionError: the pattern has another directive, or none.
    """
    made = TimePattern(pattern, zone)
    try:
        parts = made.parts
    except ValueError as error:
        raise ModelDefinitionError(f"time_text: {error}", model="time_text") from None
    if "year" not in parts:
        raise ModelDefinitionError(
            f"time_text({pattern!r}) has no year, so no time could be read back; add %Y", model="time_text"
        )
    return TimeText(
        name=f"text like {made.picture}",
        tag="S",
        encode=made.write,
        decode=lambda text: made.read(text, datetime),
        pattern=made,
    )


class _InForm(Converter):
    """The converter of a field with another stored form."""

    __slots__ = ("_samples",)

    def __init__(self, samples: Sequence[Any], **contract: Any) -> None:
        super().__init__(**contract)
        self._samples = samples

    @property
    def ordered(self) -> bool:
        """Whether some sample values sort as they are stored; without samples, numbers are taken to."""
        if not self._samples:
            return self.tags <= {"N"}
        try:
            stored = [order_key(self.encode(sample)) for sample in self._samples]
        except EncodeError:
            return False
        return all(low < high for low, high in pairwise(stored))


def stored_as(
    form: StoredForm,
    *,
    label: str | None = None,
    to_plain: Callable[[Any], Any] | None = None,
    samples: Sequence[Any] = (),
) -> Converter:
    """Return the converter of a field with another stored form.

    Args:
        form: how the values are stored.
        label: the Python type's name; None takes the form's.
        to_plain: applied before ``form.encode``, for values that only Pydantic can dump.
        samples: values of the type in ascending order, which tell whether what is stored sorts as they do.
    """
    tag: Any = form.tag

    def encode(value: Any) -> AttributeValue:
        try:
            content = form.encode(value if to_plain is None else to_plain(value))
            stored: AttributeValue = {"N": _any_number_text(content)} if tag == "N" else encode_any(content)
        except EncodeError:
            raise
        except Exception as error:
            raise refusal(form.name, value, str(error)) from error
        if tag not in stored:
            raise EncodeError(
                f"stored form {form.name} declares type {tag}, but its encode() returned {'/'.join(stored)}"
            )
        return stored

    def decode(value: Any) -> Any:
        content: Any = {tag: value[tag]}
        try:
            return form.decode(decode_any(content))
        except Exception as error:
            # Never left for Pydantic to judge, which knows nothing of the form and takes what is stored for the value.
            raise DecodeError(f"stored form {form.name} cannot be read: {error}") from error

    return _InForm(samples, label=label or form.name, tags=frozenset((form.tag,)), encode=encode, decode=decode)


def _any_number_text(content: Any) -> str:
    return number_text(Decimal(content) if isinstance(content, str) else content)


def _aware(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise refusal("datetime", value)
    if is_naive(value):
        raise refusal("datetime with a time zone", value, "epoch time needs a time zone: add tzinfo=UTC")
    return value


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


EPOCH_SECONDS: Final = StoredForm(
    name="epoch seconds",
    tag="N",
    encode=lambda value: to_epoch_seconds(_aware(value)),
    decode=from_epoch_seconds,
)
"""A datetime as whole seconds since 1970, cut off towards the past: what DynamoDB's time to live needs."""

EPOCH_MILLISECONDS: Final = StoredForm(
    name="epoch milliseconds",
    tag="N",
    encode=lambda value: to_epoch_milliseconds(_aware(value)),
    decode=from_epoch_milliseconds,
)
"""A datetime as whole milliseconds since 1970, cut off towards the past."""

JSON_TEXT: Final = StoredForm(name="JSON text", tag="S", encode=_dump_json, decode=json.loads)
"""Any JSON-serialisable value as text. The standard library's json, because ``read_json`` refuses NaN, which was
stored."""
