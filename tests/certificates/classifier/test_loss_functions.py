"""What a loss of the user's is, takes and returns."""

import numpy as np
import pytest
import torch
from sklearn.metrics import brier_score_loss, log_loss
from tests.certificates.conftest import Reads, claim_of, failed, make_data, verify

from pbgnet.certificates import Claim, certify
from pbgnet.certificates.classifier.losses import NAMED_LOSSES, RowLosses, loss_quantity, measure_losses
from pbgnet.certificates.routes import Settings
from pbgnet.certificates.routes.chernoff import MeanEvidence
from pbgnet.exceptions import DomainError, DtypeError, OptionError, ShapeError


@pytest.fixture
def data():
    return make_data(61)


def far(model, X, y):
    """Distance from the label."""
    return np.abs(model.predict_proba(X)[:, 1] - y)


def test_names_of_our_losses_are_not_to_be_had():
    evidence = MeanEvidence(100, 0.1, 1e-15)
    for name in NAMED_LOSSES:
        quantity = f"loss '{name}'"
        with pytest.raises(DomainError, match="quantity must look like"):
            RowLosses(quantity, [0.5])
        with pytest.raises(DomainError, match="quantity must look like"):
            Claim(quantity, "classifier", "chernoff", 0.5, 0.05, evidence, Settings())
        for near in (f"{name}s", f"_{name}", name.upper()):
            quantity = f"loss '{near}'"
            assert claim_of(RowLosses(quantity, [0.5]), 0.05).quantity == quantity
        assert RowLosses(loss_quantity(name), [0.5]).quantity == f"{name} loss"


def test_metrics_and_other_functions_are_refused_before_any_work(data):
    def asked(X):
        raise AssertionError

    def two(model, X):
        return np.zeros(len(X))

    def named(*, model, X, y):
        return np.zeros(len(y))

    for loss in (brier_score_loss, log_loss, two, named):
        told = rf"called as loss\(model, X, y\), but {loss.__name__} does not accept.*one number per row"
        with pytest.raises(OptionError, match=told):
            certify(asked, *data, loss=loss)
    certified = certify(Reads(), *data, loss=far)
    report = verify(certified, *data, model=Reads(), loss=brier_score_loss)
    assert failed(report) == {"losses"}
    assert "but brier_score_loss does not accept" in str(report)


def test_functions_with_more_options_or_without_a_signature_are_called(data):
    def options(model, X, y, scale=0.5, **more):
        return scale * far(model, X, y)

    def anything(*arguments):
        return far(*arguments)

    def opaque(*arguments):
        return far(*arguments)

    opaque.__signature__ = "none"  # inspect refuses this, as it does some functions written in C
    for loss in (options, anything, opaque):
        assert certify(Reads(), *data, loss=loss).losses.values.max() <= 1


def test_errors_of_the_function_itself_pass_through(data):
    def broken(model, X, y):
        raise TypeError("missing a required argument of something else")

    with pytest.raises(TypeError, match="of something else") as caught:
        certify(Reads(), *data, loss=broken)
    assert type(caught.value) is TypeError


@pytest.mark.parametrize("form", ["column", "series", "frame", "list"])
def test_labels_come_as_a_flat_array(data, form):
    pd = pytest.importorskip("pandas")
    x, y = data
    index = np.arange(61)[::-1]
    given = {
        "column": y[:, None],
        "series": pd.Series(y, index=index),
        "frame": pd.DataFrame({"y": y}, index=index),
        "list": y.tolist(),
    }[form]
    seen = []

    def flat(model, X, y):
        seen.append(y)
        return far(model, X, y)

    certified = certify(Reads(), x, given, loss=flat)
    assert type(seen[0]) is np.ndarray
    np.testing.assert_array_equal(seen[0], y)
    np.testing.assert_array_equal(certified.losses.values, far(Reads(), x, y))
    assert verify(certified, x, y, model=Reads(), loss=flat).ok


def test_tensors_are_read(data):
    x, y = data

    class Net(Reads):
        def predict_proba(self, X):
            return torch.tensor(X, requires_grad=True)

        def predict(self, X):
            return torch.argmax(self.predict_proba(X), dim=1)

    def of_net(model, X, y):
        return (model.predict_proba(X)[:, 1] - torch.tensor(y)) ** 2

    class Elsewhere:
        """What NumPy cannot read before it is brought here, as from a GPU."""

        def __init__(self, values):
            self.values = values

        def __array__(self, *arguments, **options):
            raise TypeError("use Tensor.cpu() to copy it first")

        def detach(self):
            return self

        def cpu(self):
            return self.values

    def on_gpu(model, X, y):
        return Elsewhere(of_net(model, X, y).detach())

    expected = measure_losses("brier", Reads(), x, y).values
    for loss in ("brier", of_net, on_gpu):
        certified = certify(Net(), x, y, loss=loss)
        np.testing.assert_allclose(certified.losses.values, expected, atol=1e-15)
        assert verify(certified, x, y, model=Net(), loss=loss).ok


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda X: torch.tensor(X, dtype=torch.bfloat16), DtypeError, "that NumPy can read. Convert it"),
        (lambda X: torch.zeros(X.shape, device="meta"), DtypeError, "that NumPy can read. Convert it"),
        (lambda X: np.ma.array(X, mask=X < 0.1), DomainError, "The result of predict_proba is masked in"),
        (np.ma.array, None, ""),
    ],
)
def test_probabilities_that_numpy_cannot_read_are_refused(data, answer, error, message):
    class Odd(Reads):
        def predict_proba(self, X):
            return answer(X)

        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    if error is None:
        assert certify(Odd(), *data, loss="linear").losses.values.size == 61
    else:
        with pytest.raises(error, match=message):
            certify(Odd(), *data, loss="linear")


def test_answers_that_numpy_cannot_read_are_refused(data):
    for answer, error, message in (
        (
            lambda X: np.ma.array(np.zeros(61, dtype=int), mask=np.arange(61) < 2),
            DomainError,
            "masked in 2 of 61",
        ),
        (
            lambda X: torch.zeros(61, device="meta"),
            DtypeError,
            "The classifier's answers must be an array",
        ),
        (lambda X: [[0], [0, 1]], ShapeError, "regular array"),
    ):
        with pytest.raises(error, match=message):
            certify(answer, *data)
