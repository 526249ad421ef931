"""Changing parts of one item."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Generic, Literal, NamedTuple, Self, cast, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.codec import decode_any, item_size
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DecodeError,
    ItemNotFoundError,
    OperationError,
    ServiceError,
)
from dynamap_async.expressions import Action, Condition, is_repeatable
from dynamap_async.models import Definition, KeyValue, Model, WriteKind, is_whole, known, take_over
from dynamap_async.operations.completing import completed, guards, known_after, move_on, value_of
from dynamap_async.operations.exactly_once import ExactlyOnce
from dynamap_async.operations.misfits import explained_misfit
from dynamap_async.operations.rendered import rendered
from dynamap_async.operations.resharding import resharded, shards_as_read
from dynamap_async.operations.rewriting import is_attribute, parts_as_read
from dynamap_async.operations.transact import key_values
from dynamap_async.operations.unique_after import unique_after, unique_attributes
from dynamap_async.operations.updating import Returning, Updatable, UpdateSpec, returning, update_spec
from dynamap_async.operations.write import UNKNOWN, Stored, Unknown, Write
from dynamap_async.operations.write_ids import write_id_of_update
from dynamap_async.planning import Context, revised
from dynamap_async.request import Request, Target
from dynamap_async.wire import Body, WireItem, WireKey

M = TypeVar("M")
R = TypeVar("R", default=M)
MA = TypeVar("MA", bound=Model)

_RETURN_VALUES: Final[dict[Returning, str]] = {
    "new": "ALL_NEW",
    "old": "ALL_OLD",
    "changed": "UPDATED_NEW",
    "nothing": "NONE",
}


class _Decided(NamedTuple):
    """What one execution of an update does. Functions of the model were called for it, and its instance was read."""

    actions: tuple[Action, ...]
    """What was asked, and what the library adds to it."""
    stored: tuple[Action, ...]
    """The same, with keys in their shards: what the item has then."""


def _decided(spec: UpdateSpec) -> _Decided:
    """Decide what one execution of an update does; errors are those of ``completed`` and ``resharded``."""
    actions = completed(spec)
    return _Decided(actions, actions if spec.definition.keys_are_plain else resharded(spec, actions))


class Update(Updatable[M], Write[R], Generic[M, R]):
    """Change parts of an item, named by its key or by an instance. The result is the item as it is then.

    An item that does not exist is an error, unless ``upsert()`` says otherwise. By key the version of a versioned model
    is counted on without a look; by an instance it must be the instance's own, and the instance moves on with the item.

    Cost: one UpdateItem; one write unit per KB of the larger of the old and the new item, whatever is changed of it,
    and the same for each index entry that changes. A refused update is charged too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
    """

    __slots__ = ("_execution", "spec")

    kind: WriteKind | None = "update"

    _execution: _Decided | None
    """What is done, once that is decided; see ``encoded``."""

    @overload
    def __init__(self: "Update[MA, MA]", item: MA, /) -> None: ...
    @overload
    def __init__(
        self: "Update[MA, MA]", model: type[MA], partition: KeyValue, sort: KeyValue | None = None, /
    ) -> None: ...
    def __init__(self, subject: Any, partition: KeyValue | None = None, sort: KeyValue | None = None, /) -> None:
        """Name the item; the update does nothing yet.

        Args:
            subject: the instance, or the model.
            partition: the partition key's value, after a model.
            sort: the sort key's value, where the table has one, after a model.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit.
        """
        self.spec: UpdateSpec = update_spec(subject, partition, sort)
        """What is asked."""
        self._execution = None

    def __repr__(self) -> str:
        return f"Update({self.spec})"

    @classmethod
    def of(cls, spec: UpdateSpec) -> Self:
        """Return the update that asks what a spec says."""
        update = object.__new__(cls)
        update.spec, update._execution = spec, None
        return update

    @property
    def _spec(self) -> UpdateSpec:
        return self.spec

    def _with(self, spec: UpdateSpec) -> Self:
        return type(self).of(spec)

    @overload
    def returning(self, values: Literal["new"], /) -> "Update[M, M]": ...
    @overload
    def returning(self, values: Literal["old"], /) -> "Update[M, M | None]": ...
    @overload
    def returning(self, values: Literal["changed"], /) -> "Update[M, dict[str, Any]]": ...
    @overload
    def returning(self, values: Literal["nothing"], /) -> "Update[M, None]": ...
    def returning(self, values: Returning, /) -> "Update[Any, Any]":
        """Return the update with another result.

        Args:
            values: ``"new"``, the item as it is then; ``"old"``, as it was before, None where there was none;
                ``"changed"``, field name -> value of what was changed; ``"nothing"``, None.

        Raises:
            OperationError: there is no such result.
        """
        return self._with(returning(self.spec, values))

    @property
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        return self.spec.definition

    @property
    def item(self) -> Model | None:
        """The instance that names the item, if one does."""
        return self.spec.item

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where it is not checked."""
        return self.spec.expected

    @property
    def guarded(self) -> bool:
        """Whether unique values may change."""
        if not self.definition.uniques:
            return False
        unique = unique_attributes(self.definition)
        return (self.spec.upserts and bool(unique)) or any(each.path.attribute in unique for each in self.spec.actions)

    @property
    def reads_first(self) -> bool:
        """Whether to read what is stored before the write, where the instance does not tell."""
        return self.spec.reads_first

    @property
    def brings_back(self) -> bool:
        """Whether the result is the item as it is then.

        Raises:
            OperationError: it is something that nobody can tell after a transaction.
        """
        if self.spec.returns in ("old", "changed"):
            raise OperationError(
                f"an update of a unique field is a transaction, which gives back nothing; drop "
                f'returning("{self.spec.returns}"), or read the item before'
            )
        return self.spec.returns == "new"

    @property
    def is_encoded(self) -> bool:
        """Whether the same is sent each time: neither functions of the model nor an instance have a part in it."""
        spec = self.spec
        return self._execution is not None or not (spec.item is not None or spec.upserts or spec.definition.assigned)

    def encoded(self) -> Self:
        """Return the same update for one execution: all values that it sends are decided."""
        return self._decided_as(self.spec, _decided(self.spec))

    def _decided_as(self, spec: UpdateSpec, execution: _Decided | None) -> Self:
        own = self._with(spec)
        own._execution = execution  # noqa: SLF001 - a new object of this class
        return own

    def before(self) -> Stored | Unknown:
        """Return what is known of the stored item: what was stored when the instance was read or written."""
        if self.spec.item is None or not is_whole(self.spec.item):
            return UNKNOWN
        return known(self.spec.item, self.definition).item

    def after(self, before: Stored) -> Stored:
        """Return the unique attributes, and the key, as they are stored after the update.

        Raises:
            OperationError: the update does not give one of them a constant, so only DynamoDB will know its value.
        """
        if before is None and not self.spec.upserts:
            return None
        actions = (self._execution or _decided(self.spec)).actions
        return {**unique_after(self.definition, actions, {} if before is None else dict(before)), **self.spec.key}

    def on_condition(self, *conditions: Condition) -> Self:
        """Return the same update with more conditions."""
        return self._decided_as(revised(self.spec, conditions=(*self.spec.conditions, *conditions)), self._execution)

    def exactly_once(self, *, client_request_token: str | None = None) -> ExactlyOnce[M]:
        """Return the same update, done once whatever answers get lost, at twice the write units. See ``ExactlyOnce``.

        Its result is None; ``then_get()`` reads the item behind it.
        """
        return ExactlyOnce(self, client_request_token=client_request_token)

    def request(self, context: Context) -> Request:
        """Return the UpdateItem request.

        It may be sent again after a lost answer if doing it twice leads to the same item, or if the version guards it:
        then it is done once, or refused. Otherwise only its write id, if the model has one, can tell what became of it.

        Raises:
            OperationError: the update changes nothing, or may make an item that could not be read.
            ExpressionError: it is larger than the service accepts.
        """
        spec = self.spec
        table = context.table_prefix + spec.definition.table_name(spec.key, "updated")
        asked, stored = self._execution or _decided(spec)
        actions: Sequence[Action] = stored
        conditions = guards(spec)
        if not spec.definition.keys_are_plain:
            kept = parts_as_read(spec, asked)
            conditions += kept
            conditions += tuple(each for each in shards_as_read(spec, asked) if each not in kept)
            actions = [each for each in stored if is_attribute(spec.definition, each)]
        conditions += spec.conditions
        members = rendered(spec.definition, actions, conditions)
        size = partial(item_size, members.get("ExpressionAttributeValues", {}))
        repeatable = spec.returns != "old" and all(map(is_repeatable, stored))
        return Request(
            operation="UpdateItem",
            body={
                "TableName": table,
                "Key": spec.key,
                **members,
                "ReturnValues": _RETURN_VALUES[spec.returns],
            },
            table=table,
            target=Target(spec.key, spec.definition.plain_keys.identity(table, spec.key), size),
            writes=True,
            conditional=bool(conditions),
            resendable=spec.expected is not None or repeatable,
            write_id=None if spec.definition.write_id is None else write_id_of_update(spec, stored),
        )

    def result(self, response: Body, context: Context) -> R:
        """Return what was asked for: the item as it is then, as it was before, or what was changed of it."""
        spec = self.spec
        stored: WireItem | None = response.get("Attributes")
        if spec.returns == "new" and stored is not None:
            return cast("R", self._moved_on(stored))
        self.acknowledged()
        if spec.returns == "changed":
            return cast("R", self._changed(stored or {}))
        if spec.returns == "old" and stored:
            return cast("R", spec.definition.items.decode([stored])[0])
        return cast("R", None)

    def acknowledged(self) -> None:
        """Give the instance what was changed, if that is known without the stored item.

        Otherwise (numbers added, elements appended, parts of fields) it keeps its values and its version, so that the
        next write of it is refused until it is read again. So does one of a frozen model, always.
        """
        item = self.spec.item
        frozen = item is None or item.model_config.get("frozen")
        found = None if frozen else known_after((self._execution or _decided(self.spec)).stored)
        if item is not None and found is not None:
            move_on(item, self.spec.definition, found)

    def read(self, result: Any) -> Sequence[Model]:
        """Return the item that was read, if the answer held one."""
        return (result,) if isinstance(result, Model) else ()

    def failed(self, error: ServiceError) -> Exception:
        """Return the error with the stored item; that of an update of nothing says that there is no item."""
        explained = super().failed(explained_misfit(error, self.spec.actions))
        missing = isinstance(error, ConditionalCheckFailedError) and error.wire_item is None
        return self._not_found(error) if missing and not self.spec.upserts else explained

    @property
    def takes_unversioned(self) -> bool:
        """Whether version 0 also stands for a stored item without a version: always."""
        return True

    def wire_key(self) -> WireKey:
        """Return the key of the item."""
        return self.spec.key

    def _not_found(self, error: ServiceError) -> ItemNotFoundError:
        definition = self.spec.definition
        name, key = definition.model.__name__, key_values(definition, self.spec.key)
        spelled = ", ".join(f"{field}={value!r}" for field, value in key.items())
        found = ItemNotFoundError(
            f"there is no {name} with {spelled}, so nothing was updated; .upsert() makes one", model=name, key=key
        )
        found.outcome_unknown = error.outcome_unknown
        return found

    def _moved_on(self, stored: WireItem) -> Model:
        fresh: Model = self.spec.definition.items.decode([stored])[0]
        item = self.spec.item
        if item is None or item.model_config.get("frozen"):
            return fresh
        take_over(item, fresh)
        return item

    def _changed(self, stored: WireItem) -> dict[str, Any]:
        definition = self.spec.definition
        in_part = {action.path.attribute for action in self.spec.actions if len(action.path.steps) > 1}
        try:
            return {
                name: decode_any(value) if attribute in in_part else value_of(definition.fields[name], value)
                for attribute, value in stored.items()
                if (name := definition.field_names.get(attribute)) is not None
            }
        except DecodeError as error:
            raise definition.items.failure({**stored, **self.spec.key}, error) from error
