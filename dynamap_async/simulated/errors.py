"""What the simulated service refuses, as DynamoDB writes it."""

from __future__ import annotations

from typing import Any, NoReturn

_CORAL = {
    "ValidationException": "com.amazon.coral.validate",
    "SerializationException": "com.amazon.coral.service",
    "UnknownOperationException": "com.amazon.coral.service",
}


class Refused(Exception):  # noqa: N818 - a refusal is an answer of the service, not a failure of this program
    """A request that the service refuses.

    Args:
        code: the name of the error, such as ``ValidationException``.
        message: its text.
        members: further members of the answer, such as ``CancellationReasons``.
    """

    def __init__(self, code: str, message: str, **members: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.members = members

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return 500 if self.code == "InternalServerError" else 400

    def answer(self) -> dict[str, Any]:
        """Return the body of the answer."""
        namespace = _CORAL.get(self.code, "com.amazonaws.dynamodb.v20120810")
        text = "Message" if self.code == "TransactionCanceledException" else "message"
        return {"__type": f"{namespace}#{self.code}", text: self.message, **self.members}


class Throttled(Refused):
    """A request that there are no units for.

    Args:
        message: its text.
        reasons: its throttling reasons.
        on_demand: the table has no provisioned units.
    """

    def __init__(self, message: str, reasons: list[dict[str, str]], *, on_demand: bool) -> None:
        self.reasons: list[dict[str, str]] = reasons
        self._on_demand = on_demand
        if on_demand:
            super().__init__("ThrottlingException", message, throttlingReasons=reasons)
        else:
            super().__init__("ProvisionedThroughputExceededException", message, ThrottlingReasons=reasons)

    def copy(self) -> Throttled:
        """Return the same without a traceback: whoever keeps that, or raises what is kept, makes a cycle of frames."""
        return Throttled(self.message, self.reasons, on_demand=self._on_demand)


def invalid(message: str) -> Refused:
    """Return a ValidationException."""
    return Refused("ValidationException", message)


def invalid_value(message: str) -> Refused:
    """Return the ValidationException whose text begins as those about values do."""
    return invalid(f"One or more parameter values were invalid: {message}")


def refuse(message: str) -> NoReturn:
    """Raise a ValidationException, in places where an expression is wanted."""
    raise invalid(message)
