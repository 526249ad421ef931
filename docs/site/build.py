"""Builds the documentation as a site, strictly and offline: `nox -s site` leaves it in build/site/site.

The pages stay as the hosts of repositories show them. They are copied without what readers do not see, and pages
that are generated from the code are added: each public name, each module, the codes of errors. Nothing generated is
committed.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import griffe

import dynamap_async.errors

HERE = Path(__file__).parent
DOCS = HERE.parent
CHECKOUT = DOCS.parent
BUILD = CHECKOUT / "build" / "site"
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCE = f"{PROJECT['urls']['Source']}/blob/main/"

FENCED = re.compile(r"^(```.*?^```)$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```(?P<language>\w+) (?:file=(?P<file>[\w.]+)|no-run: .*)$", re.MULTILINE)
BESIDE = re.compile(
    r"^```(?P<language>py|ts) (?P<library>\w+)\n(?P<old>.*?)^```\n\n```python\n(?P<new>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
LINK_OR_CODE = re.compile(
    r"(?P<label>!?\[[^\]]*\])\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)|(?<!\[)`(?P<name>\w+)`"
)
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
MOST_RESULTS = 3
"""Among so many results of the search the right page has to be."""
RIGHT_ANSWERS = 0.9
"""So many of the questions have to find it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A public name, and the page of the reference that has it."""

    module: str
    name: str
    page: str

    @property
    def path(self) -> str:
        """The dotted path by which programs import it, which is its anchor too."""
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the site: where it stands, and its Markdown."""

    path: str
    text: str

    @property
    def summary(self) -> str:
        """Return the first sentence below the title."""
        prose = FENCED.sub("", self.text).split("\n\n")[1:]
        first = next((each for each in prose if each.strip() and each.lstrip()[0] not in "#|-<!:"), "")
        plain = re.sub(r"\[([^\]]*)\][\[(][^)\]]*[)\]]", r"\1", " ".join(first.replace("**", "").split()))
        return re.split(r"(?<=[.?])\s", plain)[0].rstrip(":")


# --- the names


def section_of(text: str, heading: str) -> str:
    """Return what stands between a heading of a page and the next one."""
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def slug(text: str) -> str:
    """Return text as a part of an address."""
    return re.sub(r"\W+", "-", text.lower()).strip("-")


def groups() -> Iterator[tuple[str, list[str]]]:
    """Yield the groups of names that reference/index.md has, which a test there compares with `__all__`."""
    rows = section_of((DOCS / "reference" / "index.md").read_text("utf-8"), "dynamap_async").splitlines()
    for row in rows:
        if row.startswith("| ") and "`" in row:
            title, names = row.strip("| ").split(" | ")
            yield title[0].upper() + title[1:], re.findall(r"`(\w+)`", names)


def modules() -> list[str]:
    """Return the public modules that reference/index.md names."""
    text = section_of((DOCS / "reference" / "index.md").read_text("utf-8"), "Modules")
    return list(dict.fromkeys(re.findall(r"^\|? ?`(dynamap_async\.[\w.]+)`", text, re.MULTILINE)))


def public_names(package: griffe.Module, module: str) -> list[str]:
    """Return what a module exports, or, where it says nothing, the public names that it defines."""
    found = package[module.partition(".")[2]]
    if found.exports is not None:
        return [str(each) for each in found.exports]
    return [name for name, each in found.members.items() if not name.startswith("_") and not each.is_alias]


def entries(package: griffe.Module) -> list[Entry]:
    """Return all public names, each once: what the package itself exports stands there and not under its module."""
    found = [
        Entry("dynamap_async", name, f"reference/names/{slug(title)}.md") for title, names in groups() for name in names
    ]
    own = {each.name for each in found}
    for module in modules():
        page = f"reference/modules/{module.partition('.')[2]}.md"
        for name in public_names(package, module):
            at_home = name in own and package[name].final_target.path == member(package, module, name).path
            if not at_home:
                found.append(Entry(module, name, page))
    return found


def member(package: griffe.Module, module: str, name: str) -> griffe.Object:
    """Return the definition behind a name of a module."""
    found = package[f"{module.partition('.')[2]}.{name}"]
    return found.final_target if isinstance(found, griffe.Alias) else found


# --- the pages of the reference


def name_pages(names: list[Entry]) -> Iterator[Page]:
    """Yield a page for each group of the package's own names."""
    for title, group in groups():
        path = f"reference/names/{slug(title)}.md"
        intro = "Import these from `dynamap_async`. [What is public](../index.md) lists all names.\n"
        yield Page(
            path,
            f"# {title}\n\n{intro}\n"
            + "".join(directive(each) for each in names if each.name in group and each.page == path),
        )


def module_pages(names: list[Entry], package: griffe.Module) -> Iterator[Page]:
    """Yield a page for each public module."""
    for module in modules():
        path = f"reference/modules/{module.partition('.')[2]}.md"
        docstring = package[module.partition(".")[2]].docstring
        paragraphs = docstring.value.split("\n\n") if docstring else []
        intro = "\n\n".join(f"```text\n{each}\n```" if "├" in each else each for each in paragraphs) + "\n"
        if module == "dynamap_async.errors":
            intro += f"\n{codes()}\n"
        yield Page(path, f"# {module}\n\n{intro}\n" + "".join(directive(each) for each in names if each.page == path))


def directive(entry: Entry) -> str:
    """Return the line for which mkdocstrings writes the entry of a name."""
    inherited = entry.module != "dynamap_async.errors"  # its classes would all repeat what the first ones have
    return f"::: {entry.path}\n    options:\n      inherited_members: {str(inherited).lower()}\n\n"


def codes() -> str:
    """Return the table of error classes: their codes, with the section about each, and what they are a kind of."""
    pages = {
        heading.lstrip("# "): page.name
        for page in sorted((DOCS / "reference").glob("*errors.md"))
        for heading in HEADING.findall(page.read_text("utf-8"))
    }
    rows = []
    for name in dynamap_async.errors.__all__:
        kind = getattr(dynamap_async.errors, name)
        if isinstance(kind, type) and issubclass(kind, dynamap_async.errors.DynamapError):
            bases = ", ".join(f"`{each.__name__}`" for each in kind.__bases__ if each is not Exception)
            rows.append(f"| `{name}` | [{kind.code}](../{pages[kind.code]}#{kind.code}) | {bases} |")
    return "\n".join(["| class | code | is a |", "| --- | --- | --- |", *rows])


def reference_json(names: list[Entry], package: griffe.Module) -> str:
    """Return all names as data: kind, signature, first line of the docstring, and page."""
    found = []
    for entry in names:
        each = (
            member(package, entry.module, entry.name)
            if entry.module != "dynamap_async"
            else package[entry.name].final_target
        )
        signature = each.signature() if each.is_function or each.is_class else None
        summary = each.docstring.value.partition("\n")[0] if each.docstring else None
        page = f"{entry.page.removesuffix('.md')}.html#{entry.path}"
        found.append(
            {"name": entry.path, "kind": each.kind.value, "signature": signature, "summary": summary, "page": page}
        )
    return json.dumps(found, indent=1)


# --- the pages of docs/


def for_readers(page: Page, names: dict[str, Entry]) -> Page:
    """Return a page as readers of the site see it.

    What only tests read is left out. Files are named in the titles of their blocks, and code stands beside older code.
    Links that leave docs/ lead to the repository. A public name links to its entry where the page names it first.
    """
    seen: set[str] = set()
    parts = FENCED.split(BESIDE.sub(beside, page.text))
    for at, part in enumerate(parts):
        if part.startswith("```"):
            parts[at] = FENCE.sub(titled, part)
        else:
            prose = COMMENT.sub("", part)
            lines, headings = HEADING.split(prose), HEADING.findall(prose)
            linked = [LINK_OR_CODE.sub(lambda found: link(page.path, found, names, seen), each) for each in lines]
            parts[at] = "".join(each for pair in zip(linked, [*headings, ""], strict=True) for each in pair)
    return replace(page, text="".join(parts))


def titled(found: re.Match[str]) -> str:
    """Return the first line of a block that is a file, or that does not run, as readers see it."""
    return f'```{found["language"]} title="{found["file"]}"' if found["file"] else f"```{found['language']}"


def beside(found: re.Match[str]) -> str:
    """Return the code of another library and of this one, as two blocks side by side where there is room."""
    old = f'```{found["language"]} title="{found["library"]}"\n{found["old"]}```'
    new = f'```python title="dynamap_async"\n{found["new"]}```'
    return f'<div class="beside" markdown>\n\n{old}\n\n{new}\n\n</div>'


def link(page: str, found: re.Match[str], names: dict[str, Entry], seen: set[str]) -> str:
    """Return what becomes of a link, or of a name in code."""
    name = found["name"]
    if name is not None:
        if name not in names or name in seen:
            return found[0]
        seen.add(name)
        return f"[`{name}`][{names[name].path}]"
    target, anchor = found["target"], found["anchor"] or ""
    if not target or ":" in target:
        return found[0]
    path = (DOCS / page).parent.joinpath(target).resolve()
    if path.is_relative_to(DOCS) and path.suffix in {".md", ".svg", ".png"}:
        return found[0]
    return f"{found['label']}({SOURCE}{PurePosixPath(path.relative_to(CHECKOUT))}{anchor})"


def written_pages(names: dict[str, Entry]) -> list[Page]:
    """Return the pages of docs/, as readers see them."""
    paths = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]
    return [for_readers(Page(path, (DOCS / path).read_text("utf-8")), names) for path in paths]


# --- how they hang together


def navigation(pages: list[Page]) -> list[Any]:
    """Return the tree of pages in the order of navigation.toml; what it does not name ends its folder's section."""
    sections = tomllib.loads((HERE / "navigation.toml").read_text("utf-8"))["section"]
    waiting = dict.fromkeys(each.path for each in pages)
    taken: list[Any] = [take("index.md", waiting)]
    for section in sections:
        section["tree"] = [take(each, waiting) for each in section.get("pages", [])]
        for group in section.get("group", []):
            group["tree"] = [take(each, waiting) for each in group.get("pages", [])]
            folder = f"reference/{group.get('generated')}/"
            made = [take(each, waiting) for each in list(waiting) if each.startswith(folder)]
            modules_of = [{each.removeprefix(folder).removesuffix(".md"): each} for each in made]
            group["tree"] += modules_of if group.get("generated") == "modules" else made
            section["tree"].append({group["title"]: group["tree"]})
    for path in list(waiting):
        folder = path.rpartition("/")[0]
        home = next(
            each
            for section in sections
            for each in (*section.get("group", []), section)
            if each.get("folder") == folder
        )
        home["tree"].append(take(path, waiting))
    return taken + [{section["title"]: section["tree"]} for section in sections if section["tree"]]


def take(path: str, waiting: dict[str, None]) -> str:
    """Take a page out of those that have no place yet; a KeyError names one that is not there."""
    del waiting[path]
    return path


def leaves(tree: list[Any]) -> Iterator[str]:
    """Yield the paths of a tree of pages, in order."""
    for each in tree:
        if isinstance(each, str):
            yield each
        else:
            for below in each.values():
                yield from leaves(below if isinstance(below, list) else [below])


def toml(value: Any) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def configuration(pages: list[Page]) -> str:
    """Return the generator's configuration: zensical.toml, and what is known elsewhere."""
    by_path = {each.path: each for each in pages}
    first, *tree = navigation(pages)
    sections = {
        title: [{path: by_path[path].summary} for path in leaves(below)]
        for each in tree
        for title, below in each.items()
    }
    known = {
        "site_url": PROJECT["urls"]["Documentation"],
        "nav": [{"Home": first}, *tree],
    }
    social = [{"icon": "fontawesome/brands/git-alt", "link": PROJECT["urls"]["Source"], "name": "Source"}]
    text = (HERE / "zensical.toml").read_text("utf-8")
    lines = "".join(f"{key} = {toml(each)}\n" for key, each in known.items())
    text = text.replace("[project]\n", f"[project]\n{lines}").replace(
        "[project.extra]\n", f"[project.extra]\nsocial = {toml(social)}\n"
    )
    return f'{text}\n[project.plugins.llmstxt]\nfull_output = "llms-full.txt"\nsections = {toml(sections)}\n'


def write_sources() -> list[Entry]:
    """Write all that the generator reads to build/site, and return the names that the site must have."""
    package = griffe.load("dynamap_async", search_paths=[CHECKOUT], resolve_aliases=True)
    assert isinstance(package, griffe.Module)
    names = entries(package)
    linked = {each.name: each for each in reversed(names) if each.module in {"dynamap_async", "dynamap_async.errors"}}
    generated = [*name_pages(names), *module_pages(names, package)]
    pages = [*written_pages(linked), *generated]
    shutil.rmtree(BUILD, ignore_errors=True)
    for page in pages:
        file = BUILD / "pages" / page.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.text, "utf-8")
    for picture in DOCS.rglob("*.svg"):
        shutil.copy(picture, BUILD / "pages" / picture.relative_to(DOCS))
    for name in ("site.css", "site.js"):
        shutil.copy(HERE / name, BUILD / "pages")
    (BUILD / "pages" / "reference.json").write_text(reference_json(names, package), "utf-8")
    (BUILD / "zensical.toml").write_text(configuration(pages), "utf-8")
    return names


# --- the search

QUIET = re.compile(r"decisions/|reference/(names|modules)/|changelog\.html")
"""Pages that are found by their titles and what follows them directly: their many words would hide all others."""
REPEATED = re.compile(r"coming-from/")
"""Pages whose sections have the same titles, those of tasks: they are found as wholes."""
FIRST = re.compile(r"^\s*(<p>.*?</p>)?", re.DOTALL)
ATTRIBUTE = "-attribute</code>"
"""What stands in the titles of attributes on these pages: their class is found instead."""
BOUND = re.compile(r"#dynamap_async\.Bound\w+\.(\w+)$")
"""Methods of what a session makes: many of these classes have the same ones, of which the first is found."""


def with_keywords(index: dict[str, Any]) -> dict[str, Any]:
    """Return the index of the search with the words of keywords.toml behind titles, and without what hides pages."""
    keywords: dict[str, str] = tomllib.loads((HERE / "keywords.toml").read_text("utf-8"))["pages"]
    items: list[dict[str, Any]] = []
    methods: set[str] = set()
    for item in index["items"]:
        page, _, anchor = item["location"].partition("#")
        if anchor and REPEATED.match(page):
            continue
        words = "" if anchor else keywords.get(page.replace(".html", ".md"), "")
        text = item["text"]
        if QUIET.match(page):
            method = BOUND.search(item["location"])
            if ATTRIBUTE in item["title"] or (method and method[1] in methods):
                continue
            if method:
                methods.add(method[1])
            text = FIRST.match(text)[0]  # type: ignore[index]  # it matches the empty text
        items.append({**item, "title": f"{item['title']} ({words})" if words else item["title"], "text": text})
    items.sort(key=lambda item: bool(QUIET.match(item["location"])))
    return {**index, "items": items}


def questions() -> list[tuple[str, str]]:
    """Return what questions.toml asks the search, each with the page that answers it."""
    pages: dict[str, list[str]] = tomllib.loads((HERE / "questions.toml").read_text("utf-8"))["pages"]
    return [(question, page) for page, asked in pages.items() for question in asked]


def search_faults(site: Path) -> list[str]:
    """Return the questions whose page is not among the first results of the search, where they are too many."""
    if shutil.which("node") is None:
        told = "no Node, in which the search would run: nobody asked it"
        print(told)
        return [told] if os.environ.get("CI") == "true" else []
    asked = questions()
    command = ["node", HERE / "search.js", site, *(question for question, _ in asked)]
    answers = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    missed = [
        f"the search for {question!r} finds {', '.join(found[:MOST_RESULTS]) or 'nothing'}; not {page}"
        for (question, page), found in zip(asked, map(json.loads, answers), strict=True)
        if page.replace(".md", ".html") not in found[:MOST_RESULTS]
    ]
    print(f"the search answers {len(asked) - len(missed)} of {len(asked)} questions")
    return missed if len(missed) > (1 - RIGHT_ANSWERS) * len(asked) else []


# --- what must hold of the result


def faults(site: Path, names: list[Entry]) -> Iterator[str]:
    """Yield what the generator does not look for: names without an entry, and what pages ask of others."""
    own = {each.name for each in names if each.module == "dynamap_async"}
    yield from (f"docs/reference/index.md does not name {each}" for each in dynamap_async.__all__ if each not in own)
    for entry in names:
        page = site / entry.page.replace(".md", ".html")
        if f'id="{entry.path}"' not in page.read_text("utf-8"):
            yield f"{entry.path} has no entry on {entry.page}"
    for page in sorted(site.rglob("*.html")):
        text = page.read_text("utf-8")
        asked = re.findall(
            r'<(?:script|img|iframe)[^>]* src="(https?://[^"]*)|<link[^>]* rel="?stylesheet"?[^>]* href="(https?://[^"]*)',
            text,
        )
        yield from (f"{page.relative_to(site)} loads {''.join(each)}" for each in asked)
        if "<!-- run" in text or "<!-- engine" in text:
            yield f"{page.relative_to(site)} shows what only tests read"


def main() -> None:
    """Build the site, and fail for anything that is wrong with it."""
    names = write_sources()
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", BUILD / "zensical.toml"], check=True
    )
    index = BUILD / "site" / "search.json"
    index.write_text(json.dumps(with_keywords(json.loads(index.read_text("utf-8")))), "utf-8")
    shutil.copy(CHECKOUT / "dynamap_async" / "cli" / "guide.md", BUILD / "site")
    with (BUILD / "site" / "llms.txt").open("a", encoding="utf-8") as listed:
        address = f"{PROJECT['urls']['Documentation']}guide.md"
        listed.write(f"\n## Guide\n\n- [Guide](<{address}>): ten rules, and a program for each task\n")
    found = [*faults(BUILD / "site", names), *search_faults(BUILD / "site")]
    if found:
        sys.exit("\n".join(found))
    print(f"{len(names)} names, {len(list((BUILD / 'site').rglob('*.html')))} pages: {BUILD / 'site' / 'index.html'}")


if __name__ == "__main__":
    main()
