"""Rules: which requests are meant, and, as verbs, what happens to them."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing.faults.fault_answers import (
    THROTTLING_CODES,
    access_denied,
    error_answer,
    failed,
    json_answer,
    throttled,
)
from dynamap_async.testing.faults.fault_kinds import (
    Break,
    Broken,
    Damage,
    Damaged,
    Fault,
    IdleClose,
    LeftOver,
    Replaced,
    Slow,
)
from dynamap_async.testing.faults.scripted_calls import OPERATIONS, UNPROCESSED, FaultyCall
from dynamap_async.wire import Body


@dataclass(frozen=True, slots=True)
class Match:
    """The requests that a rule applies to.

    Raises:
        ConfigurationError: there is no such operation, or a number makes no sense.
    """

    operation: str | None = None
    table: str | None = None
    index: str | None = None
    nth: int | None = None
    times: int | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if self.operation is not None:
            check_operation(self.operation)
        if self.nth is not None and self.nth < 1:
            raise ConfigurationError(f"nth={self.nth}: requests are counted from 1")
        if self.times is not None and self.times < 1:
            raise ConfigurationError(f"times={self.times}: the rule would never apply; drop it")
        if self.share is not None:
            check_share(self.share)

    def fits(self, call: FaultyCall) -> bool:
        """Return whether the rule applies to a request."""
        return (
            self.operation in (None, call.operation)
            and (self.table is None or any(fnmatchcase(table, self.table) for table in call.tables))
            and self.index in (None, call.index)
        )

    def __str__(self) -> str:
        named = {"table": self.table, "index": self.index, "nth": self.nth, "times": self.times, "share": self.share}
        parts = [repr(self.operation)] if self.operation else []
        parts += [f"{name}={value!r}" for name, value in named.items() if value is not None]
        return f"on({', '.join(parts)})"


def check_operation(operation: str) -> None:
    """Raise ConfigurationError unless DynamoDB has the operation."""
    if operation not in OPERATIONS:
        close = get_close_matches(operation, sorted(OPERATIONS), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "write it as the API does, such as 'BatchGetItem'"
        raise ConfigurationError(f"DynamoDB has no operation {operation!r}: {hint}")


def check_share(share: float) -> None:
    """Raise ConfigurationError unless the number is from 0 to 1."""
    if not 0 <= share <= 1:
        raise ConfigurationError(f"share={share!r}: give a share between 0 and 1")


class Rule:
    """Requests that were chosen with ``Faults.on``; each method says what happens to them.

    Where a method takes ``applied``, it tells whether the server carries the request out before the fault.
    """

    def __init__(self, match: Match, add: Callable[[Match, Fault], None]) -> None:
        self._match = match
        self._add_fault = add

    def throttle(self, code: str = "ProvisionedThroughputExceededException") -> None:
        """Refuse the request for want of capacity. Nothing is applied.

        Args:
            code: what the service calls it: that, ``ThrottlingException`` or ``RequestLimitExceeded``.

        Raises:
            ConfigurationError: it is none of these.
        """
        if code not in THROTTLING_CODES:
            raise ConfigurationError(f"{code!r} is not a throttling code; choose one of {', '.join(THROTTLING_CODES)}")
        self._add(Replaced("throttle", lambda call: throttled(call, code)))

    def deny_access(self) -> None:
        """Refuse the request because the caller's policy does not allow it. Nothing is applied."""
        self._add(Replaced("deny_access", access_denied))

    def reject(self, message: str) -> None:
        """Refuse the request as invalid, with a ``ValidationException``. Nothing is applied.

        Args:
            message: what the service says is wrong.
        """
        self._add(Replaced("reject", lambda _: error_answer("ValidationException", message)))

    def error(self, code: str, message: str = "", *, status: int = 400, facts: Mapping[str, Any] | None = None) -> None:
        """Answer with any other error of the service. Nothing is applied.

        Args:
            code: the service's bare name, such as ``TransactionConflictException``.
            message: what the service says of it.
            status: the HTTP status, from 400 to 599.
            facts: further members of the answer, in wire form, such as ``CancellationReasons``.

        Raises:
            ConfigurationError: the status is none of an error.
        """
        _check_status(status, 400)
        self._add(Replaced("error", lambda _: error_answer(code, message, status=status, facts=facts)))

    def answer(self, body: Body) -> None:
        """Answer with this, and do not ask the server: a stale item, an empty page, a table that is being created.

        Args:
            body: the answer's JSON object, in wire form.
        """
        self._add(Replaced("answer", lambda _: json_answer(body)))

    def fail(self, status: int = 500, *, html: bool = False, applied: bool = False) -> None:
        """Answer that the server failed, in DynamoDB's own words or in a load balancer's.

        Args:
            status: the HTTP status, from 500 to 599.
            html: whether the body is a load balancer's page.
            applied: whether the server carries the request out first.

        Raises:
            ConfigurationError: the status is none of a server that failed.
        """
        _check_status(status, 500)
        self._add(Replaced("fail", lambda _: failed(status, html=html), applied))

    def refuse_connection(self) -> None:
        """Make no connection, so that nothing is sent and nothing applied.

        A ``FaultyServer`` knows the request only once it has been sent, and resets the connection instead; there,
        use ``FaultyServer.refuse_connections``.
        """
        self._add(Broken("refuse_connection", Break.REFUSED, applied=False))

    def reset(self, *, applied: bool = False) -> None:
        """Reset the connection; the client cannot know whether the request was carried out."""
        self._add(Broken("reset", Break.RESET, applied=applied))

    def lose_answer(self) -> None:
        """Let the server carry the request out, and close the connection in place of its answer."""
        self._add(Broken("lose_answer", Break.CLOSED, applied=True))

    def time_out(self, after_seconds: float = 0.0, *, applied: bool = True) -> None:
        """Never answer.

        Args:
            after_seconds: when a transport gives up; with a ``FaultyServer`` the client's read timeout decides.
            applied: whether the server carries the request out first.

        Raises:
            ConfigurationError: the time is negative.
        """
        self._add(Broken("time_out", Break.SILENT, applied, _seconds(after_seconds)))

    def malformed_body(self) -> None:
        """Let the server carry the request out, and answer with what is no JSON."""
        self._add(Damaged("malformed_body", Damage.MALFORMED))

    def truncate_body(self) -> None:
        """Let the server carry the request out, and break off in the middle of its answer."""
        self._add(Damaged("truncate_body", Damage.TRUNCATED))

    def wrong_length(self) -> None:
        """Let the server carry the request out, and announce fewer bytes than its answer has."""
        self._add(Damaged("wrong_length", Damage.WRONG_LENGTH))

    def wrong_checksum(self) -> None:
        """Let the server carry the request out, and answer with a checksum that is not the body's."""
        self._add(Damaged("wrong_checksum", Damage.WRONG_CHECKSUM))

    def leave_unprocessed(self, count: int) -> None:
        """Let a batch get to all but its last items, and list those as ``UnprocessedKeys`` or ``UnprocessedItems``.

        A batch of no more items than that is throttled as a whole, as the service does. Only batches are counted.

        Args:
            count: how many items are left over, at least 1.

        Raises:
            ConfigurationError: the count is less, or the rule is about another operation than a batch.
        """
        if count < 1:
            raise ConfigurationError(f"leave_unprocessed({count}): give at least 1")
        operation = self._match.operation
        if operation is not None and operation not in UNPROCESSED:
            raise ConfigurationError(
                f"{operation} is not a batch; only {' and '.join(UNPROCESSED)} leave items unprocessed"
            )
        self._add(LeftOver(count))

    def delay(self, seconds: float, *, applied: bool = False) -> None:
        """Wait before the request reaches the server, or with ``applied`` before its answer comes back.

        Delays go together with any other fault, and add up.

        Raises:
            ConfigurationError: the time is negative.
        """
        self._add(Slow("delay", _seconds(seconds), applied))

    def drip_body(self, seconds: float) -> None:
        """Let a server send its answer in small pieces for this long; a transport sees only that it comes late.

        Raises:
            ConfigurationError: the time is negative.
        """
        self._add(Slow("drip_body", _seconds(seconds), applied=True, dripped=True))

    def close_idle(self) -> None:
        """Let a server answer, and then close the idle connection without notice; a transport sees nothing of it."""
        self._add(IdleClose())

    def _add(self, fault: Fault) -> None:
        self._add_fault(self._match, fault)


def _seconds(seconds: float) -> float:
    if seconds < 0:
        raise ConfigurationError(f"{seconds!r} seconds: a time cannot be negative")
    return seconds


def _check_status(status: int, lowest: int) -> None:
    if not lowest <= status <= 599:
        raise ConfigurationError(f"status {status}: expected one from {lowest} to 599")
