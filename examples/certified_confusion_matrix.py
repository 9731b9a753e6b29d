"""Tell handwritten digits apart, and prove for each pair how often one is taken for the other.

The data set (1797 digits of 8 by 8 pixels, ten classes) comes with scikit-learn. Half of the rows
train the networks; the errors on the other half bound the error rate, that of each digit, and each
cell of the confusion matrix, all of them together at the confidence.
"""

from sklearn.datasets import load_digits

from pbgnet import PBGNetClassifier
from pbgnet.certificates import Certificate, round_up


def show_matrix(certificate: Certificate, classes: list[int]) -> None:
    """Print upper bounds on the share of each class that is answered with each other class."""
    cells = {(claim.given_class, claim.answered): claim.value for claim in certificate.confusion}
    errors = {claim.given_class: claim.value for claim in certificate.class_conditional}
    print("class " + "".join(f"{answer:>7}" for answer in classes) + "   any error")
    for label in map(repr, classes):
        bounds = [cells.get((label, repr(answer))) for answer in classes]
        shown = "".join(f"{'-' if bound is None else round_up(bound, 3):>7}" for bound in bounds)
        print(f"{label:>5} {shown}   {round_up(errors[label], 3):>9}")


def main() -> None:
    """Fit, certify, print, and verify."""
    X, y = load_digits(return_X_y=True)  # noqa: N806
    classifier = PBGNetClassifier(confidence=0.95, confusion=True, random_state=0).fit(X, y)
    certificate = classifier.certificate_
    print(certificate.statement)
    show_matrix(certificate, [int(label) for label in classifier.classes_])
    print(classifier.verify(X, y).summary)


if __name__ == "__main__":
    main()
