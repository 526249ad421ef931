"""Models made of one annotation, and their way through the wire."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import ConfigDict, create_model
from pydantic_core import to_json

from dynamap_async import Model, PartitionKey
from dynamap_async.models import definition_of
from dynamap_async.native import NATIVE


def model_of(annotation: Any, default: Any = ..., **config: Any) -> Any:
    """Return a model with a key and one more field, ``value``."""
    base = type("Base", (Model,), {"model_config": ConfigDict(**config), "__module__": __name__}, abstract=True)
    return create_model(
        "Thing",
        __base__=base,
        __module__=__name__,
        __cls_kwargs__={"table": "things"},
        key=(PartitionKey[str], "k"),
        value=(annotation, default),
    )


def through_the_wire(item: Any) -> Any:
    """Return an instance as it is read back, and check that its wire form is JSON."""
    codec = definition_of(type(item)).items
    [found] = codec.decode([json.loads(json.dumps(codec.encode(item)))])
    return found


@pytest.fixture
def make_model() -> Callable[..., Any]:
    return model_of


@pytest.fixture
def read_back() -> Callable[[Any], Any]:
    return through_the_wire


@pytest.fixture
def stored() -> Callable[[Any], Any]:
    """Return the wire form of an instance's field ``value``, None if it is left out."""
    return lambda item: definition_of(type(item)).items.encode(item).get("value")


@pytest.fixture
def load() -> Callable[..., Any]:
    """Return the instance of a model that a wire item is read as."""

    def load(model: Any, **attributes: Any) -> Any:
        [item] = definition_of(model).items.decode([attributes])
        return item

    return load


def as_answered(page: Sequence[Any]) -> Sequence[Any]:
    """Return items as the native codec gives them; the same where it is not in use."""
    if NATIVE is None:
        return page
    reader = NATIVE.answer_reader(to_json({"Items": page}))
    while not reader.read(1000):
        pass
    assert reader.answer is not None
    return reader.answer["Items"]


@pytest.fixture(scope="session")  # so that laws can ask for it
def answered() -> Callable[[Sequence[Any]], Sequence[Any]]:
    return as_answered
