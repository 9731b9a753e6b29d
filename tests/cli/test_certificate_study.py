"""``pbgnet reproduce certificates``: the page of all routes."""

import pytest

from pbgnet.training import Course, PriorCourse


@pytest.fixture
def quick(monkeypatch):
    """Settings of a command that ends in a second."""
    from pbgnet.experiments import certificates

    settings = certificates.CertificateSettings(
        prior_course=PriorCourse(n_steps=10, fewest_epochs=1, most_epochs=3), tanh_course=Course(64, 2)
    )
    monkeypatch.setattr(certificates, "CertificateSettings", lambda: settings)


@pytest.mark.usefixtures("quick")
def test_it_writes_a_page(run, run_json, tmp_path):
    page = tmp_path / "new" / "certificates.md"
    result = run("reproduce", "certificates", "--datasets", "moons", "--hidden", 3, "--out", page.parent)
    assert result.exit_code == 0, result.stderr
    assert "moons, split 0" in result.stderr
    assert page.read_text() in result.stdout
    assert "Both networks have hidden\nlayers (3,)" in page.read_text()
    found = run_json(
        "reproduce",
        "certificates",
        "--datasets",
        "moons",
        "--datasets",
        "circles",
        "--splits",
        2,
        "--hidden",
        3,
        "--out",
        page.parent,
    )
    assert [(c["dataset"], c["seed"]) for c in found["certificates"]] == [
        ("moons", 0),
        ("moons", 1),
        ("circles", 0),
        ("circles", 1),
    ]
    assert "Means over splits 0, 1." in page.read_text()


@pytest.mark.usefixtures("quick")
def test_an_unknown_data_set_leaves_no_page(run, tmp_path):
    result = run("reproduce", "certificates", "--datasets", "iris", "--out", tmp_path)
    assert result.exit_code == 2
    assert "choose one of" in result.stderr
    assert not (tmp_path / "certificates.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("certificates", "--small"), "only accepts --datasets, --splits"),
        (("smoke", "--splits", 2), "only apply to the study certificates"),
    ],
)
def test_options_of_other_studies_are_refused(run, arguments, message):
    result = run("reproduce", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
