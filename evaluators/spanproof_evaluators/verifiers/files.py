"""Files: how many fit a pattern and hold the texts."""

from spanproof_evaluators.model.checks import FilesCheck
from spanproof_evaluators.model.end_states import EndState
from spanproof_evaluators.model.verifications import Check
from spanproof_evaluators.verifiers._globs import matches
from spanproof_evaluators.verifiers._show import shown


def check_files(spec: FilesCheck, state: EndState) -> Check:
    """Count the files that fit ``glob`` and hold every text. A snapshot without files is a gap."""
    name = f"{spec.described} file(s) {spec.glob}"
    if spec.contains:
        name += f" containing {shown(list(spec.contains))}"
    if state.files is None:
        return Check(name=name, passed=None, reason="files_not_recorded", seen="the snapshot holds no files")
    fitting = sorted(path for path in state.files if matches(path, spec.glob))
    holding = [path for path in fitting if all(text in state.files[path] for text in spec.contains)]
    low, high = spec.expected
    passed = len(holding) >= low and (high is None or len(holding) <= high)
    seen = f"{len(holding)} of {len(fitting)} fitting files" if spec.contains else f"{len(holding)} files"
    if holding:
        seen += f": {shown(list(holding))}"
    elif fitting:
        seen += f"; without the text: {shown(list(fitting))}"
    return Check(name=name, passed=passed, seen=seen)
