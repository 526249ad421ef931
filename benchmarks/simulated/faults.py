"""What the service answers instead of a result."""

from typing import Any

PREFIX = "com.amazonaws.dynamodb.v20120810#"


class ServiceError(Exception):
    """An error of the service."""

    def __init__(self, code: str, message: str, *, status: int = 400, **members: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.body = {"__type": PREFIX + code, "message": message, **members}


class Throttled(ServiceError):  # noqa: N818 - what happened, not a mistake
    """There were no units for the request.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing-workflow.html
    """

    def __init__(self, reasons: list[dict[str, str]], *, on_demand: bool) -> None:
        if on_demand:
            text = "Throughput exceeds the current capacity of your table or index."
            super().__init__("ThrottlingException", text, throttlingReasons=reasons)
        else:
            text = (
                "The level of configured provisioned throughput for the table was exceeded. "
                "Consider increasing your provisioning level with the UpdateTable API."
            )
            super().__init__("ProvisionedThroughputExceededException", text, ThrottlingReasons=reasons)


def invalid(message: str) -> ServiceError:
    """Return the error of a request that breaks a rule."""
    return ServiceError("ValidationException", message)


def unknown_table(name: str) -> ServiceError:
    """Return the error of a table that is not there."""
    return ServiceError("ResourceNotFoundException", f"Requested resource not found: Table: {name} not found")
