"""Model families: which models are relatives, read from their names.

A model that judges its own relatives is lenient with them (self-preference), so a judge has to be of another family
than the agent (R101). Names are what spans and users write: ``gpt-5-mini``, ``openai/gpt-oss-20b``,
``us.anthropic.claude-haiku-4-5-v1:0``, ``Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf``, ``models/gemini-3-flash``.
"""

import re
from collections.abc import Iterable
from typing import Final

_FAMILIES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    # Distilled and merged models name two families; the weights are of the one that comes first here.
    ("qwen", ("qwen", "qwq", "qvq")),
    ("smollm", ("smollm",)),
    ("llama", ("llama", "codellama", "vicuna", "alpaca")),
    ("mistral", ("mistral", "mixtral", "ministral", "magistral", "codestral", "devstral", "pixtral", "mathstral")),
    ("gemma", ("gemma", "codegemma", "medgemma", "shieldgemma")),
    ("gemini", ("gemini", "palm-2", "bison")),
    ("claude", ("claude", "fable-5", "mythos-5")),
    ("gpt", ("gpt", "chatgpt", "davinci", "codex", "o1", "o3", "o4", "o5")),
    ("deepseek", ("deepseek",)),
    ("grok", ("grok",)),
    ("glm", ("glm", "chatglm")),
    ("kimi", ("kimi", "moonshot")),
    ("phi", ("phi",)),
    ("command", ("command", "c4ai", "aya")),
    ("nova", ("nova",)),
    ("titan", ("titan",)),
    ("granite", ("granite",)),
    ("nemotron", ("nemotron",)),
    ("minimax", ("minimax", "abab")),
    ("jamba", ("jamba",)),
    ("olmo", ("olmo", "tulu")),
    ("falcon", ("falcon",)),
    ("yi", ("yi",)),
    ("ernie", ("ernie",)),
    ("hunyuan", ("hunyuan",)),
    ("doubao", ("doubao", "seed-oss")),
    ("exaone", ("exaone",)),
    ("internlm", ("internlm",)),
    ("baichuan", ("baichuan",)),
    ("step", ("step-1", "step-2", "step-3")),
    ("sonar", ("sonar",)),
)
"""A family, and how the names of its models begin. ``gpt-oss`` is of OpenAI's family, distilled by it."""

_STARTS: Final = tuple(
    # at the beginning of a word of the name; what follows is a version, a size or another word
    (family, re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, names))})(?![a-z])", re.IGNORECASE))
    for family, names in _FAMILIES
)


def family(model: str) -> str | None:
    """Return the family of a model, ``None`` where its name does not tell."""
    name = model.strip().lower()
    for found, starts in _STARTS:
        if starts.search(name):
            return found
    return None


def families(models: Iterable[str]) -> frozenset[str | None]:
    """Return the families of several models, ``None`` among them where a name does not tell."""
    return frozenset(family(model) for model in models)
