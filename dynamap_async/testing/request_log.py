"""``RequestLog``: an observer that remembers which requests were sent, for tests to assert on."""

from collections import Counter

from dynamap_async.events import Event, RequestSent


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

    def __call__(self, event: Event, /) -> None:
        """Remember a request that is sent; this is what a session calls."""
        if isinstance(event, RequestSent):
            self._sent.append(event)

    @property
    def sent(self) -> tuple[RequestSent, ...]:
        """Every request so far, in the order in which they were sent."""
        return tuple(self._sent)

    @property
    def requests(self) -> Counter[str]:
        """How many requests were sent, by the API operation."""
        return Counter(each.operation for each in self._sent)

    def clear(self) -> None:
        """Forget what was sent until now."""
        self._sent.clear()

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


def _line(sent: RequestSent) -> str:
    where = ", ".join(sent.tables) + (f" by {sent.index}" if sent.index else "")
    items = "" if sent.items in (None, 1) else f" of {sent.items} items"
    again = "" if sent.attempt == 1 else f", attempt {sent.attempt}"
    return f"{sent.operation}{items} on {where}{again}"
