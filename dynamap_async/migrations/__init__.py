"""Migrations: functions that change stored items and run once, one process at a time.

For what every reader of an item has to know, upgrade items instead; see ``dynamap_async.upgrade``.
"""

from __future__ import annotations

from dynamap_async.migrations.declared import DeclaredMigration, MigrationFunction, find_migrations, migration
from dynamap_async.migrations.migrations import Migrations, migrate
from dynamap_async.migrations.record import MigrationState, MigrationStatus
from dynamap_async.migrations.run import Migration, MigrationScan

__all__ = [
    "DeclaredMigration",
    "Migration",
    "MigrationFunction",
    "MigrationScan",
    "MigrationState",
    "MigrationStatus",
    "Migrations",
    "find_migrations",
    "migrate",
    "migration",
]
