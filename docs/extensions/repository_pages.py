"""Links out of ``docs/`` into the repository, which the site has to answer too.

Pages link to ``../../results/README.md`` or ``../../examples/quickstart.py``, as on a hosting service. On
the site a text is a page (`PAGES`, or one made for a table of results), an example is its page in the
gallery, and any other file, such as the HTML report of a study, is copied and linked.

A page with ``<!-- page: results/README.md -->`` shows the text of that file.
"""

import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PROJECT = Path(__file__).resolve().parents[2]

PAGES = {
    "README.md": "index",
    "CHANGELOG.md": "developing/changelog",
    "CONTRIBUTING.md": "developing/contributing",
    "benchmarks/RESULTS.md": "results/measurements",
    "results/README.md": "results/paper",
    "results/certificates.md": "results/certificates",
    "results/tables/README.md": "results/tables",
    "results/mnist10/README.md": "results/mnist10",
    "results/digits/README.md": "results/digits",
    "results/digit-labels/README.md": "results/digit-labels",
}
"""Texts of the repository, and the pages that show them."""

INCLUDED = re.compile(r"^<!-- page: (\S+) -->\n", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+)( .*)$", re.MULTILINE)


def study_pages() -> dict[str, str]:
    """Return the tables of the studies that are texts, and the pages that are made for them."""
    found = sorted((PROJECT / "results").glob("*/tables/*.md"))
    tables = [path.relative_to(PROJECT).as_posix() for path in found]
    return {table: f"results/generated/{table.split('/')[1]}-{Path(table).stem}" for table in tables}


def page_of(target: str) -> str | None:
    """Return the page that shows a file of the repository, None if none does."""
    if target.startswith("docs/") and target.endswith(".md"):
        return target.removeprefix("docs/").removesuffix(".md")
    if re.fullmatch(r"examples/\w+\.py", target):
        return f"gallery/{Path(target).stem}"
    if target.rstrip("/") == "examples":
        return "gallery/index"
    return (PAGES | study_pages()).get(target)


def on_site(link: str, source: str, page: str) -> str:
    """Return a link written in the file `source` of the repository as it has to be on a page of the site."""
    path, mark, anchor = link.partition("#")
    if not path or re.match(r"[a-z]+:", link):
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    shown = page_of(target)
    if shown is None:
        return posixpath.relpath(target, posixpath.dirname(f"docs/{page}"))
    suffix = ".rst" if shown.startswith("gallery/") else ".md"
    return posixpath.relpath(shown, posixpath.dirname(page) or ".") + suffix + mark + anchor


def with_links(text: str, source: str, page: str) -> str:
    """Return a text with its links turned, those in blocks of code left alone."""

    def turned(part: str) -> str:
        return LINK.sub(lambda match: match[1] + on_site(match[2], source, page) + match[3], part)

    return "".join(part if part.startswith("```") else turned(part) for part in CODE.split(text))


def levelled(text: str) -> str:
    """Return a text whose headings begin at the first level and skip none."""
    above: list[int] = []

    def heading(match: re.Match[str]) -> str:
        level = len(match[1])
        while above and above[-1] >= level:
            above.pop()
        above.append(level)
        return "#" * len(above) + match[2]

    return "".join(
        part if part.startswith("```") else HEADING.sub(heading, part) for part in CODE.split(text)
    )


def read_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Put texts of the repository in their places, and turn links."""
    if app.env.doc2path(page).suffix != ".md":
        return

    def included(match: re.Match[str]) -> str:
        app.env.note_dependency(str(PROJECT / match[1]))
        text = levelled((PROJECT / match[1]).read_text(encoding="utf-8"))
        return with_links(text, match[1], page)

    text = with_links(source[0], f"docs/{page}.md", page)
    source[0] = INCLUDED.sub(included, text)


class LinkFiles(SphinxTransform):
    """Links to files, which MyST offers for download, open in the browser instead."""

    default_priority = 20

    def apply(self, **kwargs: Any) -> None:
        """Turn them, and remember what has to be copied."""
        files = self.env.metadata[self.env.docname].setdefault("repository_files", [])
        for node in list(self.document.findall(download_reference)):
            folder = (Path(self.env.srcdir) / self.env.docname).parent
            path = (folder / node["reftarget"]).resolve()
            if not path.is_relative_to(PROJECT) or path.is_relative_to(self.env.srcdir):
                continue
            target = f"repository/{path.relative_to(PROJECT).as_posix()}"
            depth = self.env.docname.count("/")
            link = nodes.reference("", "", *node.children, refuri="../" * depth + target, internal=True)
            files.append(path.relative_to(PROJECT).as_posix())
            inside = nodes.inline("", "", link)
            node.replace_self(inside)


def write_study_pages(app: Sphinx) -> None:
    """Make a page for every table of a study."""
    for table, page in study_pages().items():
        path = Path(app.srcdir) / f"{page}.md"
        path.parent.mkdir(exist_ok=True)
        text = f"---\norphan: true\n---\n<!-- page: {table} -->\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def copy_files(app: Sphinx, error: Exception | None) -> None:
    """Copy the files that pages link to."""
    if error is not None:
        return
    for metadata in app.env.metadata.values():
        for name in metadata.get("repository_files", []):
            copy = Path(app.outdir) / "repository" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PROJECT / name, copy)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect everything."""
    app.connect("builder-inited", write_study_pages)
    app.connect("source-read", read_page)
    app.add_transform(LinkFiles)
    app.connect("build-finished", copy_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
