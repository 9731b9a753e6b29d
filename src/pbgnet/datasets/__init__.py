"""The paper's data sets by name, with checked files, splits, and a packed file to carry them."""

from pbgnet.datasets.dataset import Dataset, SourceRecord
from pbgnet.datasets.images import IMAGES, ImageDataset, load_images
from pbgnet.datasets.mnist import load_mnist
from pbgnet.datasets.packed import load_packed, pack
from pbgnet.datasets.registry import DATASETS, PAPER_DATASETS, load_dataset
from pbgnet.datasets.scaling import SCALINGS
from pbgnet.datasets.splits import TrainTest, certified_split, paper_split, training_subset

__all__ = [
    "DATASETS",
    "IMAGES",
    "PAPER_DATASETS",
    "SCALINGS",
    "Dataset",
    "ImageDataset",
    "SourceRecord",
    "TrainTest",
    "certified_split",
    "load_dataset",
    "load_images",
    "load_mnist",
    "load_packed",
    "pack",
    "paper_split",
    "training_subset",
]
