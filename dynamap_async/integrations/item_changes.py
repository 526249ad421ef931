"""Changes of items, as the trigger of a DynamoDB stream hands them to an AWS Lambda function. Values only, no I/O.

Source: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Generic, Literal, TypedDict, TypeVar, cast, overload

from dynamap_async.codec import decode_any, wire_item
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ItemKindError, OperationError
from dynamap_async.models import Model, definition_of

__all__ = ["BatchItemFailures", "ItemChange", "batch_item_failures", "decode_changes"]

M_co = TypeVar("M_co", bound=Model, covariant=True)
A = TypeVar("A", bound=Model)
B = TypeVar("B", bound=Model)
C = TypeVar("C", bound=Model)
D = TypeVar("D", bound=Model)

_IMAGES = {"new": ("NewImage", "REMOVE", "NEW"), "old": ("OldImage", "INSERT", "OLD")}
"""Which image -> its name in a record, the kind of change that has none, and what names of view types with it hold."""


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
    """Whether DynamoDB deleted the item because its time to live had passed."""
    wire_record: Mapping[str, Any] = field(repr=False)
    """The record, as Lambda passed it."""
    models: tuple[type[Model], ...] = field(repr=False)
    """The models that were asked for."""

    @cached_property
    def new(self) -> M_co | None:
        """The item after the change; None where it was deleted.

        Raises:
            ItemValidationError: the image does not fit its model.
            ItemKindError: the item is of no model that is known.
            OperationError: the stream holds no new images.
        """
        return self._image("new")

    @cached_property
    def old(self) -> M_co | None:
        """The item before the change; None where it is new.

        Raises:
            ItemValidationError: the image does not fit its model.
            ItemKindError: the item is of no model that is known.
            OperationError: the stream holds no old images.
        """
        return self._image("old")

    @cached_property
    def key(self) -> dict[str, Any]:
        """The key of the item: stored attribute name -> Python value."""
        return {name: decode_any(value) for name, value in wire_item(self.wire_record["dynamodb"]["Keys"]).items()}

    def _image(self, which: str) -> M_co | None:
        """Return the item of one of the record's two images; errors are those of ``new`` and ``old``."""
        name, without, view = _IMAGES[which]
        record = self.wire_record["dynamodb"]
        if name in record:
            return cast("M_co", _decoded(record[name], self.models))
        if self.event == without:
            return None
        raise OperationError(
            f"the record of {self.key} has no {name}: the stream's view type is "
            f"{record.get('StreamViewType', 'not told')}; create the stream with NEW_AND_OLD_IMAGES, or {view}_IMAGE"
        )


class _FailedRecord(TypedDict):
    itemIdentifier: str


class BatchItemFailures(TypedDict):
    """What a function returns whose trigger has ``ReportBatchItemFailures``."""

    batchItemFailures: list[_FailedRecord]


def batch_item_failures(*changes: ItemChange[Model]) -> BatchItemFailures:
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
def decode_changes(event: Mapping[str, Any], /, *models: type[Model]) -> list[ItemChange[Any]]:
    """Return the changes that an event of a DynamoDB stream's trigger holds, in order.

    Of a shared table, changes of other models than those that are named are left out. An item of no known model is not:
    looking at its image raises ItemKindError.

    Args:
        event: what Lambda passed to the function.
        models: the model of the table, or models that share it.

    Raises:
        OperationError: it is no such event, or the models are of several tables.
    """
    _check_models(models)
    given: Any = event
    whole: Any = given
    if not isinstance(given, Mapping) or not isinstance(whole.get("Records"), list):
        raise OperationError("this is not an event of a DynamoDB stream: it has no list of Records")
    changes: list[ItemChange[Any]] = []
    for record in whole["Records"]:
        if not isinstance(record, Mapping) or "dynamodb" not in record or "eventName" not in record:
            raise OperationError("this is not an event of a DynamoDB stream: a record lacks eventName or dynamodb")
        made = _change(cast("Mapping[str, Any]", record), models)
        if _concerns(made.wire_record["dynamodb"], models):
            changes.append(made)
    return changes


def _change(record: Mapping[str, Any], models: tuple[type[Model], ...]) -> ItemChange[Any]:
    change: Mapping[str, Any] = record["dynamodb"]
    # Lambda spells the members principalId and type, GetRecords PrincipalId and Type.
    identity: Mapping[str, Any] = record.get("userIdentity") or {}
    by = {name.lower(): each for name, each in identity.items()}
    return ItemChange(
        event=record["eventName"],
        sequence_number=str(change.get("SequenceNumber", "")),
        at=_time_of(change.get("ApproximateCreationDateTime")),
        # DynamoDB deletes expired items under the name of its service; the user identity of other deletions is absent.
        expired=record["eventName"] == "REMOVE" and by.get("principalid") == "dynamodb.amazonaws.com",
        wire_record=record,
        models=models,
    )


def _time_of(given: float | datetime | None) -> datetime | None:
    """Return the time of a change: Lambda gives epoch seconds, and boto3's GetRecords a datetime."""
    if given is None or isinstance(given, datetime):
        return None if given is None else given.astimezone(UTC)
    return datetime.fromtimestamp(given, UTC)


def _check_models(models: tuple[type[Model], ...]) -> None:
    definitions = [definition_of(model) for model in models]
    if not definitions:
        raise OperationError("decode_changes(event) names no model; write decode_changes(event, Order)")
    tables = {id(each.kinds.table) if each.kinds is not None else each.model.__name__ for each in definitions}
    for each in definitions:
        each.require_table("found in a stream")
    if len(tables) > 1:
        names = " and ".join(model.__name__ for model in models)
        raise OperationError(f"{names} have several tables, and a stream belongs to one; name models of one table")


def _concerns(change: Mapping[str, Any], models: tuple[type[Model], ...]) -> bool:
    """Return whether a change is of an item of these models, or of no known one."""
    kinds = definition_of(models[0]).kinds
    if kinds is None:
        return True
    # Streams with keys alone have no image, and some tables tell the kind by the keys.
    image: Mapping[str, Any] = change.get("NewImage") or change.get("OldImage") or change.get("Keys") or {}
    kind = kinds.table.kind_of(image)
    model = None if kind is None else kinds.table.models.get(kind)
    return model is None or issubclass(model, models)


def _decoded(image: Mapping[str, Any], models: tuple[type[Model], ...]) -> Model:
    """Return the instance of an image; errors are those of ``ItemChange.new``."""
    for model in models[:-1]:
        try:
            return model.from_wire(image)
        except ItemKindError:
            continue
    return models[-1].from_wire(image)
