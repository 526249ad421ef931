"""What is asked of reads about items that do not fit their model."""

import pytest

from dynamap_async import Attr, Model, PartitionKey, Query
from dynamap_async.errors import OperationError


class Note(Model, table="notes"):
    author: PartitionKey[str]
    title: Attr[str]


class Card(Model):
    title: Attr[str]


def test_other_words_are_refused():
    with pytest.raises(OperationError, match=r"invalid\('drop'\).*\"error\", \"skip\" or \"raw\""):
        Query(Note).invalid("drop")


def test_what_is_collected_is_asked_for_last():
    with pytest.raises(OperationError, match=r"after .select\(...\)"):
        Query(Note).invalid("raw").select(Note.title)
    with pytest.raises(OperationError, match=r"must come after \.into"):
        Query(Note).invalid("raw").into(Card)
