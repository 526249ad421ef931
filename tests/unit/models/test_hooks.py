"""Which methods of a model are hooks, and in which order they run."""

from functools import wraps
from typing import ClassVar

import pytest

from dynamap_async import Model, PartitionKey, after_read, before_write
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of


def named(hooks):
    return [hook.__qualname__ for hook in hooks]


class Stamped(Model, abstract=True):
    @before_write
    def stamp(self, write): ...

    @before_write
    async def _tidy(self, write): ...

    @after_read
    def unpack(self): ...


class Note(Stamped, table="notes"):
    id: PartitionKey[str]

    @before_write
    def check(self, write): ...

    @after_read
    async def look(self): ...


class Loud(Note, table="loud-notes"):
    def stamp(self, write): ...

    @before_write
    @after_read
    def shout(self, write=None): ...


class Tagged:
    @before_write
    def tag(self, write): ...


class Mixed(Tagged, Stamped, table="mixed"):
    id: PartitionKey[str]


def test_hooks_of_bases_run_first_in_the_order_of_their_class_bodies():
    assert named(definition_of(Note).hooks.before_write) == ["Stamped.stamp", "Stamped._tidy", "Note.check"]
    assert named(definition_of(Note).hooks.after_read) == ["Stamped.unpack", "Note.look"]


def test_an_override_runs_in_the_place_of_what_it_overrides_also_without_the_mark():
    assert named(definition_of(Loud).hooks.before_write)[:2] == ["Loud.stamp", "Stamped._tidy"]


def test_a_method_can_be_a_hook_of_both_kinds():
    assert named(definition_of(Loud).hooks.before_write)[-1] == "Loud.shout"
    assert named(definition_of(Loud).hooks.after_read)[-1] == "Loud.shout"


def test_a_mixin_that_is_no_model_brings_its_hooks():
    assert named(definition_of(Mixed).hooks.before_write) == ["Stamped.stamp", "Stamped._tidy", "Tagged.tag"]


def test_a_model_without_hooks_has_none():
    class Silent(Model, table="silent"):
        id: PartitionKey[str]

    hooks = definition_of(Silent).hooks
    assert (hooks.before_write, hooks.after_read) == ((), ())


def test_a_decorated_function_can_be_marked():
    def twice(method):
        @wraps(method)
        def run(self, write):
            method(self, write)
            method(self, write)

        return run

    class Doubled(Model, table="doubled"):
        id: PartitionKey[str]

        @before_write
        @twice
        def count(self, write): ...

    assert named(definition_of(Doubled).hooks.before_write) == [
        "test_a_decorated_function_can_be_marked.<locals>.Doubled.count"
    ]


def wrong_arguments():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]

        @before_write
        def check(self): ...


def too_many_arguments():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]

        @after_read
        def look(self, item): ...


def a_generator():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]

        @after_read
        def look(self):
            yield 1


def a_static_method():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]

        @after_read
        @staticmethod
        def look(item): ...


def without_a_table():
    class Wrong(Model):
        @after_read
        def look(self): ...


def overridden_by_a_value():
    class Wrong(Stamped, table="wrong"):
        id: PartitionKey[str]
        stamp: ClassVar[None] = None


def a_private_one_overridden_by_a_value():
    class Wrong(Stamped, table="wrong"):
        id: PartitionKey[str]
        _tidy = None


@pytest.mark.parametrize(
    ("define", "message"),
    [
        (wrong_arguments, "Wrong.check: is marked @before_write, so it must take (self, write: WriteKind), not (self)"),
        (too_many_arguments, "Wrong.look: is marked @after_read, so it must take (self), not (self, item)"),
        (a_generator, "Wrong.look: is a hook that contains `yield`, so calling it"),
        (a_static_method, "@after_read must mark a function written as `def` or `async def`"),
        (without_a_table, "Wrong.look: is a hook, but the model has no table"),
        (overridden_by_a_value, "Wrong.stamp: overrides a hook with None"),
        (a_private_one_overridden_by_a_value, "Wrong._tidy: overrides a hook with ModelPrivateAttr"),
    ],
)
def test_a_wrong_hook_is_refused_when_the_class_is_made(define, message):
    with pytest.raises(ModelDefinitionError) as refused:
        define()
    assert message in str(refused.value)
