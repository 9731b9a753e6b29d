"""What `predict` answers on sparse rows is the vote that was certified, over the whole range of doubles."""

import numpy as np
import pytest
from scipy import sparse

from pbgnet.certificates import certifiable, evaluate
from pbgnet.estimators import PBGNetClassifier
from pbgnet.networks import TWO_CLASSES


@pytest.mark.parametrize("scale", [1e-300, 1e153, 1e154, 1e200, 1e300])
def test_predict_of_sparse_rows_is_the_vote_that_was_certified(scale):
    generator = np.random.default_rng(0)
    rows = generator.uniform(-1, 1, (240, 3)) * np.where(np.arange(240) % 3, 1.0, scale)[:, None]
    y = rows[:, 0] > 0
    thin = sparse.csr_array(rows)
    classifier = PBGNetClassifier((3,), max_epochs=3, random_state=0).fit(thin, y)
    # As certificates see rows: filled in.
    certified = evaluate(certifiable(classifier.network_), thin, y.astype(int), TWO_CLASSES)
    found = classifier.decision_function(thin)
    np.testing.assert_allclose(found, certified.output, rtol=0, atol=2 * certified.error)
    assert np.array_equal(classifier.predict(thin), classifier.predict(rows))
    assert np.sum(classifier.predict(thin) != y) == certified.n_errors
