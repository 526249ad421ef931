"""Patterns of keys: what explains every text of the sample, and a doubt for what the sample does not prove."""

import pytest

from dynamap_async.generate.key_patterns import FieldTexts, KeyTexts, find_pattern

NUMBERS = tuple(range(24))
NAMES = tuple(f"n{number}x" for number in NUMBERS)


def candidate(field, texts, type="str", stored_as=None, is_number=False):  # noqa: A002
    return FieldTexts(field=field, type=type, stored_as=stored_as, texts=tuple(texts), is_number=is_number)


@pytest.fixture
def find():
    """Return a function (texts, candidates) -> the pattern."""

    def found(texts, *candidates, word="", partitions=NAMES, attribute="sk", kind="thing", may_add=True):
        key = KeyTexts(
            attribute=attribute,
            texts=tuple(texts),
            partitions=tuple(partitions[: len(texts)]),
            word=word,
            kind=kind,
            candidates=candidates,
            may_add=may_add,
            taken=frozenset(each.field for each in candidates),
        )
        return find_pattern(key)

    return found


@pytest.mark.parametrize(
    ("texts", "candidates", "pattern"),
    [
        ([f"A#{n}" for n in NAMES], [candidate("name", NAMES)], "A#{name}"),
        ([f"A#{n.upper()}" for n in NAMES], [candidate("name", NAMES)], "A#{name:upper}"),
        ([f"{n:05d}" for n in NUMBERS], [candidate("n", map(str, NUMBERS), "int", is_number=True)], "{n:05d}"),
        ([f"{n}" for n in NUMBERS], [candidate("n", map(str, NUMBERS), "int", is_number=True)], "{n}"),
        (
            [f"D#2024-01-{n + 1:02}" for n in NUMBERS],
            [candidate("at", [f"2024-01-{n + 1:02}T10:00:00.000000Z" for n in NUMBERS], "datetime")],
            "D#{at:day}",
        ),
        (
            [f"2023-11-14T22:13:{n + 20:02}Z" for n in NUMBERS],
            [candidate("at", [str(1_700_000_000 + n) for n in NUMBERS], "datetime", "EPOCH_SECONDS", is_number=True)],
            "{at:second}",
        ),
        (
            [f"T#{1000 + n:04d}" for n in range(-12, 12)],
            [candidate("heat", map(str, range(-12, 12)), "int", is_number=True)],
            "T#{heat:+04d}",
        ),
        (
            [f"{n + 0.25:08.2f}" for n in NUMBERS],
            [candidate("price", [f"{n}.25" for n in NUMBERS], "Decimal", is_number=True)],
            "{price:08.2f}",
        ),
        (
            [f"D#202401{n + 1:02}#x" for n in NUMBERS],
            [candidate("day", [f"2024-01-{n + 1:02}" for n in NUMBERS], "date")],
            "D#{day:%Y%m%d}#x",
        ),
        (
            [f"{n + 1:02}.01.2024" for n in NUMBERS],
            [candidate("at", [f"2024-01-{n + 1:02}T10:00:00.000000Z" for n in NUMBERS], "datetime")],
            "{at:%d.%m.%Y}",
        ),
        ([f"{n}#{n}" for n in NAMES], [candidate("name", NAMES)], "{name}#{sk_2}"),
        ([f"{n}{{}}" for n in NAMES], [], None),
        ([f"{n}#META" for n in NAMES], [candidate("name", NAMES)], "{name}#META"),
        ([f"http://x/{n}?a=b#c" for n in NAMES], [], None),
    ],
)
def test_pattern_explains_all_texts(find, texts, candidates, pattern):
    found = find(texts, *candidates)
    if pattern is None:
        assert found is None or all("{" not in part.constant for part in found.parts)
    else:
        assert found.text == pattern


@pytest.mark.parametrize("names", [[f"ada{n}" for n in NUMBERS], [f"ada_l{n}" for n in NUMBERS], [*"a_b_c_", *NAMES]])
def test_keys_of_electrodb_are_split_behind_their_labels_whatever_the_values_hold(find, names):
    of_two = [f"$note_1#author_{name}#slug_{n}" for n, name in enumerate(names)]
    author, slug = candidate("author", names), candidate("slug", [str(n) for n in range(len(names))])
    partitions = [str(n) for n in range(len(names))]
    found = find(of_two, author, slug, partitions=partitions)
    assert found.text == "$note_1#author_{author}#slug_{slug}"
    assert find([f"$blog#author_{name}" for name in names], author, word="$blog#").text == "$blog#author_{author}"


def test_few_mail_addresses_are_no_names_with_a_constant(find):
    names = ("ann", "bob", "cid", "dan", "eve")
    assert find([f"{name}@example.com" for name in names], candidate("name", names)) is None
    mails = find([f"USER#{name}@example.com" for name in names], candidate("name", names), word="USER#")
    assert mails.text == "USER#{user}"


def test_text_that_is_free_has_no_pattern(find):
    assert find(NAMES) is None


def test_free_piece_after_a_word_is_named_by_it(find):
    assert find([f"CUST#{n}" for n in NAMES], word="CUST#", kind="order").text == "CUST#{cust}"
    assert find([f"CUST#{n}" for n in NAMES], word="CUST#", kind="CUST#").text == "CUST#{cust_id}"


def test_what_never_differs_is_a_constant_only_over_enough_items_and_partitions(find):
    texts = [f"{n}#77" for n in NAMES]
    named = candidate("name", NAMES)
    assert find(texts, named).text == "{name}#77"
    few = find(texts[:19], candidate("name", NAMES[:19]))
    assert few.text == "{name}#{sk_2}"
    assert any("may be a constant" in check for check in few.checks)
    one = find(texts, named, partitions=["a"] * 24)
    assert one.text == "{name}#{sk_2}"


def test_of_two_fields_that_are_equal_the_named_one_is_taken_with_a_doubt(find):
    texts = [f"USER#{n}" for n in NAMES]
    found = find(texts, candidate("owner", NAMES), candidate("user_name", NAMES), word="USER#")
    assert found.text == "USER#{user_name}"
    assert found.checks == ("user_name in sk could also be owner",)


def test_one_text_that_differs_demotes_the_pattern(find):
    texts = [f"A#{n}" for n in NAMES[:-1]] + ["A#other"]
    assert find(texts, candidate("name", NAMES), word="A#").text == "A#{a}"


def test_small_numbers_may_be_shards(find):
    found = find([f"A#{n % 8}" for n in NUMBERS], word="A#")
    assert any("shard" in check for check in found.checks)


def test_key_that_items_may_lack_has_no_field_of_its_own(find):
    assert find([f"A#{n}" for n in NAMES], word="A#", may_add=False) is None


def test_padded_number_in_a_key_alone_is_a_number(find):
    assert find([f"A#{n:04d}" for n in NUMBERS], word="A#").text == "A#{a:04d}"
    assert find(["A#01", "A#002"], word="A#").text == "A#{a}"


@pytest.mark.parametrize(
    ("texts", "word", "type_"),
    [
        ([f"v{n}" for n in NUMBERS], "v", "int"),
        ([f"v{n}" for n in NAMES], "v", "str"),
        ([f"v{n}" for n in NUMBERS[1:]] + ["v00"], "v", "str"),
        ([f"A#{n}" for n in NUMBERS], "A#", "str"),
    ],
    ids=["numbers of versions", "other texts of versions", "not all as numbers are written", "other numbers"],
)
def test_text_in_a_key_alone_is_a_number_where_it_is_that_of_a_version(find, texts, word, type_):
    assert [part.type for part in find(texts, word=word).fields] == [type_]
