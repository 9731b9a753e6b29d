"""From a network and a table to a certified model."""

from typing import Any

from numpy.typing import ArrayLike

from pbgnet.certificates.data import (
    Classes,
    Inputs,
    Label,
    LabelledRows,
    PreparedTable,
    Split,
    SplitRecord,
    code_for,
    label_values,
    read_groups,
)
from pbgnet.certificates.format import PreprocessingRecord, PriorRecord
from pbgnet.certificates.network.evaluation import certifiable, prior_network
from pbgnet.certificates.network.issue import issue_certificate, kept_margins
from pbgnet.certificates.network.model import CertifiedModel
from pbgnet.certificates.network.terms import Terms
from pbgnet.exceptions import OptionError
from pbgnet.networks import AggregatedNetwork, Code
from pbgnet.preprocessing import TablePreprocessor, column_names


def certify_network(
    network: AggregatedNetwork,
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    classes: tuple[Label, ...],
    prior: PriorRecord,
    prior_rows: ArrayLike,
    certified_rows: ArrayLike,
    code: str | ArrayLike | Code = "auto",
    feature_names: tuple[str, ...] | None = None,
    preprocessor: TablePreprocessor | None = None,
    preprocessing: PreprocessingRecord | None = None,
    split: SplitRecord | None = None,
    confidence: float = 0.95,
    n_priors: int = 1,
    constant: str = "maurer",
    certificate: str = "seeger",
    class_conditional: bool = False,
    confusion: bool = False,
    aggregation: str = "fourier",
    n_samples: int | None = None,
    seed: int | None = None,
    per_label: bool = False,
    max_error: float | None = None,
    coverage: float | None = None,
    keep_prior: bool = False,
    groups: str | ArrayLike | None = None,
    prior_margins: ArrayLike | None = None,
) -> CertifiedModel:
    """Certify a network on the user's own table, and return a model that can be saved and verified.

    Parameters
    ----------
    network : AggregatedNetwork
        Posterior and prior, without replica axes. It is converted to float64 and the Fourier sum first,
        however it was trained.
    X : DataFrame, ndarray or scipy sparse matrix, shape (N, d)
        The whole table as the user has it.
    y : array_like, shape (N,) or (N, 1); or several labels as 0 and 1, shape (N, L)
        The labels as the user has them.
    classes : sequence of labels
        Two or more, in the order of the code; or the names of several labels, in the order of their columns.
    prior : PriorRecord
        How the prior was made.
    prior_rows, certified_rows : array_like of int
        Rows on which the prior or the preprocessor was fitted, and rows to certify. Choose them without
        looking at the content of the rows, neither features nor labels.
    code : str, array_like or Code, default="auto"
        Which signs of the outputs mean which class: a name in `pbgnet.networks.CODES`, or a matrix of signs,
        one row per class and one column per output. For two classes -1 and 1 of the only output. Fix it
        without looking at the certified rows.
    feature_names : tuple of str, optional
        By default the column names of X.
    preprocessor : TablePreprocessor, optional
        Fitted only on ``take_rows(X, prior_rows)``; `verify` fits it again and compares. With more than 2**18
        prior rows, on those that `rows_to_fit` draws.
    preprocessing : PreprocessingRecord, optional
        By default "inside" with a preprocessor and "none" without.
    split : SplitRecord, optional
        How the prior rows were chosen; by default "given", or "none" if there are none. A "drawn" split is
        drawn again and compared. Only if it is "given" may rows be in neither part.
    confidence : float, default=0.95
        Probability with which all claims hold, over the draw of the certified rows.
    n_priors : int, default=1
        Number of priors that could have been chosen after looking at the certified rows.
    constant : {"maurer", "paper"}, default="maurer"
        Constant of the kl theorem.
    certificate : {"seeger", "mixture", "vote", "held-out", "auto"}, default="seeger"
        The route: the kl bound or Catoni's mixture on the linear loss, doubled for the error rate; the error
        rate of the vote through several networks; or the held-out count of errors of the prior's vote. "auto"
        computes the last two at half of delta each and deploys the one with the smaller bound (without prior
        rows: the first two). Settings of "vote" and the mixture are chosen on the prior rows.
    class_conditional : bool, default=False
        Also bound the error rate in each class. All bounds then share delta.
    confusion : bool, default=False
        Also bound how often each class is mistaken for each other class, and the error rate of each class.
        All bounds then share delta. Requires "held-out".
    aggregation : {"fourier", "monte_carlo"}, default="fourier"
        With sampling, the empirical risk is an average over n T draws, which pay half of delta. Only for one
        hidden layer, and "seeger" or "mixture".
    n_samples, seed : int, optional
        T and the seed of "monte_carlo".
    per_label : bool, default=False
        With several labels, also bound the error rate of each. All bounds then share delta. Requires
        "held-out".
    max_error, coverage : float, optional
        Also certify a threshold above which rows are answered, so that at most this share of the answers is
        wrong, or so that about this share of rows is answered. All bounds share delta. Requires "held-out".
        `CertifiedModel.predict_or_abstain` applies the threshold.
    keep_prior : bool, default=False
        Whether it was decided, before looking at the certified rows, that the posterior is the prior. Only
        for the route "vote", which then uses many more networks, and not for a posterior that was trained on
        these rows and happens to equal the prior.
    groups : str, or array_like of shape (N,), optional
        Also bound the error rate in each group, from above and below, and the largest difference between two
        groups. All bounds share delta. Requires "held-out". See `certify`.
    prior_margins : array_like, optional
        Margins `y G(x)` on prior rows that the prior was not trained on. They predict future margins better
        than those on all prior rows, and settings are chosen with them. They are saved with the model, so
        that `verify` can repeat the choices; where they come from is taken on trust.

    Returns
    -------
    CertifiedModel
        Its network is the prior if the certificate is about the prior's vote.

    Raises
    ------
    PriorLeakageError
        If a certified row is also a prior row.
    DomainError
        If rows are left out of a split that was not given by the user.
    UncertifiedError
        If the weights are so large that the outputs cannot be computed accurately enough.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network, verify
    >>> from pbgnet.networks import AggregatedNetwork
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, X, y, classes=("no", "yes"), prior=PriorRecord("zero"),
    ...                         prior_rows=[], certified_rows=range(200))
    >>> model.certificate.statement
    'With 95 % confidence over the draw of the 200 certified rows, the expected linear loss of the
     aggregate is at most 0.0569, so the error rate of its vote is at most 0.1137.'
    >>> model.predict(X[:2])
    array(['yes', 'no'], dtype='<U3')
    >>> verify(model, X, y).ok
    True
    """
    terms = Terms(
        confidence,
        n_priors,
        constant,
        certificate,
        class_conditional,
        confusion,
        aggregation,
        n_samples,
        seed,
        per_label,
        max_error,
        coverage,
        keep_prior,
    )
    names = column_names(X) if feature_names is None else feature_names
    known = Classes(tuple(label_values(classes).tolist()))
    rows = LabelledRows(X, y)
    inputs = Inputs(known, names, preprocessor, code_for(rows.labels, code, len(known)))
    table = PreparedTable(
        rows,
        inputs,
        Split(prior_rows, certified_rows, split),
        read_groups(groups, X),
    )
    return certify_prepared(
        network, table, prior=prior, terms=terms, preprocessing=preprocessing, prior_margins=prior_margins
    )


def certify_prepared(
    network: AggregatedNetwork,
    table: PreparedTable,
    *,
    prior: PriorRecord,
    terms: Terms,
    preprocessing: PreprocessingRecord | None = None,
    prior_margins: ArrayLike | None = None,
) -> CertifiedModel:
    """Certify a network on a table that is prepared already; `certify_network` says what is what."""
    network, margins = certifiable(network), kept_margins(prior_margins, prior, table.split.prior_rows)
    certificate, situation = issue_certificate(
        network,
        table,
        prior=prior,
        preprocessing=_preprocessing_record(table.inputs.preprocessor, preprocessing),
        terms=terms,
        prior_margins=margins,
    )
    deploys_prior = certificate.error_rate.predictor == "prior's vote"
    return CertifiedModel(
        prior_network(network) if deploys_prior else network,
        certificate,
        table.inputs,
        table.split,
        table.row_fingerprints,
        margins,
        situation.prior if deploys_prior else situation.posterior,
    )


def _preprocessing_record(
    preprocessor: TablePreprocessor | None, given: PreprocessingRecord | None
) -> PreprocessingRecord:
    if preprocessor is None:
        return given or PreprocessingRecord("none")
    if given is not None and given.status == "none":
        raise OptionError("A preprocessor was passed, but the preprocessing record says that there is none.")
    kinds = [column.kind for column in preprocessor.columns_]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("numeric", "categorical", "empty"))
    return given or PreprocessingRecord(
        "inside", f"imputation, one-hot encoding and scaling of columns: {counts}"
    )
