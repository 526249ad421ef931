"""Scores per user and game; an index of keys only ranks the users of a game."""

import pytest

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, SortKey, attr

SCENARIO = "game-scores"


class GameScore(Model, table="GameScores"):
    user: PartitionKey[str] = attr(name="UserId")
    game: SortKey[str] = attr(name="GameTitle")
    top_score: Attr[int | None] = attr(name="TopScore", default=None)

    by_score = GlobalIndex("GameTitleIndex", partition_key="game", sort_key="top_score", projection=KEYS_ONLY)


class RatedScore(GameScore, table="GameScores"):
    rating: Attr[str] = attr(name="Rating", default="unrated")


MODELS = {"GameScores": GameScore}

REQUESTS = {
    "zero-scores": lambda session: session.query(GameScore).where(
        GameScore.game == "Comet Quest", GameScore.top_score == 0
    ),
    "leaderboard": lambda session: session.query(GameScore).where(GameScore.game == "Comet Quest").descending(),
    "all-comet-quest-on-table": lambda session: session.scan(GameScore).where(GameScore.game == "Comet Quest"),
}


@pytest.fixture(scope="module")
def wire_items():
    scored = [
        {"UserId": {"S": user}, "GameTitle": {"S": "Comet Quest"}, "TopScore": {"N": "0"}}
        for user in ("123", "201", "301")
    ]
    return {"GameScores": [*scored, {"UserId": {"S": "400"}, "GameTitle": {"S": "Comet Quest"}}]}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


@pytest.mark.parametrize("table", MODELS)
def test_created_table_has_the_published_keys_and_indexes(table, published, described):
    assert described(table) == published.tables[table]


@pytest.mark.parametrize("table", MODELS)
def test_stored_items_are_the_published_ones_to_the_letter(table, wire_items, stored, by_key):
    assert by_key(table, stored(table)) == by_key(table, wire_items[table])


@pytest.mark.asyncio(loop_scope="module")
async def test_score_of_zero_is_indexed_and_a_missing_score_is_not(ask, filled, published):
    assert {score.top_score for score in await ask("zero-scores")} == {0}
    on_table = published.requests["all-comet-quest-on-table"]["expect"]["count"]
    in_index = published.requests["leaderboard"]["expect"]["count"]
    assert await filled.scan(GameScore).count() == on_table
    assert await filled.query(GameScore).where(GameScore.game == "Comet Quest").count() == in_index


@pytest.mark.asyncio(loop_scope="module")
async def test_index_gives_exactly_its_keys_and_those_of_the_table(filled, published):
    query = filled.query(GameScore).where(GameScore.game == "Comet Quest")
    rows = await query.select(GameScore.user, GameScore.game, GameScore.top_score)
    assert sorted(rows) == [("123", "Comet Quest", 0), ("201", "Comet Quest", 0), ("301", "Comet Quest", 0)]
    held = published.requests["zero-scores"]["expect"]["attributes_union"]
    assert held == sorted(("UserId", "GameTitle", "TopScore"))


@pytest.mark.asyncio(loop_scope="module")
async def test_whole_items_of_an_index_of_keys_come_from_the_table_in_its_order(filled, published):
    query = filled.query(GameScore).where(GameScore.game == "Comet Quest").index(GameScore.by_score)
    assert query.explain().completion is None  # the keys are all that a score has
    full = filled.query(RatedScore).where(RatedScore.game == "Comet Quest").descending()
    assert full.explain().completion is not None
    assert [(score.user, score.top_score) for score in await full] == [
        (score.user, score.top_score) for score in await query.descending()
    ]
    assert len(await full) == published.requests["leaderboard"]["expect"]["count"]
    assert [score.rating async for score in full.limit(2)] == ["unrated", "unrated"]
