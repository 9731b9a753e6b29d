"""The JSON Schema of certificates, made from the records that read and write them."""

from typing import Any

from pbgnet.certificates.format.certificate import SCHEMA, VERSIONS, Certificate
from pbgnet.certificates.format.contents import Words
from pbgnet.records import json_schema


def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema of the newest version of certificates, for other programs."""
    schema, version = json_schema(Certificate), max(VERSIONS)
    properties = {name: part for name, part in schema["properties"].items() if name != "written"}
    words = Words.schema({})["properties"]
    always = {"schema", "version", *words}
    properties = {"schema": {"const": SCHEMA}, **properties, "version": {"const": version}, **words}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"pbgnet certificate, version {version}",
        **schema,
        "properties": properties,
        "required": [name for name in properties if name in schema["required"] or name in always],
    }
