"""The user's modules: what they declare, by name, and what is said where they cannot be imported."""

import sys

import pytest

from dynamap_async.cli.catalog import load_catalog
from dynamap_async.cli.endings import CommandError, Status

MODELS = """
from dynamap_async import Attr, Model, PartitionKey, SortKey, Table

class Nested(Model):
    street: Attr[str]

class Order(Model, table="orders"):
    order_id: PartitionKey[str]

SHOP = Table("shop", partition_key="pk", sort_key="sk")

class Customer(Model, table=SHOP):
    pk: PartitionKey[str]
    sk: SortKey[str]
"""


@pytest.fixture
def load(project):
    """Return a function (file -> text) that writes files, and loads the catalogue of those that have models."""

    def loaded(*modules, **texts):
        for name, text in texts.items():
            (project / f"{name}.py").write_text(text, "utf-8")
        return load_catalog(modules or [f"{name}.py" for name in texts], project)

    return loaded


def test_models_with_a_table_and_shared_tables_are_known_by_name(load):
    catalog = load(shop_one=MODELS)
    assert {catalog.name(each) for each in catalog.all} == {"Order", "SHOP", "Customer"}
    assert catalog.find("Order").__name__ == "Order"
    assert catalog.find("SHOP") is sys.modules["shop_one"].SHOP
    assert catalog.find("shop_one:Order") is catalog.find("Order")


def test_module_is_imported_from_the_folder_of_the_configuration(load):
    assert load("shop_one", shop_one=MODELS).find("Order").__module__ == "shop_one"


def test_everything_that_shares_a_table_comes_together(load):
    catalog = load(shop_one=MODELS)
    assert set(catalog.sharing([catalog.find("Customer")])) == {catalog.find("SHOP"), catalog.find("Customer")}


def test_name_that_two_modules_have_needs_its_module(load):
    catalog = load(shop_one=MODELS, shop_two=MODELS.replace('"orders"', '"old-orders"'))
    with pytest.raises(CommandError, match="name one of them: shop_one:Order or shop_two:Order"):
        catalog.find("Order")
    assert catalog.find("shop_two:Order").__module__ == "shop_two"


def test_name_that_nothing_has_is_told_with_those_that_there_are(load):
    with pytest.raises(CommandError, match="there is no model or table 'Oder'; known models: Customer, Order, SHOP"):
        load(shop_one=MODELS).find("Oder")


def test_modules_without_models_are_refused(load):
    with pytest.raises(CommandError, match="shop_one.py has no model with a table"):
        load(shop_one="x = 1")
    with pytest.raises(CommandError, match="no module with models is given"):
        load_catalog([], None)


def test_module_that_is_not_there_is_told_in_one_line(load, project):
    with pytest.raises(CommandError) as told:
        load("shop_four.models")
    assert told.value.status is Status.USAGE
    assert str(told.value) == (f"there is no module 'shop_four.models' in {project}, nor among the installed packages")


@pytest.mark.parametrize("modules", [("shop_one",), ("shop_one.py",)], ids=["module", "file"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def fail():\n    raise RuntimeError('no settings')\n\nfail()", "RuntimeError: no settings"),
        ("import sys\nsys.exit(0)", "SystemExit: 0"),
        ("import not_installed_here", "ModuleNotFoundError: No module named 'not_installed_here'"),
        ("class (", "SyntaxError: invalid syntax"),
        (MODELS + "    pk: PartitionKey[list[str]]", "a key must be text, a number or binary data"),
    ],
    ids=["raises", "exits", "import", "syntax", "model"],
)
def test_error_of_the_users_code_is_told_with_its_own_lines_only(load, modules, text, problem):
    with pytest.raises(CommandError) as told:
        load(*modules, shop_one=text)
    lines = str(told.value).splitlines()
    assert lines[0].startswith("shop_one")
    assert lines[0].endswith(" cannot be imported:")
    assert problem in lines[-1]
    frames = [line for line in lines if line.startswith("  File ")]
    assert frames
    assert all("shop_one.py" in line for line in frames)
    assert "shop_one" not in sys.modules
