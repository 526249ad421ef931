"""Tables: made from models, described as values, compared, changed, deleted."""

from __future__ import annotations

from dynamap_async.tables.applying import AppliedPlan, StepProgress
from dynamap_async.tables.backups import Backup, Backups, RecoveryWindow, RestoredTable
from dynamap_async.tables.comparison import plan_of
from dynamap_async.tables.declared import declared_tables
from dynamap_async.tables.estimates import BuildEstimate, PlanPrices
from dynamap_async.tables.index_reports import IndexReport
from dynamap_async.tables.infrastructure import to_cdk, to_cloudformation, to_description, to_terraform
from dynamap_async.tables.periods import check_period, schema_of
from dynamap_async.tables.plan_run import PlanRun
from dynamap_async.tables.requests import Replica, TableDescription, VectorIndexDescription, read_description
from dynamap_async.tables.table_plan import Hazard, TablePlan, TableStep
from dynamap_async.tables.tables import Tables
from dynamap_async.tables.truncation import Truncation

__all__ = [
    "AppliedPlan",
    "Backup",
    "Backups",
    "BuildEstimate",
    "Hazard",
    "IndexReport",
    "PlanPrices",
    "PlanRun",
    "RecoveryWindow",
    "Replica",
    "RestoredTable",
    "StepProgress",
    "TableDescription",
    "TablePlan",
    "TableStep",
    "Tables",
    "Truncation",
    "VectorIndexDescription",
    "check_period",
    "declared_tables",
    "plan_of",
    "read_description",
    "schema_of",
    "to_cdk",
    "to_cloudformation",
    "to_description",
    "to_terraform",
]
