"""Changing parts of one item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Generic, Literal, NamedTuple, Self, cast, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.codec import decode_any, item_size
from dynamap_async.dataclass import replace_fields
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DecodeError,
    ItemNotFoundError,
    OperationError,
    RequestRejectedError,
    ServiceError,
)
from dynamap_async.expressions import (
    Action,
    Add,
    Condition,
    DeleteElements,
    FunctionCall,
    Path,
    Placeholders,
    RenderedMembers,
    Set,
    SetOperand,
    Sum,
    is_repeatable,
    render_update,
    update_shape_and_values,
)
from dynamap_async.models import Definition, KeyValue, Model, WriteKind, is_whole, known, take_over
from dynamap_async.operations.implied_actions import completed, guards, known_after, move_on, value_of
from dynamap_async.operations.key_changes import (
    is_attribute,
    parts_as_read,
    resharded,
    shards_as_read,
    sources_as_before,
    stored_of,
)
from dynamap_async.operations.keywords import no_key_keywords
from dynamap_async.operations.operation import key_values
from dynamap_async.operations.transactions import ExactlyOnce
from dynamap_async.operations.unique_values import unique_after, unique_attributes
from dynamap_async.operations.updatable import Returning, Updatable, UpdateSpec, returning, update_spec
from dynamap_async.operations.write import UNKNOWN, Stored, Unknown, Write, condition_members, refused_for_later
from dynamap_async.operations.write_ids import write_id_of_update
from dynamap_async.planning import Context
from dynamap_async.request import Request, Target
from dynamap_async.wire import Body, WireItem, WireKey

M = TypeVar("M")
R = TypeVar("R", default=M)
MA = TypeVar("MA", bound=Model)


def _remedy(error: ServiceError, actions: Sequence[Action]) -> str:
    """Return what helps where DynamoDB refuses an update for what is stored, or is not; no text for other refusals.

    Args:
        error: the refusal. The service and local engines word it alike but for capitals.
        actions: what the update does.
    """
    said = str(error).lower() if isinstance(error, RequestRejectedError) else ""
    if "incorrect data type" in said or "incorrect operand type" in said:
        if changed := list(dict.fromkeys(map(str, _changed_in_place(actions)))):
            return (
                f"DynamoDB adds only numbers to numbers, and members to sets. {' or '.join(changed)} holds something "
                "else: perhaps text that another program wrote, or the NULL or list that is stored for None or an "
                f"empty set. Set a value first: .set({changed[0]}, value)"
            )
    elif "document path" in said:
        if inside := [action.path for action in actions if action.path.parents]:
            parents = list(dict.fromkeys(parent for path in inside for parent in path.parents))
            return (
                f"The item does not have {' or '.join(map(str, parents))}, in which the update changes "
                f"{' and '.join(map(str, inside))}, and DynamoDB does not make it. Make what may be missing first, "
                f"each in an update of its own: {', then '.join(map(_made, parents))}"
            )
    elif "does not exist in the item" in said and (read := [path for each in actions for path in _read(each)]):
        return (
            f"The item does not have {' or '.join(dict.fromkeys(map(str, read)))}, whose value the update takes. Say "
            f"what it is where there is none: {_operators(read[0])}.if_not_exists(value)"
        )
    return ""


def _made(path: Path) -> str:
    """Return the code of the action that gives a path the empty value of its type, where it has none."""
    tags, spelled = path.converter.tags, _operators(path)
    label = path.converter.label.partition(" ")[0]
    empty = f"{label}(...)" if path.converter.names else "{}" if "M" in tags else "[]"
    return f".set({spelled}, {spelled}.if_not_exists({empty}))"


def _operators(path: Path) -> str:
    """Return the code of the operators of a path."""
    return f"path({path})" if path.converter.document else str(path)


def _read(made: Action | SetOperand) -> Iterator[Path]:
    """Yield the paths whose values an update takes as they are, so that they must be there."""
    match made:
        case Path():
            yield made
        case Set(source=source):
            yield from _read(source)
        case Sum(left=left, right=right):
            yield from _read(left)
            yield from _read(right)
        case _:
            pass


def _changed_in_place(actions: Iterable[Action]) -> Iterable[Path]:
    for action in actions:
        match action:
            case (
                Add(path=path)
                | DeleteElements(path=path)
                | Set(path=path, source=Sum() | FunctionCall(name="list_append"))
            ):
                yield path
            case _:
                pass


def rendered(
    definition: Definition[Any], actions: Sequence[Action], conditions: tuple[Condition, ...]
) -> dict[str, Any]:
    """Return the members of an UpdateItem request that its actions and conditions make.

    What is rendered is kept with the model and filled with other values the next time, at a third of the cost
    (benchmarks: update_one).

    Args:
        definition: the model.
        actions: what the update does.
        conditions: what must hold of the stored item.

    Raises:
        ExpressionError: an expression is larger than the service accepts.
    """
    try:
        shape, values = update_shape_and_values(actions, conditions)
    except KeyError:
        return _rendered_anew(actions, conditions)
    kept: RenderedMembers | None = definition.compiled.get(shape)
    if kept is not None and (filled := kept.with_values(values)) is not None:
        return filled
    members = _rendered_anew(actions, conditions)
    if kept is None:
        kept = RenderedMembers.of(members, values)
        definition.compiled.keep(shape, kept, kept.kept_bytes)
    return members


def _rendered_anew(actions: Sequence[Action], conditions: tuple[Condition, ...]) -> dict[str, Any]:
    placeholders = Placeholders()
    expression = render_update(actions, placeholders)
    checks = condition_members(conditions, placeholders)
    return {"UpdateExpression": expression, **checks, **placeholders.to_wire()}


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

    __slots__ = ("_execution", "_spec")

    kind: WriteKind | None = "update"

    _execution: _Decided | None
    """What is done, once that is decided; see ``encoded``."""

    @overload
    def __init__(self: Update[MA, MA], item: MA, /) -> None: ...
    @overload
    def __init__(
        self: Update[MA, MA], model: type[MA], partition: KeyValue, sort: KeyValue | None = None, /
    ) -> None: ...
    def __init__(
        self, subject: Any, partition: KeyValue | None = None, sort: KeyValue | None = None, /, **fields: Any
    ) -> None:
        """Create an update of an item that changes nothing yet; its methods say what it changes.

        Args:
            subject: the instance, or the model.
            partition: the partition key's value, after a model.
            sort: the sort key's value, where the table has one, after a model.
            fields: nothing: the key is given by its position, and ``set_fields`` takes names of fields.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit.
        """
        if fields:
            raise no_key_keywords("Update", subject, fields)
        self._spec = update_spec(subject, partition, sort)
        self._execution = None

    def __repr__(self) -> str:
        return f"Update({self._spec})"

    @classmethod
    def of(cls, spec: UpdateSpec) -> Self:
        """Return the update that asks what a spec says.

        Args:
            spec: what is asked.
        """
        update = object.__new__(cls)
        update._spec, update._execution = spec, None
        return update

    def _with(self, spec: UpdateSpec) -> Self:
        return type(self).of(spec)

    @overload
    def returning(self, values: Literal["new"], /) -> Update[M, M]: ...
    @overload
    def returning(self, values: Literal["old"], /) -> Update[M, M | None]: ...
    @overload
    def returning(self, values: Literal["changed"], /) -> Update[M, dict[str, Any]]: ...
    @overload
    def returning(self, values: Literal["nothing"], /) -> Update[M, None]: ...
    def returning(self, values: Returning, /) -> Update[Any, Any]:
        """Return the update with another result.

        Args:
            values: ``"new"``, the item as it is then; ``"old"``, as it was before, None where there was none;
                ``"changed"``, field name -> value of what was changed; ``"nothing"``, None.

        Raises:
            OperationError: there is no such result.
        """
        return self._with(returning(self._spec, values))

    @property
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        return self._spec.definition

    @property
    def item(self) -> Model | None:
        """The instance that names the item, if one does."""
        return self._spec.item

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where it is not checked."""
        return self._spec.expected

    @property
    def guarded(self) -> bool:
        """Whether unique values may change."""
        if not self.definition.uniques:
            return False
        unique = unique_attributes(self.definition)
        return (self._spec.upserts and bool(unique)) or any(
            each.path.attribute in unique for each in self._spec.actions
        )

    @property
    def reads_first(self) -> bool:
        """Whether to read what is stored before the write, where the instance does not tell."""
        return self._spec.reads_first

    @property
    def brings_back(self) -> bool:
        """Whether the result is the item as it is then.

        Raises:
            OperationError: it is something that nobody can tell after a transaction.
        """
        if self._spec.returns in ("old", "changed"):
            raise OperationError(
                "an update of a unique field, or under a lease, is a transaction, which returns nothing; drop "
                f'returning("{self._spec.returns}"), or read the item before'
            )
        return self._spec.returns == "new"

    @property
    def is_encoded(self) -> bool:
        """Whether the same is sent each time: neither functions of the model nor an instance have a part in it."""
        spec = self._spec
        return self._execution is not None or not (spec.item is not None or spec.upserts or spec.definition.assigned)

    def encoded(self) -> Self:
        """Return the same update for one execution: all values that it sends are decided."""
        return self._decided_as(self._spec, _decided(self._spec))

    def _decided_as(self, spec: UpdateSpec, execution: _Decided | None) -> Self:
        own = self._with(spec)
        own._execution = execution  # noqa: SLF001 - a new object of this class
        return own

    def before(self) -> Stored | Unknown:
        """Return what is known of the stored item: what was stored when the instance was read or written."""
        if self._spec.item is None or not is_whole(self._spec.item):
            return UNKNOWN
        return known(self._spec.item, self.definition).stored

    def after(self, before: Stored) -> Stored:
        """Return the unique attributes, and the key, as they are stored after the update.

        Args:
            before: what is stored until then, at least its unique attributes; None where there is no item.

        Raises:
            OperationError: the update does not give one of them a constant, so only DynamoDB will know its value.
        """
        if before is None and not self._spec.upserts:
            return None
        actions = (self._execution or _decided(self._spec)).actions
        return {**unique_after(self.definition, actions, {} if before is None else dict(before)), **self._spec.key}

    def on_condition(self, *conditions: Condition) -> Self:
        """Return the same update with more conditions.

        Args:
            conditions: what must hold of the stored item, beside the conditions that there are.
        """
        return self._decided_as(
            replace_fields(self._spec, conditions=(*self._spec.conditions, *conditions)), self._execution
        )

    def exactly_once(self, *, client_request_token: str | None = None) -> ExactlyOnce[M]:
        """Return the same update, done once whatever answers get lost, at twice the write units. See ``ExactlyOnce``.

        Its result is None; ``then_get()`` reads the item behind it.

        Args:
            client_request_token: 1 to 36 characters that stand for this write, also in another process; without it each
                execution has a new one.
        """
        return ExactlyOnce(self, client_request_token=client_request_token)

    def request(self, context: Context) -> Request:
        """Return the UpdateItem request.

        It may be sent again after a lost answer if doing it twice leads to the same item, or if the version guards it:
        then it is done once, or refused. Otherwise only its write id, if the model has one, can tell what became of it.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            OperationError: the update changes nothing, or may make an item that could not be read.
            ExpressionError: it is larger than the service accepts.
        """
        spec = self._spec
        table = context.tables.full(spec.definition.table_name(spec.key, "updated"))
        asked, stored = self._execution or _decided(spec)
        actions: Sequence[Action] = stored
        conditions = guards(spec, asked)
        if not spec.definition.keys_are_plain:
            kept = parts_as_read(spec, asked)
            conditions += kept
            conditions += tuple(each for each in shards_as_read(spec, asked) if each not in kept)
            actions = [each for each in stored if is_attribute(spec.definition, each)]
        if spec.definition.derived is not None and spec.item is not None and spec.expected is None:
            before = stored_of(spec.item, spec.definition)
            attributes = {each.path.attribute for each in stored}
            conditions += tuple(
                each for each in sources_as_before(spec.definition, before, attributes) if each not in conditions
            )
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
        """Return what was asked for: the item as it is then, as it was before, or what was changed of it.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """
        spec = self._spec
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
        item = self._spec.item
        frozen = item is None or item.model_config.get("frozen")
        found = None if frozen else known_after((self._execution or _decided(self._spec)).stored)
        if item is not None and found is not None:
            move_on(item, self._spec.definition, found)

    def read(self, result: Any) -> Sequence[Model]:
        """Return the item that was read, if the answer held one.

        Args:
            result: the result of the operation.
        """
        return (result,) if isinstance(result, Model) else ()

    def failed(self, error: ServiceError) -> Exception:
        """Return the error with the stored item; it says so where there is no item, or newer code wrote it.

        Args:
            error: the refusal.
        """
        if remedy := _remedy(error, self._spec.actions):
            error.args = (f"{error} {remedy}",)
        explained = super().failed(error)
        missing = isinstance(error, ConditionalCheckFailedError) and error.wire_item is None
        if missing and not self._spec.upserts:
            return _not_found(self._spec, error)
        return refused_for_later(self, explained)

    @property
    def takes_unversioned(self) -> bool:
        """Whether version 0 also stands for a stored item without a version: always."""
        return True

    def wire_key(self) -> WireKey:
        """Return the key of the item."""
        return self._spec.key

    def _moved_on(self, stored: WireItem) -> Model:
        fresh: Model = self._spec.definition.items.decode([stored])[0]
        item = self._spec.item
        if item is None or item.model_config.get("frozen"):
            return fresh
        take_over(item, fresh)
        return item

    def _changed(self, stored: WireItem) -> dict[str, Any]:
        definition = self._spec.definition
        try:
            return _named(definition, [action.path for action in self._spec.actions], stored)
        except DecodeError as error:
            raise definition.items.failure({**stored, **self._spec.key}, error) from error


def _named(definition: Definition[Any], paths: Sequence[Path], stored: WireItem) -> dict[str, Any]:
    """Return field name -> value of what an update changed; raises DecodeError for a value that does not fit."""
    plain = {path.attribute for path in paths if len(path.steps) > 1 or not path.is_declared}
    names = {path.attribute: path.attribute for path in paths if not path.is_declared} | definition.field_names
    return {
        names[attribute]: decode_any(value)
        if attribute in plain
        else value_of(definition.fields[names[attribute]], value)
        for attribute, value in stored.items()
        if attribute in names
    }


def _not_found(spec: UpdateSpec, error: ServiceError) -> ItemNotFoundError:
    """Return the error of an update of an item that is not there."""
    name, key = spec.definition.model.__name__, key_values(spec.definition, spec.key)
    spelled = ", ".join(f"{field}={value!r}" for field, value in key.items())
    found = ItemNotFoundError(
        f"there is no {name} with {spelled}, so nothing was updated; .upsert() creates one", model=name, key=key
    )
    found.outcome_unknown = error.outcome_unknown
    return found
