"""The Markdown pages of the repository, as pages of the site.

They are read on GitHub as well: a link to a file that the site has not leads there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from polars_rank.conventions.tools import TOOLS

DOCS = Path(__file__).resolve().parents[1]
HOUSE = DOCS.parent
MEASURES = DOCS / "measures"
SOURCE = "https://github.com/polars-rank/polars-rank/blob/main/"
BESIDES = {  # pages outside of docs/, and what they are on the site
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}
LINK = re.compile(r"(?<!`)(!?\[[^\]]*\]\()([^)\s]+)(\))")
TABLE = "conventions.md#the-tools"
FAMILY = re.compile(r"^measures/(\w+)\.md(?:#(\w+))?$")
DRAWN = re.compile(r"^!\[[^\]]*\]\((\S+\.svg)\)$", re.MULTILINE)
TABLE_START = "| word |"
TERM = re.compile(r"^\| ([^-|][^|]*) \| (.*) \|$", re.MULTILINE)
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
SESSION = re.compile(r"(^```pycon\n.*?^```\n)", re.DOTALL | re.MULTILINE)
FRAMES = "[The frames of the examples](#the-frames-of-the-examples)"
SECTIONS = {  # of docs/index.md, and the page of each
    "Guide": "guide/index",
    "Reference": "reference/index",
    "Development": "development/index",
}

TOP = [  # what the line at the top of every page names
    *("guide/index", "questions", "measures/index", "tools/index", "reference/index"),
    *("api/index", "development/index"),
]


def pages() -> dict[str, str]:
    """Path and text of every page that somebody wrote."""
    found = {
        path: linked(file.read_text(encoding="utf-8"), file, path)
        for file, path in files().items()
    }
    families = sorted(
        path.stem for path in MEASURES.glob("*.md") if path.stem != "index"
    )
    found["measures/index.md"] += "\n" + toctree([f"families/{f}" for f in families])
    found["glossary.md"] = glossary(found["glossary.md"])
    found["questions.md"] = questions(found["questions.md"])
    return found | sections(found)


def files() -> dict[Path, str]:
    """The files that are read, and the pages that they become."""
    of_docs = {
        file: file.relative_to(DOCS).as_posix()
        for file in sorted(DOCS.rglob("*.md"))
        if file.parent.name != "measures" or file.name == "index.md"
    }
    besides = {
        HOUSE / name: path
        for name, path in BESIDES.items()
        if path not in of_docs.values()
    }
    return of_docs | besides


def copy_pictures(sources: Path) -> None:
    """Pictures lie beside the pages that show them."""
    for file in DOCS.rglob("*.png"):
        to = sources / file.relative_to(DOCS)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)


# -- links


def linked(text: str, file: Path, path: str) -> str:
    """The text of a file with every relative link as its page needs it.

    A link to the table of tools whose words are a tool's name leads to its page.
    """
    for name, tool in TOOLS.items():
        text = text.replace(
            f"[{tool.name}]({TABLE})", f"[{tool.name}](tools/{name}.md)"
        )
    shown = text.replace("\n\n```\n", "\n```\n")  # a doctest ends with an empty line
    shown = DRAWN.sub(lambda match: drawn(file.parent / match[1]), shown)
    return change_links(shown, lambda link: target(link, file, path))


def drawn(picture: Path) -> str:
    """A drawing within its page, whose colors it takes."""
    svg = picture.read_text(encoding="utf-8").strip()
    return f'<figure class="curve">{svg}</figure>'


def target(link: str, file: Path, path: str) -> str:
    """Where a link of a file leads from the page that it became."""
    name, mark, anchor = link.partition("#")
    if not name or is_outside(link):
        return link
    named = (file.parent / name).resolve().relative_to(HOUSE).as_posix()
    page = BESIDES.get(named) or named.removeprefix("docs/")
    if named not in BESIDES and not named.startswith("docs/"):
        return SOURCE + named + mark + anchor
    return relative(measure_page(page + mark + anchor), path)


def measure_page(link: str) -> str:
    """The page of a measure, or of a family: in the repository they are one."""
    match = FAMILY.match(link)
    if not match or match[1] == "index":
        return link
    name = f"{match[2]}.md" if match[2] else f"families/{match[1]}.md"
    return f"measures/{name}"


def change_links(text: str, change: Callable[[str], str]) -> str:
    """The text with its links changed, but not those in code."""
    parts = CODE.split(text)
    parts[::2] = [
        LINK.sub(lambda match: match[1] + change(match[2]) + match[3], part)
        for part in parts[::2]
    ]
    return "".join(parts)


def relative(link: str, page: str) -> str:
    """A link from the top of the site, as a page needs it."""
    if is_outside(link):
        return link
    return os.path.relpath(link, PurePosixPath(page).parent)


def is_outside(link: str) -> bool:
    """Whether a link leads to another site."""
    return re.match(r"[a-z]+:", link) is not None


# -- the sections of the index


def sections(found: Mapping[str, str]) -> dict[str, str]:
    """The index, and a page for each of its sections with the pages it names."""
    index = found["index.md"]
    made = {"index.md": f"{index}\n{toctree(TOP)}"}
    for title, path in SECTIONS.items():
        _, _, rest = index.partition(f"\n## {title}\n")
        table = rest.partition("\n## ")[0].strip()
        links = (link.partition("#")[0] for _, link, _ in LINK.findall(table))
        named = [link for link in links if link.removesuffix(".md") not in TOP]
        moved = change_links(table, lambda link, at=path: relative(link, at))
        entries = [relative(name, path).removesuffix(".md") for name in named]
        made[f"{path}.md"] = f"# {title}\n\n{moved}\n\n{toctree(entries)}"
    return made


def glossary(text: str) -> str:
    """The page of the field's words, each of which docstrings can name."""
    entries = "\n\n".join(
        "\n".join([*names.split(", "), f"  {meaning}"])
        for names, meaning in TERM.findall(text)[1:]  # the first is the heading
    )
    return f"{text.partition(TABLE_START)[0]}```{{glossary}}\n{entries}\n```\n"


def questions(text: str) -> str:
    """The page of questions: whoever lands on one sees where its frames are."""
    first, *others = text.split("\n### ")
    return "\n### ".join([first, *(SESSION.sub(rf"\1\n{FRAMES}\n", q) for q in others)])


def terms() -> list[str]:
    """The words of the glossary."""
    found = TERM.findall((DOCS / "glossary.md").read_text(encoding="utf-8"))[1:]
    return [name for names, _ in found for name in names.split(", ")]


def toctree(entries: list[str]) -> str:
    """The pages below a page, for the side bar."""
    lines = "\n".join(entries)
    return f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{lines}\n```\n"
