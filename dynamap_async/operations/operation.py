"""What an operation is: an immutable value that knows its request and how to read the answer, and does no I/O."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from dynamap_async.errors import ServiceError
from dynamap_async.models import Model
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.wire import Body

R_co = TypeVar("R_co", covariant=True)


class Operation(ABC, Generic[R_co]):
    """Something to be asked of DynamoDB. ``await session.execute(operation)`` gives its result."""

    __slots__ = ()


class SingleRequest(Operation[R_co]):
    """An operation of exactly one request."""

    __slots__ = ()

    @abstractmethod
    def request(self, context: Context) -> Request:
        """Return the request to send."""
        raise NotImplementedError

    @abstractmethod
    def result(self, response: Body, context: Context) -> R_co:
        """Read the answer.

        Args:
            response: it.
            context: what the session adds, the same as for ``request``.
        """
        raise NotImplementedError

    def failed(self, error: ServiceError) -> Exception:
        """Return what a refusal means to the caller: the error itself, or a more telling one."""
        return error

    def read(self, result: Any) -> Sequence[Model]:
        """Return the instances of a result of this operation that were read, for the hooks that follow a read."""
        return ()
