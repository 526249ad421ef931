"""Every link leads somewhere, and every page can be reached from the first."""

import re
from pathlib import Path

import pytest

FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
INLINE_CODE = re.compile(r"`[^`\n]*`")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
PROMISE = re.compile(
    r"\b(planned|not yet|(is|are) to come|will be (added|supported|possible)"
    r"|(later|future|coming) (version|release)|next release|coming soon)\b",  # an item has a next version, too
    re.IGNORECASE,
)
PAGES_OF_PROMISES = ("docs/status.md", "docs/changelog.md")
MOST_WORDS = 1_500
LONG = {"docs/changelog.md": "it grows with each change"}
"""Page -> why it may have more words."""
RECORDS = "docs/decisions/"
"""What was decided stays as it was written."""
FIGURES = re.compile(r"<!-- figures: .*?<!-- end of figures -->", re.DOTALL)
"""What a program writes from the results of benchmarks is looked up rather than read: it does not count."""
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def prose(page: Path) -> str:
    return FENCED.sub("", COMMENT.sub("", page.read_text("utf-8")))


def anchors(page: Path) -> list[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    found: list[str] = []
    for heading in HEADING.findall(prose(page)):
        slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        same = sum(each == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", each) is not None for each in found)
        found.append(f"{slug}-{same}" if same else slug)
    return found


def links(page: Path) -> list[tuple[Path, str]]:
    """Return the relative links of a page: the file, and the anchor or nothing."""
    found = LINK.findall(INLINE_CODE.sub("", prose(page)))
    return [
        ((page.parent / target).resolve() if target else page, anchor)
        for target, anchor in found
        if not re.match(r"https?:|mailto:", target)
    ]


def defines(file: Path, test: str) -> bool:
    return file.exists() and (not test or f"def {test}(" in file.read_text("utf-8"))


def test_links_lead_to_files_and_headings(page):
    dead = [
        f"{target}#{anchor}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert dead == []


def test_every_page_can_be_reached_from_the_first(checkout, pages):
    reached: set[Path] = set()
    waiting = [checkout / "docs/index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [target for target, _anchor in links(page) if target.suffix == ".md" and target.exists()]
    assert [str(page.relative_to(checkout)) for page in pages if page not in reached] == []


def test_a_page_has_one_title_and_no_empty_ends(page):
    text = page.read_text("utf-8")
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", FENCED.sub("", text), re.MULTILINE)) == 1
    assert text.endswith("\n")
    assert re.search(r"[ \t]+$", text, re.MULTILINE) is None


def test_a_page_opens_with_the_question_that_it_answers(page, checkout):
    if page.parent.relative_to(checkout).as_posix() in ("docs/how-to", "docs/tutorials", "docs/explanation"):
        assert re.match(r"# .+\n\n\*\*[A-Z].+\?\*\*\n\n", page.read_text("utf-8")) is not None


def test_a_page_is_not_too_long_to_be_read(page, checkout):
    name = page.relative_to(checkout).as_posix()
    if name not in LONG and not name.startswith(RECORDS):
        seen = COMMENT.sub("", FIGURES.sub("", page.read_text("utf-8")))
        assert len(seen.split()) <= MOST_WORDS


def test_pages_that_may_be_long_are_long(checkout):
    assert [name for name in LONG if len((checkout / name).read_text("utf-8").split()) <= MOST_WORDS] == []


def test_tests_that_a_page_names_exist(page, checkout):
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text("utf-8"))
    missing = [f"{file}::{test}" for file, test in named if not defines(checkout / file, test)]
    assert missing == []


def test_only_the_status_page_and_the_changelog_speak_of_what_is_to_be_built(page, checkout):
    if page.relative_to(checkout).as_posix() not in PAGES_OF_PROMISES:
        words = " ".join(FENCED.sub("", page.read_text("utf-8")).split())
        assert [words[max(0, found.start() - 40) : found.end() + 40] for found in PROMISE.finditer(words)] == []


@pytest.mark.parametrize("forbidden", ["/work/", "/tmp/", "/home/"])
def test_no_page_names_a_place_on_one_machine(page, forbidden):
    assert forbidden not in page.read_text("utf-8")
