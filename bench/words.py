"""Text that compresses as prose does: made-up words, frequent and rare as in a language, in sentences.

Words follow Zipf's law with Mandelbrot's shift, 20,000 of them; six in ten are one of three that like to follow the
word before, as in set phrases. Nothing else is repeated. ``bench.storage`` prints what zstd makes of this text and of
real prose: it makes less of this.
"""

import random
from itertools import accumulate
from typing import Final

_ONSETS: Final = (
    *"bcdfghjklmnprstvwz",
    "br",
    "ch",
    "cl",
    "cr",
    "dr",
    "fl",
    "gr",
    "pl",
    "pr",
    "sh",
    "sl",
    "st",
    "th",
    "tr",
)
_VOWELS: Final = ("a", "e", "i", "o", "u", "ai", "ea", "ee", "ou", "ie")
_CODAS: Final = ("", "", "", "n", "r", "s", "t", "l", "d", "nd", "st", "ng", "ck", "m")
_VOCABULARY: Final = 20_000
_SHIFT: Final = 2.7
_LIKED: Final = 0.6


def _vocabulary() -> tuple[str, ...]:
    made = random.Random("vocabulary")
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        # Frequent words are short.
        syllables = 1 if len(words) < 300 else made.choice((1, 2, 2, 2, 3, 3, 4))
        word = "".join(made.choice(_ONSETS) + made.choice(_VOWELS) + made.choice(_CODAS) for _ in range(syllables))
        words.setdefault(word)
    return tuple(words)


_WORDS: Final = _vocabulary()
_WEIGHTS: Final = tuple(accumulate(1 / (rank + _SHIFT) for rank in range(1, _VOCABULARY + 1)))


def _followers() -> dict[str, tuple[str, ...]]:
    drawn = iter(random.Random("followers").choices(_WORDS, cum_weights=_WEIGHTS, k=3 * _VOCABULARY))
    return {word: (next(drawn), next(drawn), next(drawn)) for word in _WORDS}


_FOLLOWERS: Final = _followers()


class Words:
    """A source of text: the same seed gives the same text."""

    def __init__(self, seed: int) -> None:
        self.random: Final = random.Random(seed)

    def text(self, length: int) -> str:
        """Return sentences of about so many characters."""
        source = self.random
        drawn = iter(source.choices(_WORDS, cum_weights=_WEIGHTS, k=length // 3 + 40))
        sentences: list[str] = []
        size = 0
        before = next(drawn)
        while size < length:
            words = []
            for _ in range(source.randrange(5, 20)):
                before = source.choice(_FOLLOWERS[before]) if source.random() < _LIKED else next(drawn)
                words.append(before)
            if source.random() < 0.25:
                words[source.randrange(len(words))] = str(source.randrange(10 ** source.randrange(1, 6)))
            if len(words) > 9:
                words[len(words) // 2] += ","
            sentence = " ".join(words).capitalize() + source.choice("....?!:")
            sentences.append(sentence)
            size += len(sentence) + 1
        return " ".join(sentences)[:length]
