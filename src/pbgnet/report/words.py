"""The prose of the report, apart from what the certificate itself says."""

__all__ = [
    "BEST",
    "CALIBRATION",
    "DESCRIPTIVE",
    "HOW_TO_READ",
    "HOW_TO_VERIFY",
    "NOT_JOINT",
    "NOT_SAID",
    "PHASE_NOTE",
    "TRIVIAL",
    "TWO_LOSSES",
]

TWO_LOSSES = (
    "Two losses, never to be mixed. The linear loss counts a narrow vote as half an error even when it is "
    "right. An error of the vote costs at least one half of it, hence twice a bound on the linear loss "
    "bounds the error rate; other routes reach the error rate without it. The held-out bounds are what the "
    "same rows prove about the prior's own classifier, without any learning from them."
)

NOT_JOINT = (
    "What is certified holds at the stated confidence, all of it together. The bounds for comparison would "
    "each be valid had it been chosen beforehand, but they do not hold jointly: to choose the smallest after "
    "looking at them costs confidence."
)

TRIVIAL = "The bound is trivial: nothing is proved. More rows, or a simpler network, may help."
BEST = "No other route gives a smaller bound on the error rate."

PHASE_NOTE = (
    "Phases are drawn equally wide, whatever their number of steps. In mini-batches, values are averages "
    "over the epoch; the numbers of the certificate were recomputed in float64 over all certified rows."
)

CALIBRATION = (
    "The aggregate is an average over networks drawn from the posterior (with two or more hidden layers: "
    "over the paper's tree networks). Its margin is large where they agree with each other and with the "
    "label; its share says how many stand behind the vote. On the dashed line the vote would be right "
    "exactly as often as that share says."
)
DESCRIPTIVE = (
    "Descriptive only: these are the certified rows. Nothing here is part of the proof, and where the "
    "deployed network has learned from them, fresh rows may look a little worse."
)

NOT_SAID = (
    "It says nothing about any single prediction, nor about a group of rows taken by itself: it bounds an "
    "average over the whole distribution.",
    "It says nothing about data from another distribution: another place, another time, another way of "
    "measuring.",
    "It does not say that the labels are right, or that the classifier is fair, useful or safe.",
)

HOW_TO_VERIFY = (
    "The certificate can be recomputed from the folder this page lies in and the table of data, by someone "
    "who trusts neither the page nor its author:"
)
HOW_TO_READ = (
    "MODEL is the folder, DATA the table that was given to train. Each step is listed with what was "
    "expected and found; the exit code is 0 only if none disagrees. What nobody can recompute, such as that "
    "a trained prior saw the prior rows only, is listed as taken on trust. Training is not repeated: the "
    "proof does not depend on how the posterior was found."
)
