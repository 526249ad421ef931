"""What the control plane refuses, in the service's codes and shapes of message, each with the page of its rule.

Where a page is vague, the harsher reading stands. Read in November 2026.
"""

from typing import Final

from dynamap_async.testing.faults.fault_answers import error_answer
from dynamap_async.transport.channel import Answer

_INVALID: Final = "One or more parameter values were invalid: "
_IN_USE: Final = "Attempt to change a resource which is still in use: "
_LIMIT: Final = "Subscriber limit exceeded: "


class RefusedChange(Exception):  # noqa: N818 - what happened, not a mistake
    """The service answers with an error."""

    def __init__(self, code: str, message: str) -> None:
        """Store what the service says."""
        super().__init__(f"{code}: {message}")
        self.answer: Final[Answer] = error_answer(code, message)


def invalid(what: str) -> RefusedChange:
    """Return the refusal of a request that breaks a rule."""
    return RefusedChange("ValidationException", what)


def invalid_parameter(what: str) -> RefusedChange:
    """Return the refusal of a request with a wrong parameter."""
    return invalid(_INVALID + what)


def table_in_use(table: str, status: str) -> RefusedChange:
    """Return the refusal of a change while the table is created, changed or deleted.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
    """
    doing = {"CREATING": "created", "DELETING": "deleted"}.get(status, "updated")
    return RefusedChange("ResourceInUseException", f"{_IN_USE}Table is being {doing}: {table}")


def index_in_use(table: str, index: str) -> RefusedChange:
    """Return the refusal to delete an index, or its table, that is not ready for it.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
    """
    return RefusedChange("ResourceInUseException", f"{_IN_USE}Index is being changed: {index} of {table}")


def replica_in_use(table: str) -> RefusedChange:
    """Return the refusal of a change while a replica is made or deleted.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
    """
    return RefusedChange("ResourceInUseException", f"{_IN_USE}A replica is being changed: {table}")


def replica_refused(what: str) -> RefusedChange:
    """Return the refusal of a replica that a table cannot have, or does not have.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_reqs_bestpractices.html
    """
    return invalid_parameter(what)


def table_exists(table: str) -> RefusedChange:
    """Return the refusal of a second table of the same name.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
    """
    return RefusedChange("ResourceInUseException", f"Table already exists: {table}")


def table_not_found(table: str) -> RefusedChange:
    """Return the refusal of a request about a table that does not exist, or not yet."""
    return RefusedChange("ResourceNotFoundException", f"Requested resource not found: Table: {table} not found")


def one_index_at_a_time() -> RefusedChange:
    """Return the refusal of a second index that is built or deleted, in one call or while one is under way.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
    """
    what = "Only 1 online index can be created or deleted simultaneously per table"
    return RefusedChange("LimitExceededException", _LIMIT + what)


def several_kinds(kinds: list[str]) -> RefusedChange:
    """Return the refusal of a call that changes several kinds of things.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
    """
    return invalid_parameter(f"Only one kind of change can be made by one UpdateTable call, not {', '.join(kinds)}")


def nothing_asked() -> RefusedChange:
    """Return the refusal of an UpdateTable that changes nothing."""
    return invalid(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
        "SSESpecification or ReplicaUpdates is required"
    )


def index_not_found(index: str) -> RefusedChange:
    """Return the refusal of a request about an index that does not exist."""
    return RefusedChange("ResourceNotFoundException", f"Requested resource not found: Index: {index}")


def backup_not_found(arn: str) -> RefusedChange:
    """Return the refusal of a request about a backup that is not there."""
    return RefusedChange("BackupNotFoundException", f"Backup not found: {arn}")


def backup_in_use(arn: str) -> RefusedChange:
    """Return the refusal to delete, or to restore, a backup that is being made.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteBackup.html
    """
    return RefusedChange("BackupInUseException", f"Backup is being created: {arn}")


def no_recovery(table: str) -> RefusedChange:
    """Return the refusal to restore a table without continuous backups.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableToPointInTime.html
    """
    return RefusedChange("PointInTimeRecoveryUnavailableException", f"Point in time recovery is not enabled: {table}")


def moment_not_restorable(table: str) -> RefusedChange:
    """Return the refusal to restore a table as it was at a moment that is too early or too late.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableToPointInTime.html
    """
    return RefusedChange(
        "InvalidRestoreTimeException",
        f"RestoreDateTime is not between EarliestRestorableDateTime and LatestRestorableDateTime: {table}",
    )


def restored_table_exists(table: str) -> RefusedChange:
    """Return the refusal to restore into a table that exists.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html
    """
    return RefusedChange("TableAlreadyExistsException", f"Table already exists: {table}")


def no_policy(arn: str) -> RefusedChange:
    """Return the refusal to return a resource policy if there is none.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetResourcePolicy.html
    """
    return RefusedChange("PolicyNotFoundException", f"Resource-based policy not found for the provided ARN: {arn}")


def kinesis_stream_refused(table: str, status: str) -> RefusedChange:
    """Return the refusal to enable, or to disable, a Kinesis stream that is not in a state for it.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_EnableKinesisStreamingDestination.html
    """
    return invalid(f"Table is not in a valid state: the Kinesis streaming destination of {table} is {status}")


def too_many_indexes(most: int) -> RefusedChange:
    """Return the refusal of more global indexes than a table may have.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    """
    return RefusedChange(
        "LimitExceededException", f"{_LIMIT}GlobalSecondaryIndex count exceeds the per-table limit of {most}"
    )


def too_many_operations(most: int) -> RefusedChange:
    """Return the refusal of another change while that many are under way in the account.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    """
    return RefusedChange(
        "LimitExceededException",
        f"{_LIMIT}Only {most} tables or indexes can be created, updated, or deleted simultaneously",
    )


def too_many_decreases(count: int) -> RefusedChange:
    """Return the refusal to lower a throughput once more.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
    """
    return RefusedChange(
        "LimitExceededException",
        f"{_LIMIT}Provisioned throughput decreases are limited within a given UTC day. After the first 4 decreases, "
        "each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds. Number of "
        f"decreases today: {count}",
    )


def billing_switched_already() -> RefusedChange:
    """Return the refusal of a second change of the billing mode within a day; sources say once, or four times.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/switching.capacitymode.html
    """
    return RefusedChange(
        "LimitExceededException", f"{_LIMIT}Update to PayPerRequest mode are limited to once in 1 day(s)"
    )


def class_changed_already() -> RefusedChange:
    """Return the refusal of a third change of the table class within 30 days.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.TableClasses.html
    """
    return RefusedChange("LimitExceededException", f"{_LIMIT}Table class can be changed 2 times in 30 days")


def protected() -> RefusedChange:
    """Return the refusal to delete a table under deletion protection.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html
    """
    return invalid(
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    )


def time_to_live_changed_already() -> RefusedChange:
    """Return the refusal of a second change of time to live within the hour.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
    """
    return invalid("Time to live has been modified multiple times within a fixed interval")


def maximum_of_provisioned() -> RefusedChange:
    """Return the refusal of a maximum for on-demand requests on a provisioned table.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode-max-throughput.html
    """
    return invalid_parameter("OnDemandThroughput can only be specified when BillingMode is PAY_PER_REQUEST")


def warm_throughput_lowered(what: str, where: str) -> RefusedChange:
    """Return the refusal to lower a warm throughput.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
    """
    return invalid_parameter(
        f"Requested {what} for WarmThroughput for {where} is lower than the current one; decreasing WarmThroughput is "
        "not supported"
    )


def index_not_ready(index: str, status: str) -> RefusedChange:
    """Return the refusal of a read of an index that is not ready.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
    """
    if status == "DELETING":
        return invalid(f"The table does not have the specified index: {index}")
    return invalid(f"Cannot read from backfilling global secondary index: {index}")
