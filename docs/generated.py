"""Writes what files repeat from the program: tables of routes and of fields, the schema, the notebook.

    python docs/generated.py

A test compares the files with what this would write.
"""

import json
import re
import runpy
from pathlib import Path

from pbgnet.certificates import ROUTES, certificate_schema
from pbgnet.declaration import FIELDS

PROJECT = Path(__file__).parent.parent
NOTEBOOK = Path(__file__).parent / "notebook.py"


def routes_table() -> str:
    """Return the table of routes as the registry has them."""
    rows = ["| route | bounds | of | by |", "|---|---|---|---|"]
    for route in ROUTES.values():
        kept = [name for name in route.predictors if not name.startswith("discarded")]
        quantity = route.quantity if route.any_loss_of is None else f"{route.quantity}, or another loss"
        quantity += ", or the Hamming loss of labels" if route.hamming_loss_of else ""
        rows.append(f"| `{route.name}` | {quantity} | {', '.join(kept)} | {route.summary} |")
    return "\n".join(rows) + "\n"


def fields_table() -> str:
    """Return the table of what only users can say in a declaration."""
    rows = ["| key | what to say |", "|---|---|"]
    rows += [f"| `{key}` | {field.question} |" for key, field in FIELDS.items()]
    return "\n".join(rows) + "\n"


def with_part(page: Path, name: str, content: str) -> str:
    """Return a page with what stands between the marks of a part replaced."""
    begin, end = f"<!-- {name}: made by docs/generated.py -->\n", f"<!-- end of {name} -->\n"
    text, part = page.read_text(encoding="utf-8"), f"{re.escape(begin)}.*?{re.escape(end)}"
    return re.sub(part, lambda _: begin + content + end, text, flags=re.DOTALL)


def generated() -> dict[Path, str]:
    """Return the files that hold generated parts, with what they should contain."""
    docs = PROJECT / "docs"
    certificates, declaration = docs / "reference" / "certificates.md", docs / "how-to" / "declare.md"
    examples, notebook_of = PROJECT / "examples", runpy.run_path(str(NOTEBOOK))["notebook_of"]
    schema = PROJECT / "src" / "pbgnet" / "certificates" / "format" / "certificate-1.schema.json"
    return {
        certificates: with_part(certificates, "routes", routes_table()),
        declaration: with_part(declaration, "fields", fields_table()),
        schema: json.dumps(certificate_schema(), indent=2) + "\n",
        examples / "quickstart.ipynb": notebook_of(examples / "quickstart.py"),
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8", newline="\n")
