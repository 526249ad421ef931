"""What the site adds to the pages, and leaves out of them; `nox -s site` builds the whole of it."""

import importlib
import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import pytest

griffe = pytest.importorskip("griffe")
SCRIPTS = Path(__file__).parents[2] / "docs/site"


def load(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


build = load("build")
publish = load("publish")


@pytest.fixture(scope="module")
def package():
    return griffe.load("dynamap_async", search_paths=[build.CHECKOUT])


@pytest.fixture(scope="module")
def names(package):
    return build.entries(package)


def readers_see(text, page="how-to/a.md"):
    known = {"Query": build.Entry("dynamap_async", "Query", "reference/names/operations.md")}
    return build.for_readers(build.Page(page, text), known).text


@pytest.mark.parametrize("hidden", ["<!-- engine -->\n", "<!-- run\nassert True\n-->\n", "<!-- figures: summary -->\n"])
def test_what_only_tests_read_is_left_out(hidden):
    assert readers_see(f"# A\n\n{hidden}Text.\n") == "# A\n\nText.\n"


def test_a_comment_inside_of_code_stays():
    assert "<!-- run" in readers_see("# A\n\n```text\n<!-- run\n-->\n```\n")


def test_the_name_of_a_file_becomes_the_title_of_its_block():
    assert readers_see("```python file=test_x.py\nx\n```\n") == '```python title="test_x.py"\nx\n```\n'
    assert readers_see("```json file=x.json\n{}\n```\n") == '```json title="x.json"\n{}\n```\n'
    assert readers_see("```python no-run: it needs AWS\nx\n```\n") == "```python\nx\n```\n"


def test_a_link_out_of_the_documentation_leads_to_the_repository():
    assert readers_see("[a](../../benchmarks/README.md#b)") == f"[a]({build.SOURCE}benchmarks/README.md#b)"
    assert readers_see("[a](../examples/shop/app.py)") == f"[a]({build.SOURCE}docs/examples/shop/app.py)"
    for link in ("[a](query.md#b)", "[a](#b)", "[a](https://a.b/c)", "![a](../explanation/performance.svg)"):
        assert readers_see(link) == link


def test_a_public_name_links_to_its_entry_where_a_page_names_it_first():
    assert readers_see("`Query` and `Query`") == "[`Query`][dynamap_async.Query] and `Query`"
    for text in ("# `Query`\n", "[`Query`](query.md)", "```python\n`Query`\n```", "`Query(Post)`"):
        assert readers_see(text) == text


def test_old_code_stands_beside_the_new():
    shown = readers_see("```py boto3\nold\n```\n\n```python\nnew\n```\n\n```text\nout\n```\n")
    assert shown.startswith('<div class="beside" markdown>\n\n```py title="boto3"\nold\n```\n\n```python title=')
    assert shown.endswith("\n\n</div>\n\n```text\nout\n```\n")


def test_every_public_name_has_an_entry(names):
    entries = {each.path for each in names}
    for name in build.modules():
        if name not in {"dynamap_async.mypy", "dynamap_async.limits"}:  # they have no __all__; mypy may be absent
            public = importlib.import_module(name).__all__
            assert [each for each in public if not {f"{name}.{each}", f"dynamap_async.{each}"} & entries] == []
    public = importlib.import_module("dynamap_async").__all__
    assert [each for each in public if f"dynamap_async.{each}" not in entries] == []
    assert len(entries) == len(names)


def test_every_page_has_one_place_in_the_navigation(names, package):
    pages = [*build.written_pages({}), *build.name_pages(names), *build.module_pages(names, package)]
    assert sorted(build.leaves(build.navigation(pages))) == sorted(each.path for each in pages)


def test_every_page_has_a_sentence_that_says_what_it_is_about(names, package):
    assert [each.path for each in build.written_pages({}) if len(each.summary) < 15] == []


def test_keywords_and_questions_of_the_search_are_about_pages_that_exist():
    keywords = tomllib.loads((SCRIPTS / "keywords.toml").read_text("utf-8"))["pages"]
    questions = build.questions()
    assert [page for page in {*keywords, *(page for _, page in questions)} if not (build.DOCS / page).exists()] == []
    assert len({question for question, _ in questions}) == len(questions) >= 40


def test_the_search_finds_pages_by_keywords_and_is_not_flooded_by_the_reference():
    found = [
        {"location": "reference/names/a.html#b", "title": "B", "text": "<p>First.</p> <p>Second.</p>"},
        {"location": "reference/names/a.html#b.c", "title": "c <code>class-attribute</code>", "text": ""},
        {"location": "coming-from/boto3.html#1", "title": "1. Connect", "text": "x"},
        {"location": "how-to/expire-items.html", "title": "Expire items", "text": "<p>a</p> <p>b</p>"},
        {"location": "how-to/expire-items.html#more", "title": "More", "text": ""},
    ]
    assert build.with_keywords({"config": 1, "items": found}) == {
        "config": 1,
        "items": [
            {**found[3], "title": "Expire items (time to live, TTL)"},
            found[4],
            {**found[0], "text": "<p>First.</p>"},
        ],
    }


def test_the_search_finds_a_method_of_several_bound_classes_once():
    def item(name):
        return {"location": f"reference/names/a.html#dynamap_async.{name}", "title": name, "text": ""}

    found = [item(name) for name in ("BoundQuery.stream", "BoundScan.stream", "BoundScan.page", "Session.stream")]
    assert build.with_keywords({"items": found})["items"] == [found[0], found[2], found[3]]


def versions(folder):
    return [(each["version"], each["aliases"]) for each in json.loads((folder / "versions.json").read_text("utf-8"))]


def test_the_latest_release_is_the_one_with_the_highest_number(tmp_path):
    site, folder = tmp_path / "site", tmp_path / "all"
    site.mkdir()
    for version in ("dev", "0.9.0", "v0.10.1", "0.9.1"):
        (site / "index.html").write_text(version, "utf-8")
        publish.publish(site, folder, version)
    assert versions(folder) == [("0.10", ["latest"]), ("0.9", []), ("dev", [])]
    assert {name: (folder / name / "index.html").read_text("utf-8") for name in ("latest", "0.10", "0.9", "dev")} == {
        "latest": "v0.10.1",
        "0.10": "v0.10.1",
        "0.9": "0.9.1",
        "dev": "dev",
    }
    assert "url=latest/" in (folder / "index.html").read_text("utf-8")


def test_without_a_release_the_first_page_is_that_of_what_there_is(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("dev", "utf-8")
    publish.publish(tmp_path / "site", tmp_path / "all", "dev")
    assert versions(tmp_path / "all") == [("dev", [])]
    assert "url=dev/" in (tmp_path / "all" / "index.html").read_text("utf-8")
