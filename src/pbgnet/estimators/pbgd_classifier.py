"""The linear PAC-Bayes classifier of Germain et al. (2009), for scikit-learn."""

from numbers import Integral, Real
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from pbgnet.bounds import split_delta
from pbgnet.certificates import Inputs, PreparedTable, PriorRecord, delta_of
from pbgnet.estimators.around_fit import choose_device
from pbgnet.estimators.base import MOST_STEPS, CertifiedClassifier
from pbgnet.exceptions import LabelError
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.training import C_CANDIDATES, BoundTerms, FitResult, LinearRecipe, TrainingData, fit_linear


class PBGDClassifier(CertifiedClassifier):
    """Linear classifier trained by PAC-Bayesian gradient descent from a zero prior, with a certificate.

    Parameters
    ----------
    objective : {"bound", "catoni"}, default="bound"
        Minimise the kl bound itself, or Catoni's bound for a fixed C, which often classifies better. Either
        way, the certificate is the kl bound.
    c : "cv" or float, default="cv"
        The C of "catoni"; "cv" chooses it by cross-validation. The certificate does not depend on how it was
        chosen.
    cv : int, default=5
        Number of folds for cross-validation.
    confidence : float, default=0.95
        Probability with which the certificate holds, over the draw of the certified rows.
    constant : {"maurer", "paper"}, default="maurer"
        Constant of the bound: the exact one, or `2 sqrt(n)` as in the paper.
    class_conditional : bool, default=False
        Also bound the error rate in each class. All bounds then share delta.
    n_restarts : int, default=3
        Starting points trained side by side: the prior, and random points around it.
    n_priors : int, default=1
        Number of priors among which you choose; see the Notes of `PBGNetClassifier`. Fits of this class on
        the same features all have the prior zero and count as one.
    max_iter : int, default=200
        Maximum number of iterations of L-BFGS.
    random_state : int, RandomState instance or None, default=None
        Seed of everything random: the folds and the starting points.
    device : str, default="auto"
        Where to train; "auto" uses a GPU if there is one. The fitted network is always on the CPU.
    verbose : int, default=0
        1 shows a progress bar in a terminal.

    Attributes
    ----------
    certificate_ : Certificate
        What is proved about this classifier.
    certified_model_ : CertifiedModel
        Network, certificate and split, ready to save and verify.
    network_ : AggregatedNetwork
        The network that predicts.
    history_ : list of dict
        One record per iteration of training.
    n_iter_ : int
        Number of L-BFGS iterations in the final training.
    classes_ : ndarray of shape (2,)
        Both labels given to fit.
    n_features_in_ : int
        Number of columns of the table given to fit.
    feature_names_in_ : ndarray of str
        Their names, if it had any.

    References
    ----------
    Germain, Lacasse, Laviolette, Marchand (2009), "PAC-Bayesian learning of linear classifiers";
    Letarte et al. (2019), Section 2.2.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from pbgnet.estimators import PBGDClassifier
    >>> X, y = make_blobs(500, centers=[[-2, -2], [2, 2]], random_state=0)
    >>> classifier = PBGDClassifier(random_state=0).fit(X, y)
    >>> classifier.certificate_.linear_loss.value < 0.1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CertifiedClassifier._parameter_constraints,
        "objective": [StrOptions({"bound", "catoni"})],
        "c": [StrOptions({"cv"}), Interval(Real, 0, None, closed="neither")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, MOST_STEPS, closed="both")],
    }

    def __init__(
        self,
        *,
        objective: str = "bound",
        c: str | float = "cv",
        cv: int = 5,
        confidence: float = 0.95,
        constant: str = "maurer",
        class_conditional: bool = False,
        n_restarts: int = 3,
        n_priors: int = 1,
        max_iter: int = 200,
        random_state: Any = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.objective = objective
        self.c = c
        self.cv = cv
        self.confidence = confidence
        self.constant = constant
        self.class_conditional = class_conditional
        self.n_restarts = n_restarts
        self.n_priors = n_priors
        self.max_iter = max_iter
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def inputs_of(
        self, labels: NDArray[Any], names: tuple[str, ...] | None, preprocessor: TablePreprocessor | None
    ) -> Inputs:
        """Return what connects a table with these labels, of two classes, to the network."""
        inputs = super().inputs_of(labels, names, preprocessor)
        if len(inputs.classes) > 2:
            raise LabelError(
                "Only binary classification is supported. The type of the target is multiclass "
                f"({len(inputs.classes)} classes). Use PBGNetClassifier, which supports any number of "
                "classes."
            )
        return inputs

    def _learn(self, table: PreparedTable, seeds: list[int]) -> FitResult:
        recipe = LinearRecipe(
            bound=BoundTerms(split_delta(delta_of(self.confidence), int(self.n_priors)), self.constant),
            c=self._candidates(),
            n_folds=int(self.cv),
            n_restarts=int(self.n_restarts),
            max_iterations=int(self.max_iter),
            seed=seeds[1],
        )
        rows = table.examples(table.split.certified_rows)
        examples = TrainingData.of(*rows, unit=True, device=choose_device(self.device))
        result = fit_linear(recipe, examples, verbose=int(self.verbose))
        self.n_iter_ = len(result.history)
        return result

    def _candidates(self) -> tuple[float, ...]:
        if self.objective == "bound":
            return ()
        return C_CANDIDATES if self.c == "cv" else (float(self.c),)

    def _prior_record(self, result: FitResult, n_prior_rows: int, seeds: list[int]) -> PriorRecord:
        return PriorRecord("zero", description="all weights 0", initialisation="zero")
