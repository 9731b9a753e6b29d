"""What a declaration says, in the sections of a model card (Mitchell et al. 2019, "Model cards").

It states what the certificate knows, and asks for what only the user knows. Nothing depends on the date: the
same model and the same answers give the same declaration.
"""

import shlex
from collections.abc import Mapping, Sequence

from pbgnet.certificates import (
    Certificate,
    CertifiedModel,
    CertifiedPredictions,
    DisagreementSubject,
    FittedSubject,
    PreprocessingRecord,
    SplitRecord,
    percent,
)
from pbgnet.declaration.blocks import (
    Block,
    Bullets,
    Commands,
    Declaration,
    Facts,
    Paragraph,
    Section,
    Shortcoming,
    Statement,
)
from pbgnet.declaration.claim_table import claim_blocks, speaks_of
from pbgnet.declaration.fields import check_answers, field_block
from pbgnet.declaration.sentences import (
    DATA_OF_COMMANDS,
    LEAD,
    LEARNED_FROM_CERTIFIED,
    METRICS,
    NO_CLASSES,
    NO_GROUPS,
    NOT_COVERED,
    NOTHING_APART,
    ORIGIN_UNKNOWN,
    TITLE,
)
from pbgnet.validation import check_kind

Certified = CertifiedModel | CertifiedPredictions

MOST_NAMED = 40
"""Most classes, or columns, that are named."""


def declare(
    certified: Certified,
    answers: Mapping[str, str] | None = None,
    *,
    folder: str = "MODEL",
    targets: Sequence[str] = (),
) -> Declaration:
    """Return the declaration of a classifier with a certificate.

    Parameters
    ----------
    certified : CertifiedModel or CertifiedPredictions
        For a fitted estimator, its `certified_model_` or `certified_predictions_`.
    answers : mapping of str to str, optional
        What only you can say, by the keys of `FIELDS`; fields without an answer are marked as open.
    folder : str, optional
        The folder it is saved in, for the command that verifies it.
    targets : sequence of str
        The column with the labels, or the column of each label, if known.

    Raises
    ------
    UnknownNameError
        If an answer has an unknown key.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet import certify
    >>> from pbgnet.declaration import declare, to_markdown
    >>> rows = np.arange(100.0).reshape(-1, 1)
    >>> certified = certify(lambda X: X[:, 0] > 50, rows, rows[:, 0] > 50)
    >>> declaration = declare(certified, {"purpose": "To tell large numbers from small ones."})
    >>> len(declaration.open_fields)
    13
    >>> print(to_markdown(declaration).splitlines()[0])
    # Declaration of a certified classifier
    """
    advice = "For a fitted estimator, pass its certified_model_ or certified_predictions_."
    check_kind("certified", certified, CertifiedModel, CertifiedPredictions, advice=advice)
    check_kind("folder", folder, str)
    check_kind("targets", targets, list, tuple)
    for target in targets:
        check_kind("a target", target, str)
    known = check_answers(answers)
    certificate = certified.certificate

    def asked(*keys: str) -> tuple[Block, ...]:
        return tuple(field_block(key, known) for key in keys)

    sections = (
        Section("Model details", (*asked("name", "owner", "contact"), *_details(certified))),
        Section("Intended use", asked("purpose", "users", "not_for")),
        Section("Factors", (*asked("factors"), *_factors(certificate))),
        Section("Metrics", (*map(Paragraph, METRICS), *asked("error_costs"))),
        Section("Evaluation data", (*asked("evaluation_data", "labels"), *_evaluation(certified, targets))),
        Section("Training data", (*asked("training_data"), *_training(certificate))),
        Section("Quantitative analyses", tuple(_analyses(certificate))),
        Section("Ethical considerations", asked("risks")),
        Section("Caveats and recommendations", (*asked("oversight", "monitoring"), *_caveats(certificate))),
        Section("How to verify", tuple(_verifying(certified, folder, targets))),
    )
    name = known.get("name", "").strip()
    title = f"Declaration: {name.splitlines()[0]}" if name else TITLE
    return Declaration(title, LEAD, sections, certificate.versions.pbgnet)


def _details(certified: Certified) -> tuple[Block, ...]:
    certificate = certified.certificate
    kind = "Labels" if certificate.of_labels else "Classes"
    versions = ", ".join(f"{name} {value}" for name, value in vars(certificate.versions).items())
    rows = (
        ("Kind", _kind(certificate)),
        (kind, _listed([repr(label) for label in certified.classes])),
        ("Certified", f"{certificate.issued_at}, by {versions}"),
    )
    return (Facts(rows), Bullets(certificate.predictors))


def _kind(certificate: Certificate) -> str:
    subject = certificate.subject
    if certificate.of_network:
        network = certificate.network.network
        sizes = "-".join(map(str, (network.n_features, *network.hidden_layer_sizes, network.n_outputs)))
        members = f"{network.n_members} networks" if (network.n_members or 1) > 1 else "a network"
        return f"{members} with binary activations, {sizes}, saved with its certificate"
    if isinstance(subject, FittedSubject):
        return f"{subject.fit.classifier} of {subject.fit.library}; not saved with its certificate"
    if isinstance(subject, DisagreementSubject):
        return "a classifier that was compared with a certified vote on unlabelled rows"
    name = getattr(subject, "name", None)
    called = "" if name is None else f" called {name!r}"
    return f"a classifier{called}, known only by its answers and not saved with its certificate"


def _factors(certificate: Certificate) -> tuple[Block, ...]:
    told = []
    for kind, words in (("given_class", "classes"), ("label", "labels"), ("group", "groups")):
        if speaks_of(certificate, kind):
            told.append(f"Error rates are claimed separately for {words}; see the quantitative analyses.")
    return tuple(map(Paragraph, told or [NOTHING_APART]))


def _evaluation(certified: Certified, targets: Sequence[str]) -> tuple[Block, ...]:
    certificate, inputs = certified.certificate, certified.certificate.inputs
    unlabelled = isinstance(certificate.subject, DisagreementSubject)
    names = getattr(certified, "feature_names", None)
    columns = "not recorded" if names is None else f"{len(names)}: {_listed(names)}"
    rows = [
        ("Rows without labels" if unlabelled else "Certified rows", str(inputs.n)),
        ("Rows of the whole table", str(certificate.n_rows_total)),
        ("Certified rows that repeat another row", str(inputs.n_duplicates)),
        ("Columns", columns),
        (
            "Column of the labels" if len(targets) < 2 else "Columns of the labels",
            ", ".join(targets) or "not recorded",
        ),
    ]
    prints = [
        (f"Fingerprint of {name}", value or "none") for name, value in vars(certificate.fingerprints).items()
    ]
    return (Facts(tuple(rows)), Facts(tuple(prints), code=True))


def _training(certificate: Certificate) -> tuple[Block, ...]:
    subject = certificate.subject
    if certificate.of_network:
        network = certificate.network
        n_others = certificate.n_rows_total - certificate.inputs.n - network.n_left_out
        rows = [
            ("Other rows, which it was trained on", str(n_others)),
            ("How those rows were chosen", _split(network.split)),
            ("Prior", f"{network.prior.how}: {network.prior.description}".rstrip(": ")),
            ("Preprocessing, of the proof", _described(network.preprocessing)),
        ]
        if certificate.error_rate.predictor == "vote":
            return (Facts(tuple(rows)), Paragraph(LEARNED_FROM_CERTIFIED))
        return (Facts(tuple(rows)),)
    if isinstance(subject, FittedSubject):
        rows = [
            ("Rows it was fitted on", str(subject.n_prior_rows)),
            ("How those rows were chosen", _split(subject.split)),
            ("Preprocessing, of the proof", _described(subject.fit.preprocessing)),
            ("Candidates compared on them", str(max(1, len(subject.fit.candidates)))),
        ]
        return (Facts(tuple(rows)),)
    return (Paragraph(ORIGIN_UNKNOWN),)


def _analyses(certificate: Certificate) -> list[Block]:
    assumed = (
        f"They hold with {percent(certificate.confidence)} % confidence if all of the following is true:"
    )
    return [
        Paragraph(certificate.summary),
        *map(Shortcoming, certificate.shortcomings),
        Statement(certificate.statement),
        *claim_blocks(certificate),
        Paragraph(certificate.yardstick),
        Paragraph(f"What these numbers rely on. {assumed}"),
        Bullets(certificate.assumptions),
    ]


def _caveats(certificate: Certificate) -> tuple[Block, ...]:
    missing = [*NOT_COVERED]
    missing += [NO_CLASSES] * (not speaks_of(certificate, "given_class") and not certificate.of_labels)
    missing += [NO_GROUPS] * (not speaks_of(certificate, "group"))
    return (Paragraph("What the certificate does not cover:"), Bullets(tuple(missing)))


def _verifying(certified: Certified, folder: str, targets: Sequence[str]) -> list[Block]:
    certificate = certified.certificate
    unlabelled = isinstance(certificate.subject, DisagreementSubject)
    option = "" if unlabelled or targets else " --target COLUMN"
    place = shlex.quote(folder)
    lines = [
        f"pip install 'pbgnet[cli]=={certificate.versions.pbgnet}'",
        f"pbgnet show {place}",
        f"pbgnet verify {place} DATA{option}",
    ]
    named = "" if option == "" else " COLUMN is the column of its labels."
    table = "the table without labels" if unlabelled else "the whole table that was given"
    told = DATA_OF_COMMANDS.format(table=table, named=named)
    return [
        Commands("\n".join(lines)),
        Paragraph(told),
        Facts((("Seal", certificate.seal),), code=True),
    ]


def _split(record: SplitRecord) -> str:
    """Describe how the rows were divided: the rule, and its parameters."""
    given = {name: value for name, value in vars(record).items() if name != "how" and value is not None}
    told = ", ".join(f"{name} {value}" for name, value in given.items())
    return f"{record.how} ({told})" if told else record.how


def _described(record: PreprocessingRecord) -> str:
    return f"{record.status}: {record.description}" if record.description else record.status


def _listed(names: Sequence[str]) -> str:
    """Name the first of many items."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
