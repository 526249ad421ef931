"""The command ``dynamap config``: the settings of the commands, and where each comes from."""

import json

from dynamap_async.cli.output import show, table_of
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, goes_to_tables


@goes_to_tables(without=("quiet",))
def config(
    place: Place,
    *,
    as_json: AsJson = False,
) -> None:
    """Print the settings of the commands, and where each comes from.

    A setting comes from an option, an environment variable or the configuration file. This imports none of your
    modules, sends nothing and prints no secret.
    """
    lines = [("environment", place.environment.value or "none", place.environment.source)]
    lines.append(("models", ", ".join(place.models) or "none", place.models_source))
    lines += [(name, place.shown(name), setting.source) for name, setting in place.settings.items()]
    own = place.configuration.table_names.get(place.environment.value, {})
    in_file = "" if place.configuration.file is None else place.configuration.file.name
    lines += [
        (f"table_names.{name}", full, f"{in_file}, env.{place.environment.value}" if name in own else in_file)
        for name, full in place.table_names.items()
    ]
    guard, source = ("name", f"env.{place.environment.value}") if place.is_guarded else ("none", "not set")
    lines.append(("guard", guard, source))
    file = place.configuration.file
    if as_json:
        told = {name: {"value": value, "source": source} for name, value, source in lines}
        show(json.dumps({"file": None if file is None else str(file), "settings": told}, indent=1))
        return
    show("no configuration file (dynamap.toml, or [tool.dynamap] in pyproject.toml)" if file is None else str(file))
    show(table_of(("", "VALUE", "FROM"), lines))
