"""Build the documentation site: ``python docs/build.py``.

Everything that can be read here is a page of ``docs/``, follows from the registry or
is a docstring. ``docs/web`` gathers it in a folder of sources, from which Sphinx makes
the site. Nothing is fetched, and a warning is an error. The extra ``docs`` installs
what it takes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main
from web import api, measures, published, tools

DOCS = Path(__file__).resolve().parent
BUILT = DOCS.parent / "build" / "docs"


def main(output: Path, processes: str = "auto") -> int:
    """Write the sources and build the site; the status of Sphinx."""
    sources = output / "sources"
    shutil.rmtree(sources, ignore_errors=True)
    shutil.rmtree(output / "site", ignore_errors=True)
    for path, text in written().items():
        file = sources / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    published.copy_pictures(sources)
    arguments = ["-q", "-W", "--keep-going", "-j", processes, "-b", "html"]
    folders = [str(sources), str(output / "site")]
    cache = ["-c", str(DOCS / "web"), "-d", str(output / "cache")]
    return build_main([*arguments, *cache, *folders])


def written() -> dict[str, str]:
    """Path and text of every source."""
    return published.pages() | measures.written() | tools.written() | api.pages()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=BUILT, help="default: build/docs"
    )
    chosen = parser.parse_args().output.resolve()
    status = main(chosen)
    if not status:
        print(f"file://{chosen / 'site' / 'index.html'}")
    sys.exit(status)
