"""Certify a convolution on images of digits, with the images of the prior rows varied while it learns.

The data set (1797 digits of 8 x 8 pixels, ten classes) comes with scikit-learn. Half of the images train the
networks, each turned, stretched and shifted a little in every epoch; the other half is counted as it is.
"""

from sklearn.datasets import load_digits

from pbgnet import PBGNetClassifier


def main() -> None:
    """Train, certify, verify."""
    digits = load_digits()
    classifier = PBGNetClassifier(
        convolution=(6, 3, 2), augmentation="small", n_members=2, max_epochs=15, random_state=0
    )
    classifier.fit(digits.images, digits.target)
    print(classifier.certificate_.statement)
    print(f"Verified: {classifier.verify(digits.images, digits.target).ok}")


if __name__ == "__main__":
    main()
