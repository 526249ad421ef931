"""``RequestLog``: an observer that remembers which requests were sent, for tests to assert on."""

from collections import Counter

from dynamap_async.events import Event, ExchangeEvent, RequestAnswered, RequestSent
from dynamap_async.service import DYNAMODB


class RequestLog:
    """The HTTP requests of the sessions that have it as their observer, repeated ones included.

    Example:
        >>> log = RequestLog()
        >>> log.assert_requests()
        >>> log.requests
        Counter()
    """

    def __init__(self) -> None:
        self._sent: list[RequestSent] = []
        self._answered: list[RequestAnswered] = []

    def __call__(self, event: Event, /) -> None:
        """Record a request that is sent, or its answer. Sessions call this."""
        if isinstance(event, RequestSent):
            self._sent.append(event)
        elif isinstance(event, RequestAnswered) and event.error is None:
            self._answered.append(event)

    @property
    def sent(self) -> tuple[RequestSent, ...]:
        """Every request so far, in the order in which they were sent."""
        return tuple(self._sent)

    @property
    def requests(self) -> Counter[str]:
        """How many requests were sent, by the API operation."""
        return Counter(each.operation for each in self._sent)

    def clear(self) -> None:
        """Remove all recorded requests."""
        self._sent.clear()
        self._answered.clear()

    @property
    def read_units(self) -> float:
        """The read units that the answers reported; requests that failed reported none."""
        return sum(each.read_units or 0.0 for each in self._answered)

    @property
    def write_units(self) -> float:
        """The write units that the answers reported; requests that failed reported none."""
        return sum(each.write_units or 0.0 for each in self._answered)

    def assert_read_units(self, *, at_most: float) -> None:
        """Assert that the answers reported no more read units than this; ``at_most=0`` for none at all.

        What an engine reports is worth as much as the engine: moto reports a constant for reads.

        Args:
            at_most: read units, in all answers together.

        Raises:
            AssertionError: they reported more, or one of them reported nothing; it lists them in their order.
        """
        __tracebackhide__ = True
        self._assert_units("read", self.read_units, at_most)

    def assert_write_units(self, *, at_most: float) -> None:
        """Assert that the answers reported no more write units than this; see ``assert_read_units``.

        Args:
            at_most: write units, in all answers together.
        """
        __tracebackhide__ = True
        self._assert_units("write", self.write_units, at_most)

    def _assert_units(self, kind: str, units: float, at_most: float) -> None:
        __tracebackhide__ = True
        silent = [each for each in self._answered if each.operation in DYNAMODB.metered and each.read_units is None]
        if units > at_most or silent:
            unsaid = f", and {len(silent)} answers did not say" if silent else ""
            raise AssertionError(
                f"expected at most {at_most:g} {kind} units, and {units:g} were taken{unsaid}"
                + "".join(f"\n  {number}. {_price(each)}" for number, each in enumerate(self._answered, 1))
            )

    def assert_requests(self, **expected: int) -> None:
        """Assert that exactly these requests were sent, as in ``assert_requests(Query=1, BatchGetItem=2)``.

        Args:
            expected: how many, by the API operation that travels: two gets that wait together are one BatchGetItem.
                What is not named was not sent; without arguments, nothing was.

        Raises:
            AssertionError: others were sent; it lists them in their order.
        """
        __tracebackhide__ = True  # pytest shows the test's line, not this one
        if self.requests != Counter(expected):
            raise AssertionError(
                f"expected {_counted(Counter(expected))}, sent {_counted(self.requests)}" + self._lines()
            )

    def _lines(self) -> str:
        return "".join(f"\n  {number}. {_line(each)}" for number, each in enumerate(self._sent, 1))


def _counted(requests: Counter[str]) -> str:
    return ", ".join(f"{operation}={count}" for operation, count in sorted(requests.items()) if count) or "no requests"


def _price(answered: RequestAnswered) -> str:
    said = [
        f"{units:g} {kind}"
        for kind, units in (("read", answered.read_units), ("write", answered.write_units))
        if units is not None
    ]
    return f"{_line(answered)}: {', '.join(said) or 'not said'}"


def _line(sent: ExchangeEvent) -> str:
    where = ", ".join(sent.tables) + (f" by {sent.index}" if sent.index else "")
    items = "" if sent.items in (None, 1) else f" of {sent.items} items"
    again = "" if sent.attempt == 1 else f", attempt {sent.attempt}"
    return f"{sent.operation}{items} on {where}{again}"
