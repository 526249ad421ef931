"""Counters: where the numbers of ``attr(autoincrement=True)`` come from."""

from __future__ import annotations

import hashlib
from typing import Any, Final, final

from dynamap_async.codec import DECODE_ERRORS
from dynamap_async.errors import DecodeError, ModelDefinitionError, OperationError, ResourceNotFoundError, ServiceError
from dynamap_async.models import Definition, KeyValue, Model, Role, definition_of, key_from_values, key_text
from dynamap_async.operations.library_table import OWN_TABLE_NAME, own_target
from dynamap_async.operations.operation import SingleRequest
from dynamap_async.planning import Context, positive
from dynamap_async.request import Request
from dynamap_async.schema import RecordKind
from dynamap_async.wire import Body

_LAST: Final = "n"
_LAST_ONLY: Final = frozenset({_LAST})
_LONGEST_PARTITION_BYTES: Final = 1024


@final
class Reserve(SingleRequest[range]):
    """Take numbers from the counter of a model; nobody else ever gets them. The result is their range.

    If an answer was lost, more numbers are taken and the first ones are left out.

    Cost: one UpdateItem on the library's own table, one write unit, however many numbers.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.AtomicCounters
    """

    __slots__ = ("_count", "_counter", "_definition")

    def __init__(self, model: type[Model], count: int, partition: KeyValue | None = None, /) -> None:
        """Create the reservation of numbers; nothing is sent yet.

        Args:
            model: a model with ``attr(autoincrement=True)``.
            count: how many numbers.
            partition: the partition key's value, where the sort key is numbered: each partition counts for itself.

        Raises:
            ModelDefinitionError: the model numbers nothing.
            OperationError: the count is no whole number from 1 on, or the partition is missing or superfluous.
            EncodeError: the partition key's value is of the wrong type.
        """
        self._definition: Definition[Any] = definition_of(model)
        self._count = positive(count, "the count of numbers")
        self._counter = counter_of(self._definition, () if partition is None else (partition,))

    def __repr__(self) -> str:
        return f"Reserve({self._definition.model.__name__}, {self._count})"

    def request(self, context: Context) -> Request:
        """Return the UpdateItem request. To send it again does no harm: the numbers taken before are lost.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        target = own_target(context.tables, self._counter)
        table = context.tables.full(OWN_TABLE_NAME)
        body = {
            "TableName": table,
            "Key": target.key,
            "UpdateExpression": "ADD #n :count",
            "ExpressionAttributeNames": {"#n": _LAST},
            "ExpressionAttributeValues": {":count": {"N": str(self._count)}},
            "ReturnValues": "UPDATED_NEW",
        }
        return Request(operation="UpdateItem", body=body, table=table, target=target, writes=True, required=_LAST_ONLY)

    def result(self, response: Body, context: Context) -> range:
        """Return the numbers.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            DecodeError: the counter is no whole number.
        """
        counted: Any = response["Attributes"][_LAST]
        try:
            last = int(counted["N"])
        except DECODE_ERRORS as error:
            raise DecodeError(f"the counter of {self._definition.model.__name__} is not a whole number") from error
        return range(last - self._count + 1, last + 1)

    def failed(self, error: ServiceError) -> Exception:
        """Return the error; if the table is missing, with the remedy.

        Args:
            error: the refusal.
        """
        if isinstance(error, ResourceNotFoundError):
            error.add_note(
                f"{error.table} has the counters of {self._definition.model.__name__}; create it with "
                f"session.tables.create({self._definition.model.__name__})"
            )
        return error


def counter_of(definition: Definition[Any], partition: tuple[Any, ...]) -> str:
    """Return the identity of a model's counter in the library's own table.

    Args:
        definition: the model.
        partition: the partition key's value, where the sort key is numbered.

    Raises:
        ModelDefinitionError: the model numbers nothing.
        OperationError: the partition is missing or superfluous.
        EncodeError: the partition key's value is of the wrong type.
    """
    name = definition.model.__name__
    field, key = definition.numbered, definition.numbered_key
    if field is None or key is None:
        raise ModelDefinitionError(f"{name} has no field with attr(autoincrement=True)", model=name)
    # In a shared table several models may number parts of one key, which their templates tell apart.
    part = () if key.template is None else (key.template.pattern,)
    identity = RecordKind.COUNTER.key(definition.require_table("numbered").name, key.stored, *part)
    if key.role is Role.PARTITION_KEY:
        if partition:
            held = "is" if key is field else "is a part of"
            raise OperationError(
                f"{name}.{field.name} {held} the partition key, so there is one counter; drop {partition}"
            )
        return identity
    first = definition.key_fields()[0]
    if not partition:
        raise OperationError(f"each partition of {name} has its own counter; give the value of {first.name}")
    stored = key_from_values(name, (first,), partition)[first.stored]
    text = key_text((stored,))
    # A partition key's value may be as long as the whole key of the counter.
    if len(text.encode()) > _LONGEST_PARTITION_BYTES:
        text = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return f"{identity}#{text}"
