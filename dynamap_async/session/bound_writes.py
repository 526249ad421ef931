"""Writes bound to a session, each to be awaited once: updates, and a write that is done exactly once."""

from __future__ import annotations

import warnings
from collections.abc import Coroutine
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.executor import BoundCoroutine
from dynamap_async.operations import ExactlyOnce, Operation, Returning, Updatable, Update, UpdateSpec, returning

M = TypeVar("M")
R = TypeVar("R", default=M)
T = TypeVar("T")

if TYPE_CHECKING:
    from dynamap_async.session.runner import Runner


class BoundExactlyOnce(BoundCoroutine[T], Generic[M, T]):
    """A write, done once whatever answers get lost, that belongs to a session. The result is None.

    Like a coroutine it is awaited once, and warns when it is dropped without. ``ExactlyOnce`` has the errors and the
    cost.
    """

    __slots__ = ("_operation", "_runner", "_settled", "_write")

    def __init__(self, runner: Runner, write: ExactlyOnce[M], operation: Operation[T]) -> None:
        """Create the write, for ``exactly_once`` of an update.

        Args:
            runner: carries operations out.
            write: what is written.
            operation: what is carried out: the write alone, or with a read behind it.
        """
        super().__init__()
        self._runner = runner
        self._write = write
        self._operation = operation
        self._settled = False

    def __repr__(self) -> str:
        return f"<BoundExactlyOnce {self._operation!r}>"

    def __del__(self) -> None:
        if not getattr(self, "_settled", True):
            warnings.warn(f"{self._operation!r} was never awaited", RuntimeWarning, stacklevel=1, source=self)

    def then_get(self) -> BoundExactlyOnce[M, M]:
        """Return the same, with a consistent read of the item behind it, whose result is the item.

        Cost: one GetItem more; a read unit per 4 KB.
        """
        self._settled = True
        return BoundExactlyOnce(self._runner, self._write, self._write.then_get())

    def _run(self) -> Coroutine[Any, Any, T]:
        if self._settled:
            raise RuntimeError(f"{self!r} was awaited before; write a new one")
        self._settled = True
        return self._runner.execute(self._operation)

    def close(self) -> None:
        """End it as a coroutine; for event loops."""
        self._settled = True
        super().close()


if TYPE_CHECKING:
    from dynamap_async.session.runner import Runner


class _Refining:
    """A method that gives another update in the place of this one, which no longer has to be awaited.

    It counts from the look-up of the method on, which comes before its arguments: where one of them raises, the error
    is the only complaint.
    """

    def __init__(self, method: FunctionType) -> None:
        self._method = method

    def __get__(self, update: BoundUpdate[Any, Any] | None, owner: type) -> FunctionType | MethodType:
        if update is None:
            return self._method
        update._replaced()  # noqa: SLF001 - a method of that class
        return MethodType(self._method, update)


class BoundUpdate(Updatable[M], BoundCoroutine[R], Generic[M, R]):
    """An update that belongs to a session.

    It is carried out by being awaited, once: like a coroutine it raises RuntimeError when it is awaited again, and
    warns when it is dropped without. ``create_task``, ``TaskGroup``, ``gather`` and ``wait_for`` take it as it is.
    ``Update`` has the errors and the cost.
    """

    __slots__ = ("_begun", "_runner", "_settled", "_spec")

    def __init__(self, runner: Runner, spec: UpdateSpec) -> None:
        """Create an update of a session.

        Args:
            runner: carries operations out.
            spec: what is asked.
        """
        super().__init__()
        self._begun = False
        self._settled = False  # begun, closed, or refined into another one
        self._runner = runner
        self._spec = spec

    def __repr__(self) -> str:
        return f"<BoundUpdate {self._spec}>"

    def __del__(self) -> None:
        if not getattr(self, "_settled", True):
            warnings.warn(f"the update of {self._spec} was never awaited", RuntimeWarning, stacklevel=1, source=self)

    def _replaced(self) -> None:
        """Record that another update takes the place of this one."""
        self._settled = True

    def _with(self, spec: UpdateSpec) -> Self:
        return type(self)(self._runner, spec)

    def _run(self) -> Coroutine[Any, Any, R]:
        if self._begun:
            raise RuntimeError(f"{self!r} was awaited before; write a new update")
        self._settled = self._begun = True
        update: type[Update[M, R]] = Update  # the name alone, which costs less than an alias
        return self._runner.execute(update.of(self._spec))

    def close(self) -> None:
        """End it as a coroutine; for event loops."""
        self._settled = True
        super().close()

    def exactly_once(self, *, client_request_token: str | None = None) -> BoundExactlyOnce[M, None]:
        """Return the same update, done once whatever answers get lost, at twice the write units. See ``ExactlyOnce``.

        Its result is None; ``then_get()`` reads the item behind it.

        Args:
            client_request_token: 1 to 36 characters that stand for this write, also in another process; without it each
                execution has a new one.
        """
        write = Update[M, Any].of(self._spec).exactly_once(client_request_token=client_request_token)
        return BoundExactlyOnce(self._runner, write, write)

    @overload
    def returning(self, values: Literal["new"], /) -> BoundUpdate[M, M]: ...
    @overload
    def returning(self, values: Literal["old"], /) -> BoundUpdate[M, M | None]: ...
    @overload
    def returning(self, values: Literal["changed"], /) -> BoundUpdate[M, dict[str, Any]]: ...
    @overload
    def returning(self, values: Literal["nothing"], /) -> BoundUpdate[M, None]: ...
    def returning(self, values: Returning, /) -> BoundUpdate[Any, Any]:
        """Return the update with another result. See ``Update.returning``.

        Args:
            values: ``"new"``, ``"old"``, ``"changed"`` or ``"nothing"``.
        """
        return self._with(returning(self._spec, values))


for _name in (
    "add",
    "delete",
    "exactly_once",
    "expect_version",
    "read_first",
    "remove",
    "returning",
    "set",
    "set_fields",
    "upsert",
    "where",
):
    setattr(BoundUpdate, _name, _Refining(getattr(BoundUpdate, _name)))
