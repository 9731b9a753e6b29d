"""The errors and warnings of pbgnet, so that a caller can catch them by kind.

Each message says what was wrong and what to do. Each class also derives from the built-in
exception a Python programmer would expect (``ValueError`` or ``TypeError``).
"""


class PBGNetError(Exception):
    """Base class of all errors that pbgnet raises on purpose."""


class ShapeError(PBGNetError, ValueError):
    """A tensor or table has the wrong number of axes, or two shapes do not match."""


class DomainError(PBGNetError, ValueError):
    """A number is outside the range where the mathematics holds, or is NaN or infinite."""


class DtypeError(PBGNetError, TypeError):
    """An argument has a type, precision or device that the function does not support."""


class OptionError(PBGNetError, TypeError):
    """An option is missing, or does not belong to the method it was given to."""


class SecondDerivativeError(PBGNetError, NotImplementedError):
    """A second derivative was requested from a function that only has a first one."""


class UncertifiedError(PBGNetError, RuntimeError, AttributeError):
    """A certificate was requested for something that has none, or does not match it.

    It is also an ``AttributeError``: an estimator without a certificate has no `certificate_`.
    """


class UnknownNameError(PBGNetError, ValueError):
    """A name is not in the registry it was looked up in; the message lists the valid ones."""


class WidthLimitError(PBGNetError, ValueError):
    """A layer is too wide for a method whose cost grows exponentially with the width."""


class LabelError(PBGNetError, ValueError):
    """Labels are missing, or are not among the classes of a model."""


class DamagedFileError(PBGNetError, ValueError):
    """A stored file is missing, truncated, changed or has the wrong format; nothing in it was executed."""


class ChangedSourceError(DamagedFileError):
    """A file of a table that is read several times has changed in between."""


class CacheError(PBGNetError, OSError):
    """The temporary files of a large table cannot be written to disk."""


class OutputExistsError(PBGNetError, FileExistsError):
    """The output already exists; it was left as it is."""


class PriorLeakageError(PBGNetError, ValueError):
    """The prior was trained on rows that are to be certified, so the theorem does not hold."""


class MemoryLimitError(PBGNetError, MemoryError):
    """There is not enough memory even for the smallest piece of work."""


class MissingDataError(PBGNetError, FileNotFoundError):
    """A data set is in none of the given folders and could not be downloaded."""


class MissingLibraryError(PBGNetError, ImportError):
    """Reading this kind of table requires an optional library that is not installed."""


class MissingPlotterError(PBGNetError, ImportError):
    """Drawing figures requires a library that is not installed."""


class ClusterError(PBGNetError, ConnectionError):
    """A cluster cannot be reached, or its software is not installed."""


class WorkerLostError(PBGNetError, ConnectionError):
    """A training worker died or did not answer in time; the others cannot continue without it."""


class WorkersDifferError(PBGNetError, RuntimeError):
    """The workers of a training do not run the same program on the same rows."""


class TrainingStoppedError(PBGNetError, RuntimeError):
    """Training was asked to stop; its state was saved, and it can resume from there."""


class StoreError(PBGNetError, OSError):
    """A store of results cannot be used: another version wrote it, or it cannot be written."""


class StudyStoppedError(PBGNetError, OSError):
    """A study stopped because of its environment: data, disk, memory, device or cluster.

    No run is recorded as failed; fix the problem and start the study again.
    """


class PBGNetWarning(UserWarning):
    """Base class of all warnings that pbgnet gives on purpose."""


class FewRowsWarning(PBGNetWarning):
    """There are too few rows for a useful certificate."""


class DuplicateRowsWarning(PBGNetWarning):
    """Some certified rows occur more than once, although a certificate assumes independent draws.

    Independent draws may be equal and are kept; only drop rows that are copies of another draw.
    """


class MajorityNotBeatenWarning(PBGNetWarning):
    """The bound is not below the error rate of always giving the most frequent answer."""


class ClassNeverAnsweredWarning(PBGNetWarning):
    """A class that occurs in the certified rows is never predicted on them."""


class SmallGroupWarning(PBGNetWarning):
    """A group has so few certified rows that its bound says little, however few errors there are."""


class ConstantLabelWarning(PBGNetWarning):
    """One of several labels applies to all rows a classifier is trained on, or to none."""


class SeenTestRowsWarning(PBGNetWarning):
    """Some rows of a test set are also in the training table."""


class InterruptedFitWarning(PBGNetWarning):
    """Training was interrupted; the best weights found so far were kept."""


class SmallerChunksWarning(PBGNetWarning):
    """Memory ran out, and the work continues in smaller pieces."""


class SlowKernelWarning(PBGNetWarning):
    """The fast kernels cannot be used on this machine, so plain PyTorch is used instead."""


class DamagedCacheWarning(PBGNetWarning):
    """Compiled kernels cached on disk cannot be used and are compiled again."""


class FileReadingWarning(PBGNetWarning):
    """A file was read, but some of it was not taken literally."""


class UnseenCategoryWarning(PBGNetWarning):
    """A value did not occur in the fitted rows and is encoded as all zeros, or as missing."""


class EmptyColumnWarning(PBGNetWarning):
    """A column has no values in the fitted rows and is left out."""


class IdColumnWarning(PBGNetWarning):
    """A column has a different value in each fitted row, like an ID, and is left out."""


class OddCellsWarning(PBGNetWarning):
    """Nearly all cells of a column are numbers, or dates; the other cells count as missing."""


class ManyCategoriesWarning(PBGNetWarning):
    """A column has more categories than are encoded separately."""
