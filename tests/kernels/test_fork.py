"""A process that is forked after PyTorch has used several threads still answers."""

import os
import subprocess
import sys

import pytest

FORKED = """
import os, sys
import numpy as np, torch
from pbgnet.estimators import PBGDClassifier
torch.set_num_threads(2)
X = np.random.default_rng(0).normal(size=(4000, 50))
y = (X[:, 0] > 0).astype(int)
classifier = PBGDClassifier(n_restarts=1, max_iter=2, c=1.0, random_state=0).fit(X, y)
before = classifier.decision_function(X)
large = torch.ones(1000, 1000)
large @ large
child = os.fork()
if child == 0:
    large @ large
    torch.exp(large)
    same = np.array_equal(classifier.decision_function(X), before)
    os._exit(0 if same and torch.get_num_threads() == 1 else 1)
assert torch.get_num_threads() == 2
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_does_not_wait_for_threads_it_does_not_have():
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        env=environment,
        timeout=300,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
