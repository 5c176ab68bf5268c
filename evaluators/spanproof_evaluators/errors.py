"""What can go wrong in the evaluators.

SpanproofError                     (in spanproof_instrumentation.errors)
└── EvaluatorError
    ├── DocumentError              a file that people write, and that cannot be read as what it is to be
    │   ├── SuiteError             a suite file
    │   ├── VerifierFileError      a verifier file
    │   ├── PolicyError            a release policy
    │   ├── BaselineError          a saved baseline
    │   ├── CertificateError       a report's certificate
    │   ├── JournalError           the journal of failures
    │   ├── TrustCardError         a suite's trust card
    │   ├── RubricError            a judge's rubric
    │   ├── ResultFileError        a file of results in one of the formats that people have
    │   ├── JudgeSourcesError      a file of task texts and sources for judges
    │   ├── LabelsError            a file of labels, or one to import
    │   ├── CalibrationError       a record of a judge's calibration
    │   └── EnvironmentFileError   a file that defines an environment               (in environments)
    ├── JudgeInputError            what is no text, handed to a judge
    ├── JudgementError             a judgement that contradicts itself, or a text that holds none
    ├── JudgeSetupError            a judge that cannot be asked: package, key, name, price, file
    ├── SameFamilyError            a judge of the agent's own model family
    ├── MeasureError               a number without what is needed to doubt it, or arithmetic on a measure
    ├── FilterError                a condition that names no trials
    ├── NoTrialsError              nothing matches
    ├── UnequalSetsError           two variants that cannot be compared
    ├── PublishError               results that an endpoint did not take
    ├── ChoiceError                an id that fits no trial, or several
    ├── UnreadableEndStateError    a recorded text that is no end state             (in model)
    ├── PlaceholderError           a placeholder that nothing can stand for         (in model)
    ├── NoWorldError               a recording that no world can be made for        (in environments)
    ├── MissingExtraError          a package that an environment is made of         (in environments)
    ├── UnknownEnvironmentError    a name or file that is no environment            (in environments)
    ├── UnknownTokenError          an id that no token has                           (in cli)
    ├── AgentError                 an agent that cannot be run as it is written      (in harness)
    ├── ExampleFolderError         a folder with what is no example suite            (in harness)
    ├── RunError                   a run that cannot begin, or cannot go on          (in harness)
    ├── WorldError                 a world that cannot be made                       (in harness)
    ├── NothingRecordedError       a trial of which no span came                    (in pytest_plugin)
    ├── DemoFolderError            a folder with what the demo did not make          (in demo)
    ├── CollectorProcessError      a collector that did not come up or end well      (in demo)
    └── AgentProcessError          an agent process of the demo that did not end well (in demo)

The facts of a message are attributes too.
"""

from collections.abc import Sequence

from spanproof_instrumentation.errors import SpanproofError


class EvaluatorError(SpanproofError):
    """Anything that the evaluators refuse on purpose."""


class DocumentError(EvaluatorError):
    """A file that people write, and that cannot be read as what it is to be."""

    def __init__(self, path: str, key: str, why: str) -> None:
        where = f"{path}: {key}: " if key else f"{path}: "
        super().__init__(f"{where}{why}")
        self.path = path
        self.key = key
        self.why = why


class SuiteError(DocumentError):
    """A suite file that cannot be read as one."""


class VerifierFileError(DocumentError):
    """A verifier file that cannot be read as one."""


class PolicyError(DocumentError):
    """A release policy that cannot be read as one."""


class BaselineError(DocumentError):
    """A baseline that is not there, cannot be read, or is there already."""


class CertificateError(DocumentError):
    """A file that is no certificate of a report."""


class JournalError(DocumentError):
    """A journal of failures that cannot be read or written."""


class TrustCardError(DocumentError):
    """A suite's trust card that cannot be read or written."""


class RubricError(DocumentError):
    """A judge's rubric that cannot be read as one."""


class ResultFileError(DocumentError):
    """A file of results that is of no known format."""


class JudgeSourcesError(DocumentError):
    """A file of task texts and sources for judges that cannot be read as one."""


class LabelsError(DocumentError):
    """A file of labels, or one to import, that cannot be read as one."""


class CalibrationError(DocumentError):
    """A record of a judge's calibration that cannot be read, or that contradicts its own counts."""


class JudgeInputError(EvaluatorError, TypeError):
    """What is no text, handed to a judge."""


class JudgementError(EvaluatorError, ValueError):
    """A judgement that contradicts itself, or a text that holds none."""


class JudgeSetupError(EvaluatorError):
    """A judge that cannot be asked: a package, a key, a price or a file is missing, or a name is none."""


class SameFamilyError(EvaluatorError):
    """A judge of the agent's own model family, for every trial that was asked about."""


class MeasureError(EvaluatorError, TypeError):
    """A number without what is needed to doubt it, or arithmetic on a measure."""


class FilterError(EvaluatorError):
    """A condition that names no trials."""


class NoTrialsError(EvaluatorError):
    """Nothing matches, so there is nothing to say."""

    def __init__(self, described: str) -> None:
        what = f"no trial matches {described}" if described else "the store holds no trial"
        super().__init__(
            f"{what}. Look with 'spanproof trials', bring traces with 'spanproof import PATH' or 'spanproof serve', "
            "and check --store"
        )
        self.described = described


class UnequalSetsError(EvaluatorError):
    """Two variants that cannot be compared, because they did not try the same tasks as often each."""

    def __init__(self, difference: str) -> None:
        super().__init__(
            f"these two cannot be compared: {difference}. Compare the same tasks, each tried as often by both; "
            "narrow both with --task or --since"
        )
        self.difference = difference


class PublishError(EvaluatorError):
    """Results that an endpoint did not take."""


class ChoiceError(EvaluatorError):
    """An id that fits no trial, or several."""

    def __init__(self, asked: str, found: Sequence[str]) -> None:
        if found:
            message = f"{asked!r} fits {len(found)} trials: {', '.join(found[:5])}. Give more of the id"
        else:
            message = f"no trial is called {asked!r}. 'spanproof trials' lists those that there are"
        super().__init__(message)
        self.asked = asked
        self.found = tuple(found)
