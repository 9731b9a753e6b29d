"""The errors pbgnet raises: one small vocabulary, so that a caller can catch by kind.

Each message says what was wrong and what to do. Each class also derives from the built-in
exception a Python programmer would expect (``ValueError`` or ``TypeError``).
"""


class PBGNetError(Exception):
    """Base class of every error raised on purpose by pbgnet."""


class ShapeError(PBGNetError, ValueError):
    """A tensor has the wrong number of axes, or two shapes do not fit each other."""


class DomainError(PBGNetError, ValueError):
    """A number lies outside the range where the mathematics holds, or is NaN or infinite."""


class DtypeError(PBGNetError, TypeError):
    """An argument has a type, precision or device that the function does not take."""


class OptionError(PBGNetError, TypeError):
    """An option is missing, or does not belong to the method it was given to."""


class SecondDerivativeError(PBGNetError, NotImplementedError):
    """A second derivative was asked of a function that has a first one only."""


class UncertifiedError(PBGNetError, RuntimeError, AttributeError):
    """A proof was asked of something that has none, such as the error of a random estimate.

    It is an ``AttributeError`` as well: an estimator without a certificate has no `certificate_`.
    """


class UnknownNameError(PBGNetError, ValueError):
    """A name is not in the registry it was looked up in; the message lists the valid ones."""


class WidthLimitError(PBGNetError, ValueError):
    """A layer is too wide for a method whose cost grows exponentially with the width."""


class LabelError(PBGNetError, ValueError):
    """Labels are missing, or are not classes that a model knows."""


class DamagedFileError(PBGNetError, ValueError):
    """A stored file is missing, truncated, changed or not of the expected form; nothing of it was run."""


class ChangedSourceError(DamagedFileError):
    """A file of a table that is read several times is not the file it was before."""


class CacheError(PBGNetError, OSError):
    """What is kept on disk while a large table is worked on cannot be kept there."""


class OutputExistsError(PBGNetError, FileExistsError):
    """Something already stands where a result is to be written, and was left as it is."""


class PriorLeakageError(PBGNetError, ValueError):
    """The prior saw rows that are to be certified, so the theorem does not hold."""


class MemoryLimitError(PBGNetError, MemoryError):
    """There is not enough memory even for the smallest piece of work."""


class MissingDataError(PBGNetError, FileNotFoundError):
    """A data set is in no folder that was given, and could not be fetched either."""


class MissingLibraryError(PBGNetError, ImportError):
    """A kind of table was given that an optional library reads, and it is not installed."""


class MissingPlotterError(PBGNetError, ImportError):
    """Figures were asked for, and the library that draws them is not installed."""


class ClusterError(PBGNetError, ConnectionError):
    """A cluster cannot be reached, or the software for it is not installed."""


class WorkerLostError(PBGNetError, ConnectionError):
    """A worker of a training has died, or has not answered for too long; the others cannot go on alone."""


class WorkersDifferError(PBGNetError, RuntimeError):
    """The workers of a training do not run the same program on the same rows."""


class TrainingStoppedError(PBGNetError, RuntimeError):
    """A training was told to stop, has kept what it had reached, and can go on from there."""


class StoreError(PBGNetError, OSError):
    """A store of results cannot be used as asked: another version wrote it, or it cannot be written."""


class StudyStoppedError(PBGNetError, OSError):
    """What is around the runs of a study failed: data, disk, memory, device or cluster.

    Nothing is held against the runs; put it right and start the study again.
    """


class PBGNetWarning(UserWarning):
    """Base class of every warning given on purpose by pbgnet."""


class FewRowsWarning(PBGNetWarning):
    """So few rows that no certificate about them can be of use."""


class DuplicateRowsWarning(PBGNetWarning):
    """Rows that a certificate takes for independent draws occur more than once.

    Independent draws may be equal, and are kept; only copies that are no draws of their own may be dropped.
    """


class MajorityNotBeatenWarning(PBGNetWarning):
    """The certified bound is not below the error rate of always the same answer on the same rows."""


class ClassNeverAnsweredWarning(PBGNetWarning):
    """A class that certified rows have is answered on none of them."""


class SmallGroupWarning(PBGNetWarning):
    """A group has so few certified rows that little could be said of it, whatever their errors."""


class ConstantLabelWarning(PBGNetWarning):
    """One of several labels is that of all rows that a classifier is trained on, or of none."""


class SeenTestRowsWarning(PBGNetWarning):
    """Rows of a test set are also in the table that the classifier was made from."""


class InterruptedFitWarning(PBGNetWarning):
    """A fit was interrupted, and what it had reached by then was kept."""


class SmallerChunksWarning(PBGNetWarning):
    """Memory ran out, and the work goes on in smaller pieces."""


class SlowKernelWarning(PBGNetWarning):
    """The fast kernels cannot be used on this machine, and plain PyTorch stands in."""


class DamagedCacheWarning(PBGNetWarning):
    """Compiled kernels kept on disk cannot be used, and are compiled anew."""


class FileReadingWarning(PBGNetWarning):
    """A file of a table was read, but not all of it as it stands there."""


class UnseenCategoryWarning(PBGNetWarning):
    """A category was not among the fitted rows and is encoded as all zeros."""


class EmptyColumnWarning(PBGNetWarning):
    """A column had no value in the fitted rows and is left out."""


class IdColumnWarning(PBGNetWarning):
    """A column had another value in each fitted row, so that it names the rows, and is left out."""


class OddCellsWarning(PBGNetWarning):
    """A column is nearly all numbers, or dates, in the fitted rows; the other cells count as missing."""


class ManyCategoriesWarning(PBGNetWarning):
    """A column had more categories than are encoded; the rarest become all zeros."""
