"""Writing all of an item, whatever its stored version."""

from dataclasses import replace
from typing import Generic, TypeVar, final

from dynamap_async.expressions import Action, Call, Condition, Set, Sum, Value
from dynamap_async.models import REMOVED, Changes, Definition, Model, give, remember
from dynamap_async.operations.completing import value_of
from dynamap_async.operations.put import Put
from dynamap_async.operations.save import update_request
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.wire import AttributeValue, Body

M = TypeVar("M", bound=Model)


@final
class Replace(Put[M], Generic[M]):
    """Write every field of an item, whatever the stored item is, and set its version past the stored one.

    For repairs and imports, which must win: no version is checked, and whoever holds an older version gets a
    VersionConflictError at the next write. Without a stored item it creates one, of version 1. Attributes that the
    model does not know stay, unlike with ``Put``. The result is the item itself, with its new version.

    After a lost answer it is sent again: the version may then rise by two. In a transaction, which returns nothing, the
    instance does not learn the new number; read the item again before the next write.

    Cost: one UpdateItem; one write unit per KB of the larger of the old and the new item, and the same for each index
    entry that changes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
    """

    __slots__ = ()

    @property
    def expected_version(self) -> None:
        """None: any version is replaced."""

    @property
    def brings_back(self) -> bool:
        """Whether the instance gets a version that only the stored item tells."""
        return self._definition.version is not None

    def _guards(self, context: Context) -> tuple[Condition, ...]:
        return super()._guards(context) if self._number else ()

    def request(self, context: Context) -> Request:
        """Return the UpdateItem request."""
        definition = self._definition
        stored, key = self._stored, self._key
        version = definition.version
        changes: Changes = {name: value for name, value in stored.items() if name not in key}
        changes.update((name, REMOVED) for name in definition.field_names if name not in stored)
        if version is not None:
            changes.pop(version.stored, None)
        request = update_request(
            definition,
            context.table_prefix + definition.table_name(key, "replaced"),
            key,
            changes,
            (*self._guards(context), *self._conditions),
            size_of=stored,
            more=_next_version(definition),
        )
        if version is None:
            return request
        body = {**request.body, "ReturnValues": "UPDATED_NEW"}
        return replace(request, body=body, required=frozenset({version.stored}))

    def result(self, response: Body, context: Context) -> M:
        """Return the instance that was written, with the number that its version got."""
        self.acknowledged()
        version = self._definition.version
        if version is not None:
            number: AttributeValue = response["Attributes"][version.stored]
            give(self._item, {version.name: value_of(version, number)})
            remember(self._item, {**self._stored, version.stored: number})
        return self._item


def _next_version(definition: Definition[M]) -> tuple[Action, ...]:
    if definition.version is None:
        return ()
    path = definition.path(definition.version.name)
    stored = Call("if_not_exists", (path, Value({"N": "0"})))
    return (Set(path, Sum(stored, "+", Value({"N": "1"}))),)
