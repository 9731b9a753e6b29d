"""What the classifiers of shipped networks have in common: from outputs to the user's labels."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import ExportedNetwork, Inputs


class ShippedClassifier(ABC):
    """A network that answers rows as they were passed to fit; the object itself is callable.

    Attributes
    ----------
    inputs : Inputs
        Classes, feature names and preprocessor.
    """

    inputs: Inputs

    @abstractmethod
    def output(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the outputs of the network for rows.

        Parameters
        ----------
        X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
            Rows as they were passed to fit.

        Returns
        -------
        ndarray of float64, shape (n,), or (n, r) for r > 1 outputs

        Raises
        ------
        ShapeError, DtypeError, DomainError
            For other columns, for values that are not numbers, and for NaN or infinity without a
            preprocessor.
        """

    @property
    @abstractmethod
    def exported_network(self) -> ExportedNetwork:
        """Which network it is, for a certificate about exactly this one."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, under scikit-learn's name."""
        return self.inputs.classes.array

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return one number per row for two classes, above 0 for the second; for more, the score of each.

        Returns
        -------
        ndarray of float64, shape (n,), or (n, c) for c > 2 classes
        """
        return self.inputs.decisions(self.output(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the label the network answers with, for each row."""
        return self.inputs.answers(self.output(X))

    def __call__(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return `predict`: the classifier as a function."""
        return self.predict(X)
