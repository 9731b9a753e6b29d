"""Names in single backticks in docstrings: a link where the name is documented, plain code where it is not.

Docstrings write ``certify`` and ``2 sqrt(n)`` alike. A page of the documents that a docstring names by its
path, such as ``docs/how-to/images.md``, becomes a link as well.
"""

import functools
import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"[A-Za-z_][\w.]*")
PAGE = re.compile(r"(?:``)?\bdocs/([\w/-]+)\.md(?:``)?")
KINDS = ("class", "function", "exception", "data", "module")


class NameOrCode(XRefRole):
    """A link if the text is a documented name, literal text otherwise, and never a warning."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return plain code for what cannot be a name."""
        if not NAME.fullmatch(self.text):
            return [nodes.literal(self.rawtext, self.text)], []
        return super().run()

    def process_link(
        self, env: BuildEnvironment, refnode: Any, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Look the name up as one of Python: first in its class and module."""
        refnode.attributes.update(refdomain="py", reftype="obj", name_or_code=True)
        refnode["py:module"] = env.ref_context.get("py:module")
        refnode["py:class"] = env.ref_context.get("py:class")
        return title, target


@functools.cache
def shortest_names(env: BuildEnvironment) -> dict[str, str]:
    """Return for each end of a documented name the shortest name with this end, methods left aside."""
    objects = env.domains.python_domain.objects
    found: dict[str, str] = {}
    for name in sorted((name for name, entry in objects.items() if entry.objtype in KINDS), key=len):
        parts = name.split(".")
        for start in range(len(parts)):
            found.setdefault(".".join(parts[start:]), name)
    return found


def link_or_code(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Find a name wherever it is documented; leave one that is not as it is."""
    if not node.get("name_or_code"):
        return None
    target = node["reftarget"]
    fullname = shortest_names(env).get(target)
    if fullname is None:
        return content
    entry = env.domains.python_domain.objects[fullname]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, fullname)


def link_pages(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Turn the path of a page in a docstring into a link."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the role, to be named as ``default_role``."""
    app.add_role("name_or_code", NameOrCode(innernodeclass=nodes.literal))
    app.connect("missing-reference", link_or_code, priority=900)
    app.connect("autodoc-process-docstring", link_pages, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
