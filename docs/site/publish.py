"""Puts the built site beside those of other versions: `python docs/site/publish.py FOLDER VERSION`.

A release `0.2.1` becomes `FOLDER/0.2`, and `FOLDER/latest` if no later one is there; anything else, such as `dev`, only
a folder of that name. `FOLDER/versions.json` lists them, newest first, for the switch in the header of each page.
"""

import json
import re
import shutil
import sys
from pathlib import Path

REDIRECT = (
    '<!doctype html><meta charset="utf-8"><title>dynamap</title><meta http-equiv="refresh" content="0; url={0}/">\n'
)


def number(name: str) -> tuple[int, ...]:
    """Return a version as numbers that can be compared; what is no release comes before all."""
    return tuple(map(int, name.split("."))) if re.fullmatch(r"\d+\.\d+", name) else ()


def publish(site: Path, folder: Path, version: str) -> None:
    """Copy a site into the folder of all versions, in place of what its version had.

    Args:
        site: the built site.
        folder: holds a folder for each version.
        version: the release, as `0.2.1`, or another name.
    """
    release = re.match(r"v?(\d+\.\d+)\.\d+$", version)
    name = release[1] if release else version
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(site, folder / name)
    names = sorted((each.parent.name for each in folder.glob("*/index.html")), key=number, reverse=True)
    names = [each for each in names if each != "latest"]
    newest = names[0] if number(names[0]) else None
    if newest is not None and newest == name:
        shutil.rmtree(folder / "latest", ignore_errors=True)
        shutil.copytree(site, folder / "latest")
    listed = [{"version": each, "title": each, "aliases": ["latest"] if each == newest else []} for each in names]
    (folder / "versions.json").write_text(json.dumps(listed, indent=1), "utf-8")
    (folder / "index.html").write_text(REDIRECT.format("latest" if newest else name), "utf-8")
    (folder / ".nojekyll").touch()


if __name__ == "__main__":
    publish(Path(__file__).parents[2] / "build" / "site" / "site", Path(sys.argv[1]), sys.argv[2])
