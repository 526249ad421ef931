"""Laws of generated models: whatever is in a table, they open every item of the sample and write it back."""

import ast
import random
import sys
from decimal import Decimal
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async import Model, Table
from dynamap_async.errors import OperationError
from dynamap_async.generate import Sample, design_of, merge_models
from dynamap_async.models import definition_of
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, TableSchema

WORDS = ("USER", "ORDER", "item", "Game", "INVOICE_LINE", "c", "x.y")
NAMES = (
    "id",
    "userId",
    "Order-No",
    "class",
    "model_dump",
    "date",
    "1st",
    "a b",
    "größe",
    "_hidden",
    "type",
    "json",
    "self",
)
SEPARATORS = "#|:/@~_-"
KEY = ("pk", "sk")
VALUES = {
    "text": lambda chance: {"S": "".join(chance.choices("abcXYZ019#:-_ é", k=chance.randint(0, 9)))},
    "id": lambda chance: {"S": f"{chance.getrandbits(40):010x}"},
    "few": lambda chance: {"S": chance.choice(["on", "off"])},
    "date": lambda chance: {"S": f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"},
    "time": lambda chance: {"S": f"2024-01-{chance.randint(1, 28):02}T10:00:{chance.randint(0, 59):02}Z"},
    "number": lambda chance: {"N": str(chance.randint(-5, 500))},
    "decimal": lambda chance: {"N": str(Decimal(chance.randint(-500, 500)) / 8)},
    "epoch": lambda chance: {"N": str(chance.randint(1_500_000_000, 1_800_000_000))},
    "mixed": lambda chance: chance.choice([{"S": "1"}, {"N": "1"}, {"BOOL": True}]),
    "flag": lambda chance: {"BOOL": chance.random() < 0.5},
    "set": lambda chance: {"NS": [*{str(chance.randint(0, 9)) for _ in range(3)}]},
    "list": lambda chance: {
        "L": [chance.choice([{"S": "a"}, {"N": "1"}, {"M": {"a": {"NULL": True}}}]) for _ in range(2)]
    },
    "map": lambda chance: {"M": {name: {"S": "x"} for name in NAMES if chance.random() < 0.9}},
    "bytes": lambda chance: {"B": "AAEC"},
}
PATTERN = st.lists(st.sampled_from(["w", "v", "n"]), min_size=1, max_size=3)
KIND = st.fixed_dictionaries(
    {
        "word": st.sampled_from(WORDS),
        "keys": st.tuples(PATTERN, PATTERN, PATTERN),
        "attributes": st.dictionaries(st.sampled_from(NAMES), st.sampled_from(sorted(VALUES)), max_size=5),
        "optional": st.sets(st.sampled_from(NAMES), max_size=2),
        "count": st.sampled_from([1, 2, 6, 40]),
    }
)


def items_of(kind, separator, chance, marker):
    for number in range(kind["count"]):
        item = {
            name: VALUES[value](chance)
            for name, value in kind["attributes"].items()
            if name not in kind["optional"] or chance.random() < 0.7
        }
        values = [next(iter(value.values())) for name, value in sorted(item.items()) if next(iter(value)) in "SN"]
        for name, pattern in zip(("pk", "sk", "gsi1pk"), kind["keys"], strict=True):
            pieces = {"w": kind["word"], "v": (str(values[0]) if values else "") or "v", "n": f"{number % 9:03d}"}
            item[name] = {"S": separator.join(pieces[each] for each in pattern)}
        yield item | ({"kind": {"S": kind["word"]}} if marker else {})


def canonical(value):
    [(tag, content)] = value.items()
    match tag:
        case "N":
            return tag, Decimal(content)
        case "NS":
            return tag, frozenset(map(Decimal, content))
        case "L":
            return tag, [canonical(each) for each in content]
        case "M":
            return tag, {name: canonical(each) for name, each in content.items()}
    return tag, content


def schema():
    keys = KeySchema((KeyAttribute("pk", "S"),), (KeyAttribute("sk", "S"),))
    index = IndexSchema(name="gsi1", kind=IndexKind.GLOBAL, keys=KeySchema((KeyAttribute("gsi1pk", "S"),)))
    return TableSchema(name="things", keys=keys, indexes=(index,))


def model_of(module, item):
    table = next((each for each in vars(module).values() if isinstance(each, Table)), None)
    if table is not None:
        return table.models[table.kind_of(item)]
    classes = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Model))
    return next(each for each in classes if each is not Model and definition_of(each).table is not None)


@settings(max_examples=25)
@given(
    kinds=st.lists(KIND, min_size=1, max_size=4),
    separator=st.sampled_from(SEPARATORS),
    seed=st.integers(0, 2**32),
    marker=st.booleans(),
)
def test_generated_models_open_and_write_back_every_item(kinds, separator, seed, marker):
    chance = random.Random(seed)
    found = {
        str(each["pk"]) + str(each["sk"]): each for kind in kinds for each in items_of(kind, separator, chance, marker)
    }
    sample = Sample(schema=schema(), items=tuple(found.values()))
    assert_opened(design_of(sample).source(values=True), sample)


def assert_opened(text, sample):
    module = ModuleType("generated_by_law")
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, "generated", "exec"), module.__dict__)
        for item in sample.items:
            model = model_of(module, item)
            codec, computed = definition_of(model).items, definition_of(model).computed
            [read] = codec.decode([item])
            made = () if computed is None else computed.templates
            fresh = model(**{name: value for name, value in read.__dict__.items() if name not in made})
            for again in (codec.encode(read), codec.encode(fresh)):  # as it was read, and with the keys that it makes
                assert {name: canonical(v) for name, v in again.items()} == {n: canonical(v) for n, v in item.items()}
    finally:
        del sys.modules[module.__name__]


CODE = ("raise SystemExit", "import x", "x = 1", "a", "")
BREAKS = (
    '"',
    "\\",
    "\n",
    "\r",
    "\t",
    "\x0c",
    "\x00",
    "\u2028",
    "\u202e",
    "'",
    "#",
    "{",
    "}",
    '"""',
    "\\N{",
    "${",
    "\U000e0041",
)
HOSTILE = st.lists(st.sampled_from([*BREAKS, *CODE]), min_size=1, max_size=4).map("".join).filter(bool)


def assert_only_declares(text):
    """Assert that a module consists of a docstring, imports, classes with annotated fields, and values it assigns."""
    module = ast.parse(text)
    bodies = [module.body, *(each.body for each in module.body if isinstance(each, ast.ClassDef))]
    for body in bodies:
        docstring, *others = body if ast.get_docstring(ast.Module(body, [])) is not None else [None, *body]
        assert docstring is None or isinstance(docstring.value, ast.Constant)
        for each in others:
            assert isinstance(each, ast.ImportFrom | ast.ClassDef | ast.AnnAssign | ast.Assign), ast.unparse(each)
            assert not isinstance(each, ast.ImportFrom) or each.module in HOMES
            calls = [node.func for node in ast.walk(each) if isinstance(node, ast.Call)]
            assert {ast.unparse(call) for call in calls} <= CALLED


HOMES = {"datetime", "decimal", "typing", "uuid", "dynamap_async", "pydantic", "typing_extensions"}
CALLED = {
    *("Field", "GlobalIndex", "Prefix", "StoredForm", "Table", "TypedDict", "attr", "include", "template"),
    *("at.astimezone(UTC).replace", "at.astimezone", "at.astimezone(UTC).replace(tzinfo=None).isoformat"),
}


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_names_and_values_a_table_has_its_module_only_declares(data):
    names = data.draw(st.lists(HOSTILE, min_size=6, max_size=6, unique=True))
    pk, sk, indexed, *others = names
    texts = data.draw(st.lists(HOSTILE, min_size=1, max_size=3, unique=True))
    schema = TableSchema(
        name="things",
        keys=KeySchema((KeyAttribute(pk, "S"),), (KeyAttribute(sk, "S"),)),
        indexes=(
            IndexSchema(
                name="gsi1",
                kind=IndexKind.GLOBAL,
                keys=KeySchema((KeyAttribute(indexed, "S"),)),
                projection=Projection("INCLUDE", tuple(others)),
            ),
        ),
    )
    kinds = data.draw(st.sampled_from([(), *[texts] * 2]))  # an attribute that tells kinds, or none
    made = []
    for number in range(data.draw(st.sampled_from([3, 130]))):
        text = texts[number % len(texts)]
        item = {pk: {"S": f"{text}#{number}"}, sk: {"S": f"{number}{text}"}, indexed: {"S": text}}
        item |= {name: {"S": text} for name in others[:1]} | {
            name: {"M": {names[0]: {"S": text}}} for name in others[1:]
        }
        made.append(item | ({"kind": {"S": text}} if kinds else {}))
    sample = Sample(schema=schema, items=tuple(made))
    design = design_of(sample)
    for text in (
        design.source(values=True),
        design.source(enums=True),
        merge_models(design, '"""Mine."""\n', values=True).after,
    ):
        assert_only_declares(text)
        assert_opened(text, sample)


@pytest.mark.parametrize("name", ["", "\ud800", "a" * 256])
def test_name_of_a_key_that_dynamodb_refuses_is_refused_before_anything_is_made(name):
    schema = TableSchema(name="things", keys=KeySchema((KeyAttribute(name, "S"),)))
    with pytest.raises(OperationError, match="is not one that DynamoDB takes"):
        Sample(schema=schema, items=())
