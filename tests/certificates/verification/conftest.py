"""Saved models, and hands that change them."""

import dataclasses
import json

import pytest
from safetensors.torch import load_file, save_file

from pbgnet.certificates import (
    save_model,
)


@pytest.fixture
def saved(build, tmp_path):
    """Save a model of a kind and return its folder with the data."""

    def save(kind="inside", **options):
        model, X, y = build(kind, **options)
        return save_model(model, tmp_path / kind), X, y

    return save


def edit_certificate(folder, path, value):
    file = folder / "certificate.json"
    data = json.loads(file.read_text())
    parent = data
    *keys, last = path.split(".")
    for key in keys:
        parent = parent[int(key) if isinstance(parent, list) else key]
    last = int(last) if isinstance(parent, list) else last
    parent[last] = value(parent[last]) if callable(value) else value
    file.write_text(json.dumps(data))


def edit_tensor(folder, name, change):
    file = folder / "model.safetensors"
    tensors = load_file(file)
    change(tensors[name])
    save_file(tensors, file)


def told(model, **changes):
    """State something else of the network."""
    subject = dataclasses.replace(model.certificate.network, **changes)
    certificate = dataclasses.replace(model.certificate, subject=subject)
    return dataclasses.replace(model, certificate=certificate)
