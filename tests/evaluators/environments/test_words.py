"""What an agent had to say, where not all of what it said was recorded."""

import pytest

from spanproof_evaluators.environments import Recording
from spanproof_evaluators.environments._environment import Words
from spanproof_evaluators.environments.tau2 import _said


@pytest.mark.parametrize(
    ("words", "whole", "passed"),
    [("It is 1,628.", False, True), ("It is done.", True, False), ("It is done.", False, None)],
)
def test_a_word_that_is_not_found_failed_only_where_all_words_are_known(
    words: str, whole: bool, passed: bool | None
) -> None:
    done = Recording(words=(Words(text=words, with_calls=False),), words_whole=whole)
    assert _said("1628", done).passed is passed
