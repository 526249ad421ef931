"""Tables: made from models, described as values, deleted."""

from __future__ import annotations

from dynamap_async.tables.periods import check_period, table_in
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.tables import Tables

__all__ = ["TableDescription", "Tables", "check_period", "table_in"]
