"""Budgets: what a scope may take, and what of that is set aside for requests that are on their way."""

from dataclasses import dataclass
from typing import Final

from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.executor.tally import Counted
from dynamap_async.request import Request
from dynamap_async.usage import OperationUsage

Estimate = tuple[int, int]
"""Read units and write units, in halves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a scope may take; None for any amount."""

    read_halves: int | None = None
    write_halves: int | None = None
    requests: int | None = None

    def __bool__(self) -> bool:
        return (self.read_halves, self.write_halves, self.requests) != (None, None, None)


class Budget:
    """The limits of a scope, beside what it has used."""

    def __init__(self, name: str, limits: Limits, counted: Counted) -> None:
        """Begin with nothing set aside.

        Args:
            name: what errors call the scope.
            limits: what it may take.
            counted: what it has used, while that grows.
        """
        self.limits: Final = limits
        self._name: Final = name
        self._counted = counted
        self._reads = 0
        self._writes = 0

    def count_by(self, counted: Counted) -> None:
        """Look at another count of what is used from now on."""
        self._counted = counted

    def reserve(self, read_halves: int, write_halves: int) -> None:
        """Set units aside; negative ones are given back."""
        self._reads += read_halves
        self._writes += write_halves

    @property
    def out_of_requests(self) -> bool:
        """Whether no further request may be sent."""
        most = self.limits.requests
        return most is not None and self._counted.requests >= most

    def check(self, request: Request, estimate: Estimate) -> None:
        """Raise CapacityBudgetExceededError if a request would take more than is left, or nothing is."""
        limits, (reads, writes) = self.limits, self._counted.halves
        if self.out_of_requests:
            raise self.out_of_requests_error(request)
        if _over(limits.read_halves, reads, self._reads, estimate[0]):
            raise self._error(request, f"max_read_units={_units(limits.read_halves)}", estimate[0])
        if _over(limits.write_halves, writes, self._writes, estimate[1]):
            raise self._error(request, f"max_write_units={_units(limits.write_halves)}", estimate[1])

    def out_of_requests_error(self, request: Request) -> CapacityBudgetExceededError:
        """Return the error of a request that is not sent because no further one may be."""
        return self._error(request, f"max_requests={self.limits.requests}")

    def _error(self, request: Request, limit: str, halves: int = 0) -> CapacityBudgetExceededError:
        limits, usage = self.limits, self._counted.usage()
        under_way = (
            f", {_units(self._reads)} and {_units(self._writes)} under way" if self._reads + self._writes else ""
        )
        by = ", ".join(_taken_by(each) for each in usage.by_operation)
        return CapacityBudgetExceededError(
            f"{request.operation} on {request.table} was not sent: scope {self._name!r} has {limit}, and used "
            f"{usage.read_units:g} read units, {usage.write_units:g} write units and {usage.requests} requests "
            f"({by or 'nothing'}){under_way}"
            + (f"; {_units(halves)} more are expected to be needed" if halves else "")
            + ". Raise the budget, or ask for less.",
            scope=self._name,
            operation=request.operation,
            table=request.table,
            usage=usage,
            max_read_units=None if limits.read_halves is None else limits.read_halves / 2,
            max_write_units=None if limits.write_halves is None else limits.write_halves / 2,
            max_requests=limits.requests,
        )


def _over(limit: int | None, used: int, reserved: int, more: int) -> bool:
    """Return whether something goes over a limit; what takes nothing more is refused only after an overrun."""
    return limit is not None and (used > limit or (more > 0 and used + reserved + more > limit))


def _taken_by(entry: OperationUsage) -> str:
    units = {"read": entry.read_units, "write": entry.write_units}
    taken = " and ".join(f"{number:g} {kind}" for kind, number in units.items() if number)
    return f"{entry.operation} on {entry.table}: {taken or 'none'}"


def _units(halves: int | None) -> str:
    return f"{(halves or 0) / 2:g}"
