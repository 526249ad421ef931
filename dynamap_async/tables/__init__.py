"""Tables: made from models, described as values, compared, changed, deleted."""

from __future__ import annotations

from dynamap_async.tables.applying import StepProgress
from dynamap_async.tables.periods import check_period, table_in
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.table_plan import Hazard, TablePlan, TableStep
from dynamap_async.tables.tables import Tables

__all__ = [
    "Hazard",
    "StepProgress",
    "TableDescription",
    "TablePlan",
    "TableStep",
    "Tables",
    "check_period",
    "table_in",
]
