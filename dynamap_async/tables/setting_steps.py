"""Steps that give a table the settings that its models declare: two values -> steps, in three parts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from dynamap_async.schema import (
    INSIGHTS_MODES,
    ContributorInsights,
    Encryption,
    Recovery,
    TableSchema,
    TableSettings,
)
from dynamap_async.tables.replica_steps import replica_is_reached
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.setting_requests import (
    class_to_wire,
    encryption_to_wire,
    insights_on,
    insights_request,
    recovery_request,
    same_key,
    stream_to_wire,
    tag_request,
    untag_request,
    update_request,
)
from dynamap_async.tables.table_plan import Hazard, StepKind, TablePlan, TableStep, request_step

SETTING_KINDS: Final[Mapping[StepKind, str]] = {
    "set-stream": "stream",
    "set-point-in-time-recovery": "recovery",
    "set-deletion-protection": "deletion_protection",
    "set-table-class": "table_class",
    "set-encryption": "encryption",
    "set-tags": "tags",
    "set-replicas": "replicas",
    "set-contributor-insights": "insights",
}
"""What a step does -> the setting that it is about."""

ASKED_FOR: Final = ("set-time-to-live", "set-point-in-time-recovery", "set-tags", "set-contributor-insights")
"""The steps whose outcome DescribeTable does not tell."""

_ASKED: Final = ("recovery", "tags", "insights")


def asked_settings(settings: TableSettings) -> tuple[str, ...]:
    """Return the names of the settings that models declare and that DescribeTable does not tell."""
    return tuple(name for name in _ASKED if getattr(settings, name) is not None)


def settings_to_ask(plan: TablePlan, table: str) -> tuple[str, ...]:
    """Return the names of the settings that a plan changes and that DescribeTable does not tell.

    Args:
        table: the full name of the table that is described.
    """
    changed = {SETTING_KINDS.get(step.kind) for step in plan.steps if step.table == table}
    return tuple(name for name in _ASKED if name in changed)


def protections_on(declared: TableSchema, found: TableDescription) -> list[TableStep]:
    """Return the steps that protect a table, which come before all others."""
    wanted, now, table = declared.settings, found.settings, declared.name
    steps: list[TableStep] = []
    if wanted.deletion_protection and not now.deletion_protection:
        request = update_request(table, "DeletionProtectionEnabled", True)
        before, after = "protection off", "protection on"
        steps.append(request_step("set-deletion-protection", request, before=before, after=after))
    if wanted.recovery and now.recovery is not None and _reaches_further(wanted.recovery, now.recovery):
        steps.append(_recovery_step(table, now, wanted.recovery))
    return steps


def other_settings(declared: TableSchema, found: TableDescription) -> list[TableStep]:
    """Return the steps for class, encryption, stream and tags, which come between indexes that are made and deleted."""
    wanted, now, table = declared.settings, found.settings, declared.name
    steps: list[TableStep] = []
    if wanted.table_class is not None and wanted.table_class != now.table_class:
        request = update_request(table, "TableClass", class_to_wire(wanted.table_class))
        message = "storage and requests cost otherwise from then on, and the class changes twice in 30 days"
        before, after = f"class {now.table_class}", f"class {wanted.table_class}"
        hazards = (Hazard(code="class-changed", table=table, message=message),)
        steps.append(request_step("set-table-class", request, before=before, after=after, hazards=hazards))
    if wanted.encryption is not None and _differs(wanted.encryption, now.encryption):
        request = update_request(table, "SSESpecification", encryption_to_wire(wanted.encryption))
        before, after = _encrypted(now.encryption), _encrypted(wanted.encryption)
        steps.append(request_step("set-encryption", request, before=before, after=after))
    return [*steps, *_stream(wanted, now, table), *_tags(wanted, now, table, found.arn), *_insights(wanted, now, table)]


def protections_off(declared: TableSchema, found: TableDescription) -> list[TableStep]:
    """Return the steps that remove protection from a table, which come last."""
    wanted, now, table = declared.settings, found.settings, declared.name
    steps: list[TableStep] = []
    if wanted.recovery is not None and now.recovery and _reaches_further(now.recovery, wanted.recovery):
        steps.append(_recovery_step(table, now, wanted.recovery))
    if wanted.deletion_protection is False and now.deletion_protection:
        request = update_request(table, "DeletionProtectionEnabled", False)
        message = "from then on anybody who may delete the table can"
        steps.append(
            request_step(
                "set-deletion-protection",
                request,
                before="protection on",
                after="protection off",
                hazards=(Hazard(code="protection-off", table=table, message=message),),
                adds=False,
            )
        )
    return steps


def creation_steps(declared: TableSchema) -> list[TableStep]:
    """Return the steps that follow the creation of a table."""
    recovery = declared.settings.recovery
    off = TableSettings(recovery=False, insights=ContributorInsights(table="off"))
    steps = [_recovery_step(declared.name, off, recovery)] if recovery else []
    return [*steps, *_insights(declared.settings, off, declared.name)]


def setting_is_reached(step: TableStep, found: TableDescription) -> bool:
    """Return whether a table has the setting that a step gives it.

    Args:
        step: the step, of a kind of ``SETTING_KINDS``.
        found: the table as it is described, with its tags and its recovery.
    """
    now, body = found.settings, step.request
    match step.kind:
        case "set-stream":
            return stream_to_wire(now.stream) == dict(body["StreamSpecification"])
        case "set-deletion-protection":
            return bool(now.deletion_protection) is bool(body["DeletionProtectionEnabled"])
        case "set-table-class":
            return now.table_class is not None and class_to_wire(now.table_class) == str(body["TableClass"])
        case "set-encryption":
            wanted: dict[str, Any] = body["SSESpecification"]
            key = wanted.get("KMSMasterKeyId", "alias/aws/dynamodb") if wanted["Enabled"] else None
            return not _differs(Encryption(kms_key=key), now.encryption)
        case "set-replicas":
            return replica_is_reached(body, found)
        case "set-contributor-insights":
            mode = INSIGHTS_MODES.get(str(body.get("ContributorInsightsMode")), "off")
            return now.insights is not None and now.insights.modes().get(body.get("IndexName"), "off") == mode
        case "set-point-in-time-recovery":
            return now.recovery is not None and recovery_request(step.table, now.recovery).body == body
        case _:
            tags = now.tags or {}
            added = {each["Key"]: each["Value"] for each in body.get("Tags") or ()}
            return added.items() <= tags.items() and tags.keys().isdisjoint(body.get("TagKeys") or ())


def is_hidden(step: TableStep, found: TableDescription | None) -> bool:
    """Return whether the outcome of a step is unknown, because the policy or the engine does not show it.

    Args:
        found: the table as it is described, with its time to live, its tags and its recovery.
    """
    if found is None:
        return False
    match step.kind:
        case "set-time-to-live":
            return found.ttl_status is None
        case "set-point-in-time-recovery":
            return found.settings.recovery is None
        case "set-tags":
            return found.settings.tags is None
        case "set-contributor-insights":
            return found.settings.insights is None
        case _:
            return False


def seen_settings(found: TableDescription) -> dict[str, str]:
    """Return what a plan is based on: a setting -> how it is, as text."""
    now = found.settings
    # Billing has parts of its own: among them no warm throughput, which rises by itself.
    parts = {name: str(value) for name, value in now.declared().items() if name != "billing"}
    if regions := [each.region for each in found.replicas if each.status != "DELETING"]:
        parts["replicas"] = ", ".join(regions)
    if now.tags is not None:
        parts["tags"] = _tagged(now.tags)
    return parts


def hidden_settings(declared: TableSchema, found: TableDescription) -> list[str]:
    """Return what a model declares and the policy or the engine does not show, as sentences."""
    names = {"recovery": "continuous backups", "tags": "tags", "insights": "Contributor Insights"}
    return [
        f"{declared.name}: {names[name]}, which are unknown: the policy does not allow to ask for them, or the engine "
        "does not know them"
        for name in asked_settings(declared.settings)
        if getattr(found.settings, name) is None
    ]


def unknown_settings(declared: TableSchema, found: TableDescription) -> list[str]:
    """Return what a model declares and nobody can compare, as sentences."""
    told = hidden_settings(declared, found)
    wanted, now = declared.settings.encryption, found.settings.encryption
    one, other = None if wanted is None else wanted.kms_key, None if now is None else now.kms_key
    if one is not None and other is not None and same_key(one, other) is None:
        told.append(
            f"{declared.name}: whether its KMS key {other} is {one}, which only KMS can tell; declare the key's ARN to "
            "have it compared"
        )
    return told


def undeclared_settings(declared: TableSchema, found: TableDescription) -> list[str]:
    """Return what DescribeTable tells of settings that no model declares, as sentences; defaults are none."""
    wanted, now = declared.settings, found.settings
    told = {
        "stream": f"its stream of {now.stream or 'an unknown view'}" if now.stream != "off" else None,
        "deletion_protection": "its deletion protection" if now.deletion_protection else None,
        "table_class": f"its class {now.table_class}" if now.table_class not in (None, "standard") else None,
        "encryption": f"its KMS key {now.encryption.kms_key}" if now.encryption and now.encryption.kms_key else None,
    }
    if wanted.replicas:  # which need the stream
        told.pop("stream")
    there = [text for name, text in told.items() if text is not None and getattr(wanted, name) is None]
    there += [] if now.insights is None else insights_on(now.insights, wanted.insights)
    return [f"{declared.name}: {each}" for each in (*there, *found.others)]


def _stream(wanted: TableSettings, now: TableSettings, table: str) -> list[TableStep]:
    if wanted.stream is None or wanted.stream == now.stream:
        return []
    steps: list[TableStep] = []
    if now.stream != "off":
        # A view never changes: the stream goes, and a new one comes, under another ARN.
        message = "its consumers, such as Lambda functions, have to read the old stream to its end, and follow another"
        request = update_request(table, "StreamSpecification", stream_to_wire("off"))
        hazards = (Hazard(code="stream-replaced", table=table, message=message),)
        before = f"stream of {now.stream or 'an unknown view'}"
        steps.append(
            request_step("set-stream", request, before=before, after="stream off", hazards=hazards, adds=False)
        )
    if wanted.stream != "off":
        request = update_request(table, "StreamSpecification", stream_to_wire(wanted.stream))
        after, adds = f"stream of {wanted.stream}", now.stream == "off"
        steps.append(request_step("set-stream", request, before="stream off", after=after, adds=adds))
    return steps


def _tags(wanted: TableSettings, now: TableSettings, table: str, arn: str) -> list[TableStep]:
    if wanted.tags is None or now.tags is None:
        return []
    steps: list[TableStep] = []
    there = now.tags
    late = {name: value for name, value in wanted.tags.items() if there.get(name) != value}
    if late:
        before = {name: there[name] for name in late if name in there}
        request = tag_request(table, arn, late)
        steps.append(request_step("set-tags", request, before=_tagged(before), after=_tagged(late)))
    extra = sorted(there.keys() - wanted.tags.keys())
    if extra:
        message = "costs may be told apart, and access be granted, by them"
        before = {name: there[name] for name in extra}
        request = untag_request(table, arn, extra)
        hazards = (Hazard(code="tags-removed", table=table, message=message),)
        after = "no such tags"
        steps.append(
            request_step("set-tags", request, before=_tagged(before), after=after, hazards=hazards, adds=False)
        )
    return steps


def _insights(wanted: TableSettings, now: TableSettings, table: str) -> list[TableStep]:
    if wanted.insights is None or now.insights is None:
        return []
    there, steps = now.insights.modes(), list[TableStep]()
    for index, mode in wanted.insights.modes().items():
        before = there.get(index, "off")
        if mode != before:
            request = insights_request(table, index, mode)
            of = "" if index is None else f" of {index}"
            was, will = f"insights{of} {before}", f"insights{of} {mode}"
            adds = mode != "off"
            steps.append(request_step("set-contributor-insights", request, before=was, after=will, adds=adds))
    return steps


def _recovery_step(table: str, now: TableSettings, wanted: Recovery | Literal[False]) -> TableStep:
    request = recovery_request(table, wanted)
    hazards: tuple[Hazard, ...] = ()
    if now.recovery and _reaches_further(now.recovery, wanted):
        message = "what could be restored from before is lost at once"
        hazards = (Hazard(code="recovery-off", table=table, message=message),)
    return request_step(
        "set-point-in-time-recovery",
        request,
        before=_recoverable(now.recovery),
        after=_recoverable(wanted),
        hazards=hazards,
        adds=not hazards,
    )


def _reaches_further(one: Recovery | Literal[False], other: Recovery | Literal[False]) -> bool:
    days, others = (each.days if isinstance(each, Recovery) else 0 for each in (one, other))
    return days > others


def _differs(wanted: Encryption, now: Encryption | None) -> bool:
    one, other = wanted.kms_key, None if now is None else now.kms_key
    if one is None or other is None:
        return one is not other
    return same_key(one, other) is False


def _encrypted(encryption: Encryption | None) -> str:
    key = None if encryption is None else encryption.kms_key
    return f"encrypted with {key or 'a key of AWS'}"


def _recoverable(recovery: Recovery | Literal[False] | None) -> str:
    return f"recovery of {recovery.days} days" if isinstance(recovery, Recovery) else "recovery off"


def _tagged(tags: Mapping[str, str]) -> str:
    return f"tags {', '.join(f'{name}={tags[name]}' for name in sorted(tags))}" if tags else "no such tags"
