"""A write that is done exactly once, bound to a session: to be awaited once, with or without a read behind it."""

import warnings
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dynamap_async.operations import ExactlyOnce, Operation
from dynamap_async.session.coroutine import BoundCoroutine

if TYPE_CHECKING:
    from dynamap_async.session.runner import Runner

M = TypeVar("M")
R = TypeVar("R")


class BoundExactlyOnce(BoundCoroutine[R], Generic[M, R]):
    """A write, done once whatever answers get lost, that belongs to a session. The result is None.

    Like a coroutine it is awaited once, and warns when it is dropped without. ``ExactlyOnce`` has the errors and the
    cost.
    """

    __slots__ = ("_operation", "_runner", "_settled", "_write")

    def __init__(self, runner: "Runner", write: ExactlyOnce[M], operation: Operation[R]) -> None:
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

    def then_get(self) -> "BoundExactlyOnce[M, M]":
        """Return the same, with a consistent read of the item behind it, whose result is the item.

        Cost: one GetItem more; a read unit per 4 KB.
        """
        self._settled = True
        return BoundExactlyOnce(self._runner, self._write, self._write.then_get())

    def _run(self) -> Coroutine[Any, Any, R]:
        if self._settled:
            raise RuntimeError(f"cannot reuse {self!r}, which was awaited before; begin another write")
        self._settled = True
        return self._runner.execute(self._operation)

    def close(self) -> None:
        """End it as a coroutine; for event loops."""
        self._settled = True
        super().close()
