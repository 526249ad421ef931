"""Updates of a session: ``update`` begins one."""

from typing import Any, TypeVar, overload

from dynamap_async.models import KeyValue, Model
from dynamap_async.operations import update_spec
from dynamap_async.session.bound_writes import BoundUpdate
from dynamap_async.session.runner import Runner

M = TypeVar("M", bound=Model)


class Updates:
    """What a session does with parts of items."""

    _runner: Runner

    @overload
    def update(self, item: M, /) -> BoundUpdate[M, M]: ...
    @overload
    def update(self, model: type[M], partition: KeyValue, sort: KeyValue | None = None, /) -> BoundUpdate[M, M]: ...
    def update(
        self, subject: Any, partition: KeyValue | None = None, sort: KeyValue | None = None, /
    ) -> BoundUpdate[Any, Any]:
        """Begin an update of one item, named by an instance or by its key; await it when it says what to change.

        ``await session.update(Tweet, "ada", 7).set(Tweet.text, "hi").add(Tweet.likes, 1)`` gives the item as it is
        then. See ``Update``.
        """
        return BoundUpdate(self._runner, update_spec(subject, partition, sort))
