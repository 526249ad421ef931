"""How queries are planned: from what is asked to requests, pure."""

from dynamap_async.planning.cards import card_paths, checked_card
from dynamap_async.planning.context import Context, checked_model, own_path, positive, stored_path
from dynamap_async.planning.entities import Grouped, Unknown, UnknownItem, checked_collection
from dynamap_async.planning.expiry import expired, is_expired
from dynamap_async.planning.invalid_items import Invalid, InvalidItem
from dynamap_async.planning.kinds import check_written_by_key, of_own_kind, subclasses_of
from dynamap_async.planning.missing import explained
from dynamap_async.planning.periods import check_number
from dynamap_async.planning.plan import Plan
from dynamap_async.planning.plan_cache import plan_reading
from dynamap_async.planning.presence import is_stored, not_stored
from dynamap_async.planning.read_spec import ReadSpec, begun, conditions_of, searched, with_invalid
from dynamap_async.planning.reading import Reading
from dynamap_async.planning.replace_fields import revised
from dynamap_async.planning.resume import resume
from dynamap_async.planning.shards import in_shards, places_of, stored_conditions

__all__ = [
    "Context",
    "Grouped",
    "Invalid",
    "InvalidItem",
    "Plan",
    "ReadSpec",
    "Reading",
    "Unknown",
    "UnknownItem",
    "begun",
    "card_paths",
    "check_number",
    "check_written_by_key",
    "checked_card",
    "checked_collection",
    "checked_model",
    "conditions_of",
    "expired",
    "explained",
    "in_shards",
    "is_expired",
    "is_stored",
    "not_stored",
    "of_own_kind",
    "own_path",
    "places_of",
    "plan_reading",
    "positive",
    "resume",
    "revised",
    "searched",
    "stored_conditions",
    "stored_path",
    "subclasses_of",
    "with_invalid",
]
