"""Changes of items, as streams tell them: of GetRecords, of AWS Lambda's events, of Kinesis. Values only, no I/O.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html and
https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

from __future__ import annotations

import binascii
import contextlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Generic, Literal, TypeAlias, TypedDict, TypeVar, cast, overload

from dynamap_async.codec import decode_any, wire_item
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ItemKindError, OperationError
from dynamap_async.models import Definition, Model, Table, definition_of
from dynamap_async.native.json_text import read_json
from dynamap_async.planning import UnknownItem
from dynamap_async.wire import AttributeValue

__all__ = [
    "BatchItemFailures",
    "ChangeDecoder",
    "ItemChange",
    "UnknownKinds",
    "batch_item_failures",
    "decode_changes",
]

M_co = TypeVar("M_co", bound=Model | UnknownItem, covariant=True)
A = TypeVar("A", bound=Model)
B = TypeVar("B", bound=Model)
C = TypeVar("C", bound=Model)
D = TypeVar("D", bound=Model)

UnknownKinds: TypeAlias = Literal["raise", "keep"]
"""What an item of no known model of a shared table becomes: an ItemKindError, or an UnknownItem."""

_IMAGES: Final = {"new": ("NewImage", "REMOVE", "NEW"), "old": ("OldImage", "INSERT", "OLD")}
"""Which image -> its name in a record, the kind of change that has none, and what names of view types with it hold."""
_SERVICE: Final = "dynamodb.amazonaws.com"
"""Who deletes expired items. The user identity of other deletions is absent."""
_SETS: Final = ("SS", "NS", "BS")
_PER_SECOND: Final = {"MILLISECOND": 1e3, "MICROSECOND": 1e6}
"""The precision of times in Kinesis -> how many of it are a second."""


@dataclass(frozen=True, eq=False)
class ItemChange(Generic[M_co]):
    """One change of one item. Its images are read when they are looked at, so that a faulty one fails by itself."""

    event: Literal["INSERT", "MODIFY", "REMOVE"]
    """Whether the item is new, was changed, or was deleted."""
    sequence_number: str
    """The place of the change in its shard; what Lambda wants of a record that failed."""
    at: datetime | None
    """When it was made, to the second or the minute; None where the record does not say."""
    expired: bool
    """Whether DynamoDB deleted the item because its time to live had passed.

    In a replica of a global table such a deletion looks like any other.
    """
    wire_record: Mapping[str, Any] = field(repr=False)
    """The record as it came."""
    models: tuple[type[Model], ...] = field(repr=False)
    """The models that were asked for."""
    shard_id: str | None = None
    """The shard that it was read from; None where that is not told, as by Lambda."""
    unknown: UnknownKinds = field(default="raise", repr=False)
    """What an item of no known model becomes."""

    @cached_property
    def new(self) -> M_co | None:
        """The item after the change; None where it was deleted.

        Raises:
            ItemValidationError: the image does not fit its model.
            ItemKindError: the item is of no model that is known.
            OperationError: the stream holds no new images.
        """
        return self._item("new")

    @cached_property
    def old(self) -> M_co | None:
        """The item before the change; None where it is new.

        Raises:
            ItemValidationError: the image does not fit its model.
            ItemKindError: the item is of no model that is known.
            OperationError: the stream holds no old images.
        """
        return self._item("old")

    @cached_property
    def changed(self) -> frozenset[str]:
        """The names of the fields that differ between ``old`` and ``new``; of one of them alone, all that it has.

        What no field holds goes by the name of its attribute. No image is decoded for it.

        Raises:
            OperationError: the stream does not hold both images.
        """
        old, new = self._image("old") or {}, self._image("new") or {}
        names = {name for name in {**old, **new} if not _same(old.get(name), new.get(name))}
        known = {} if self.model is None else definition_of(self.model).field_names
        return frozenset(known.get(name, name) for name in names)

    @cached_property
    def key(self) -> dict[str, Any]:
        """The key of the item: stored attribute name -> Python value."""
        return {name: decode_any(value) for name, value in wire_item(self.wire_record["dynamodb"]["Keys"]).items()}

    @cached_property
    def model(self) -> type[Model] | None:
        """The model of the item; None where it is of no known one, or where keys alone do not tell."""
        return _model_of(self.wire_record["dynamodb"], self.models)

    @property
    def event_id(self) -> str:
        """What tells the change from all others, also where it arrives twice; empty where the record has none."""
        return str(self.wire_record.get("eventID") or "")

    @property
    def size_bytes(self) -> int:
        """The size of its key and images, as DynamoDB counts it; 0 where the record does not say."""
        return int(self.wire_record["dynamodb"].get("SizeBytes") or 0)

    @property
    def region(self) -> str | None:
        """The region whose stream told the change; in a global table each region's does."""
        return self.wire_record.get("awsRegion")

    @classmethod
    def from_kinesis(
        cls, record: Mapping[str, Any], /, *models: type[Model], unknown: UnknownKinds = "raise"
    ) -> ItemChange[Any]:
        """Return the change that a record of a Kinesis data stream holds, to which a table sends its changes.

        There they may arrive twice, and in another order than they were made in; ``at`` has the order of one item.

        Args:
            record: as Lambda passes it, or as boto3's ``get_records`` of Kinesis gives it.
            models: the model of the table, or models that share it.
            unknown: what an item of no known model becomes: ``"raise"`` raises when an image is looked at, ``"keep"``
                gives it as an ``UnknownItem``.

        Raises:
            OperationError: it holds no change of an item, or the models are of several tables.
        """
        outer: Mapping[str, Any] = record.get("kinesis") or record
        data: Any = outer.get("data", outer.get("Data"))
        inner: Any = None
        with contextlib.suppress(binascii.Error, ValueError, TypeError):
            inner = read_json(b64decode(data, validate=True) if isinstance(data, str) else data)
        if not _is_record(inner):
            raise OperationError(
                "this is no record of a Kinesis stream that a table sends its changes to: its data is not the JSON of "
                "a change of an item"
            )
        number = str(outer.get("sequenceNumber", outer.get("SequenceNumber", "")))
        change: dict[str, Any] = {"SequenceNumber": number, **inner["dynamodb"]}
        per_second = _PER_SECOND.get(change.get("ApproximateCreationDateTimePrecision", "MILLISECOND"), 1e3)
        if (time := change.get("ApproximateCreationDateTime")) is not None:
            change["ApproximateCreationDateTime"] = time / per_second
        return ChangeDecoder(models, unknown).change({**inner, "dynamodb": change})

    def _item(self, which: str) -> M_co | None:
        """Return the item of one of the record's two images; errors are those of ``new`` and ``old``."""
        image = self._image(which)
        return None if image is None else cast("M_co", _decoded(image, self.models, self.unknown))

    def _image(self, which: str) -> Mapping[str, Any] | None:
        """Return one of the record's two images; None where there is no such item."""
        name, without, view = _IMAGES[which]
        record = self.wire_record["dynamodb"]
        found: Mapping[str, Any] | None = record.get(name)
        if found is not None or self.event == without:
            return found
        raise OperationError(
            f"the record of {self.key} has no {name}: the stream's view type is "
            f"{record.get('StreamViewType', 'not told')}; create the stream with NEW_AND_OLD_IMAGES, or {view}_IMAGE"
        )


def _same(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Return whether two attribute values are equal. The members of a set have no order."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    return any(tag in one and tag in other and set(one[tag]) == set(other[tag]) for tag in _SETS)


class _FailedRecord(TypedDict):
    itemIdentifier: str


class BatchItemFailures(TypedDict):
    """What a function returns whose trigger has ``ReportBatchItemFailures``."""

    batchItemFailures: list[_FailedRecord]


def batch_item_failures(*changes: ItemChange[Model | UnknownItem]) -> BatchItemFailures:
    """Return what tells Lambda which changes failed: it sends again all from the first of them on, and none without.

    The trigger needs ``ReportBatchItemFailures`` among its ``FunctionResponseTypes``; without it Lambda takes any
    answer for success.

    Args:
        changes: those that failed, one after the other; none where all went well.

    Raises:
        OperationError: one is no change that ``decode_changes`` gave.
    """
    for change in changes:
        given: object = change  # whatever the checkers say
        if not isinstance(given, ItemChange):
            raise OperationError(f"{given!r} is not an ItemChange; for a list write batch_item_failures(*failed)")
    return {"batchItemFailures": [{"itemIdentifier": change.sequence_number} for change in changes]}


@overload
def decode_changes(event: Mapping[str, Any], a: type[A], /) -> list[ItemChange[A]]: ...
@overload
def decode_changes(event: Mapping[str, Any], a: type[A], b: type[B], /) -> list[ItemChange[A | B]]: ...
@overload
def decode_changes(event: Mapping[str, Any], a: type[A], b: type[B], c: type[C], /) -> list[ItemChange[A | B | C]]: ...
@overload
def decode_changes(
    event: Mapping[str, Any], a: type[A], b: type[B], c: type[C], d: type[D], /, *more: type[Model]
) -> list[ItemChange[Model]]: ...
@overload
def decode_changes(
    event: Mapping[str, Any], /, *models: type[A], unknown: Literal["keep"]
) -> list[ItemChange[A | UnknownItem]]: ...
def decode_changes(
    event: Mapping[str, Any], /, *models: type[Model], unknown: UnknownKinds = "raise"
) -> list[ItemChange[Any]]:
    """Return the changes that an event of a DynamoDB stream's trigger holds, in order.

    Of a shared table, changes of other models than those that are named are left out. An item of no known model is not:
    looking at its image raises ItemKindError, or gives an UnknownItem.

    Args:
        event: what Lambda passed to the function.
        models: the model of the table, or models that share it.
        unknown: what an item of no known model becomes: ``"raise"`` raises when an image is looked at, ``"keep"`` gives
            it as an ``UnknownItem``.

    Raises:
        OperationError: it is no such event, or the models are of several tables.
    """
    return ChangeDecoder(models, unknown).of_event(event)


def _is_record(record: Any) -> bool:
    return isinstance(record, Mapping) and "dynamodb" in record and "eventName" in record


class ChangeDecoder:
    """Makes changes of records.

    Args:
        models: the model of the table, or models that share it, or that table for all of its models.
        unknown: what an item of no known model becomes.

    Raises:
        OperationError: the models are none, or of several tables.
        ModelDefinitionError: one has no table.
    """

    def __init__(self, models: Iterable[type[Model] | Table], unknown: UnknownKinds = "raise") -> None:
        self.models: Final = tuple(
            model for each in models for model in (each.models.values() if isinstance(each, Table) else (each,))
        )
        self.definition: Definition[Any] = _definition_of_all(self.models)
        """The definition of the first of the models, which all have one table."""
        given: object = unknown
        if given not in ("raise", "keep"):
            raise OperationError(f"unknown={given!r}: write 'raise' or 'keep'")
        self._unknown: Final[UnknownKinds] = unknown
        self._shared: Final = self.definition.kinds is not None

    @property
    def table(self) -> str:
        """The name of the table, as the models declare it."""
        return self.definition.require_table("found in a stream").name

    def of_event(self, event: Mapping[str, Any]) -> list[ItemChange[Any]]:
        """Return the changes of an event of AWS Lambda.

        Args:
            event: what Lambda passed to the function.

        Raises:
            OperationError: it is no event of a stream.
        """
        given: Any = event
        whole: Any = given
        if not isinstance(given, Mapping) or not isinstance(whole.get("Records"), list):
            raise OperationError("this is not an event of a DynamoDB stream: it has no list of Records")
        if not all(map(_is_record, whole["Records"])):
            raise OperationError("this is not an event of a DynamoDB stream: a record lacks eventName or dynamodb")
        return list(self.changes(whole["Records"], shard_id=whole.get("shardId")))

    def changes(self, records: list[Mapping[str, Any]], *, shard_id: str | None = None) -> Iterator[ItemChange[Any]]:
        """Return the changes of these records that are of one of the models, or of none that is known, in order.

        Args:
            records: as Lambda or GetRecords gives them.
            shard_id: the shard that they were read from.
        """
        for record in records:
            if self.concerns(record):
                yield self.change(record, shard_id)

    def change(self, record: Mapping[str, Any], shard_id: str | None = None) -> ItemChange[Any]:
        """Return the change of a record.

        Args:
            record: as Lambda or GetRecords gives it.
            shard_id: the shard that it was read from.
        """
        change: Mapping[str, Any] = record["dynamodb"]
        return ItemChange(
            record["eventName"],
            str(change.get("SequenceNumber", "")),
            _time_of(change.get("ApproximateCreationDateTime")),
            record["eventName"] == "REMOVE" and _is_by_service(record.get("userIdentity")),
            record,
            self.models,
            shard_id,
            self._unknown,
        )

    def concerns(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record is of an item of these models, or of no known one.

        Args:
            record: as Lambda or GetRecords gives it.
        """
        if not self._shared:
            return True
        model = _model_of(record["dynamodb"], self.models)
        return model is None or issubclass(model, self.models)


def _is_by_service(identity: Mapping[str, Any] | None) -> bool:
    # Lambda spells the members principalId and type, GetRecords PrincipalId and Type.
    return identity is not None and _SERVICE in (identity.get("principalId"), identity.get("PrincipalId"))


def _time_of(given: float | datetime | None) -> datetime | None:
    """Return the time of a change: Lambda gives epoch seconds, and boto3's GetRecords a datetime."""
    if given is None or isinstance(given, datetime):
        return None if given is None else given.astimezone(UTC)
    return datetime.fromtimestamp(given, UTC)


def _definition_of_all(models: tuple[type[Model], ...]) -> Definition[Any]:
    definitions = [definition_of(model) for model in models]
    if not definitions:
        raise OperationError("this names no model whose changes are asked for; name that of the items, such as Order")
    tables = {id(each.kinds.table) if each.kinds is not None else each.model.__name__ for each in definitions}
    for each in definitions:
        each.require_table("found in a stream")
    if len(tables) > 1:
        names = " and ".join(model.__name__ for model in models)
        raise OperationError(f"{names} have several tables, and a stream belongs to one; name models of one table")
    return definitions[0]


def _model_of(change: Mapping[str, Any], models: tuple[type[Model], ...]) -> type[Model] | None:
    """Return the model of the item of a change; None where it is of no known one."""
    kinds = definition_of(models[0]).kinds
    if kinds is None:
        return models[0]
    # Streams with keys alone have no image, and some tables tell the kind by the keys.
    image: Mapping[str, AttributeValue] = change.get("NewImage") or change.get("OldImage") or change.get("Keys") or {}
    kind = kinds.table.kind_of(image)
    return None if kind is None else kinds.table.models.get(kind)


def _decoded(image: Mapping[str, Any], models: tuple[type[Model], ...], unknown: UnknownKinds) -> Model | UnknownItem:
    """Return the item of an image; errors are those of ``ItemChange.new``."""
    for model in models[:-1]:
        try:
            return model.from_wire(image)
        except ItemKindError:
            continue
    try:
        return models[-1].from_wire(image)
    except ItemKindError:
        kinds = definition_of(models[-1]).kinds
        if unknown == "raise" or kinds is None:
            raise
        kind = kinds.table.kind_of(image)
        return UnknownItem(kind if isinstance(kind, str) else None, wire_item(image))
