"""A library as ElectroDB keeps it: keys in lower case with a name before each part, and collections of entities.

Books, genres and authors share partitions of indexes, told by ElectroDB's marker. Where a sort key begins alike, one
request reads several kinds. The published genre calls one key of an index otherwise than the index does, so genres are
not in that index.
"""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template

SCENARIO = "library"

LIBRARY = Table(
    "electro",
    partition_key="pk",
    sort_key="sk",
    discriminator="__edb_e__",
    indexes=tuple(
        GlobalIndex(f"gsi{n}pk-gsi{n}sk-index", partition_key=f"gsi{n}pk", sort_key=f"gsi{n}sk") for n in (1, 2, 3)
    ),
)
WRITER = "$library#authorlastname_{last_name:lower}#authorfirstname_{first_name:lower}"


class Entity(Model, table=LIBRARY, abstract=True):
    version: Attr[str] = attr(name="__edb_v__", default="1")
    pk: PartitionKey[str]
    sk: SortKey[str]


class Book(Entity, kind="book"):
    book: Attr[str] = attr(name="bookId")
    title: Attr[str] = attr(name="bookTitle")
    description: Attr[str]
    publisher: Attr[str]
    released: Attr[str] = attr(name="releaseDate")
    first_name: Attr[str] = attr(name="authorFirstName")
    last_name: Attr[str] = attr(name="authorLastName")
    isbn: Attr[str]
    lent: Attr[str | None] = attr(name="loanStartDate", default=None)
    due: Attr[str] = attr(name="loanEndDate")
    member: Attr[str | None] = attr(name="memberId", default=None)

    pk: PartitionKey[str] = template("$library#isbn_{isbn:lower}")
    sk: SortKey[str] = template("$detail#book_1#bookid_{book:lower}")
    gsi1pk: Attr[str | None] = template("$library#memberid_{member:lower}")
    gsi1sk: Attr[str] = template("$account#book_1#loanenddate_{due:lower}")
    gsi2pk: Attr[str] = template(WRITER)
    gsi2sk: Attr[str] = template("$works#book_1#loanenddate_{due:lower}")
    gsi3pk: Attr[str] = template("$library#booktitle_{title:lower}")
    gsi3sk: Attr[str] = template("$titles#book_1#releasedate_{released:lower}")


class Genre(Entity, kind="genre"):
    genre: Attr[str]
    subgenre: Attr[str]
    isbn: Attr[str]
    book: Attr[str] = attr(name="bookId")
    title: Attr[str] = attr(name="bookTitle")
    first_name: Attr[str] = attr(name="authorFirstName")
    last_name: Attr[str] = attr(name="authorLastName")

    pk: PartitionKey[str] = template("$library#isbn_{isbn:lower}")
    sk: SortKey[str] = template("$detail#genre_1#genre_{genre:lower}#subgenre_{subgenre:lower}")
    gsi1pk: Attr[str] = template("$library#genre_{genre:lower}")
    gsi1sk: Attr[str] = template("$genre_1#subgenre_{subgenre:lower}")
    gsi2pk: Attr[str] = template(WRITER)
    gsi2sk: Attr[str] = template("$works#genre_1#genre_{genre:lower}#subgenre_{subgenre:lower}")
    gsi3pk: Attr[str] = template("$library#booktitle_{title:lower}")
    gsi13sk: Attr[str] = template("$titles#genre_1#genre_{genre:lower}#subgenre_{subgenre:lower}")


class Author(Entity, kind="author"):
    first_name: Attr[str] = attr(name="authorFirstName")
    last_name: Attr[str] = attr(name="authorLastName")
    birthday: Attr[str]
    bio: Attr[str]
    genres: Attr[set[str]] = attr(default_factory=set)

    pk: PartitionKey[str] = template("$library#authorlastname_{last_name:lower}")
    sk: SortKey[str] = template("$author_1#authorfirstname_{first_name:lower}#birthday_{birthday:lower}")
    gsi2pk: Attr[str] = template(WRITER)
    gsi2sk: Attr[str] = template("$works#author_1")


class Member(Entity, kind="member"):
    member: Attr[str] = attr(name="memberId")
    since: Attr[str] = attr(name="membershipStartDate")
    until: Attr[str] = attr(name="membershipEndDate")
    address: Attr[dict[str, str]]

    pk: PartitionKey[str] = template("$library#memberid_{member:lower}")
    sk: SortKey[str] = template("$member_1")
    gsi1pk: Attr[str] = template("$library#memberid_{member:lower}")
    gsi1sk: Attr[str] = template("$account#member_1")


MODELS = {"electro": LIBRARY}

REQUESTS = {
    "copies": lambda session: session.query(Book).where(Book.isbn == "978-A"),
    "book-and-genres": lambda session: session.query(Book, Genre).where(Book.isbn == "978-A"),
    "author": lambda session: session.query(Author).where(Author.last_name == "Woolf"),
    "author-by-name": lambda session: session.query(Author).where(
        Author.last_name == "Woolf", Author.first_name == "Virginia"
    ),
    "body-of-work": lambda session: session.query(Author, Book, Genre).where(
        Author.last_name == "Woolf", Author.first_name == "Virginia"
    ),
    "copies-of-author": lambda session: session.query(Book).where(
        Book.last_name == "Woolf", Book.first_name == "Virginia"
    ),
    "available-copies": lambda session: session.query(Book).where(
        Book.last_name == "Woolf", Book.first_name == "Virginia", Book.due == "AVAILABLE"
    ),
    "loans": lambda session: session.query(Book).where(Book.member == "M7"),
    "account": lambda session: session.query(Member, Book).where(Member.member == "M7"),
    "editions": lambda session: session.query(Book).where(Book.title == "Orlando"),
    "genre": lambda session: session.query(Genre).where(Genre.genre == "Fantasy"),
    "subgenre": lambda session: session.query(Genre).where(Genre.genre == "Fantasy", Genre.subgenre == "Satire"),
    "genres-of-author": lambda session: session.query(Genre).where(
        Genre.last_name == "Woolf", Genre.first_name == "Virginia", Genre.genre == "Fantasy"
    ),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("electro") == published.tables["electro"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    assert by_key("electro", stored("electro")) == by_key("electro", wire_items["electro"])


@pytest.mark.asyncio(loop_scope="function")
async def test_a_loan_enters_the_account_and_a_return_leaves_it(session, items):
    await session.tables.create(LIBRARY)
    await session.put_many(items)
    copy = Parts(isbn="978-A", book="B1")
    on_loan = session.query(Book).where(Book.member == "M7")
    before = {book.book for book in await on_loan}
    await session.update(Book, copy).set(Book.member, "M7").set(Book.due, "2024-05-01")
    assert {book.book for book in await on_loan} - before == {"B1"}
    await session.update(Book, copy).remove(Book.member).set(Book.due, "AVAILABLE")
    assert {book.book for book in await on_loan} == before
