"""Every attribute and event name that spanproof reads or writes, each once.

The first part spells OpenTelemetry's GenAI conventions (semantic-conventions-genai, development). The second
part is the namespace ``spanproof.*``: evidence that no convention covers.
"""

from typing import Final

# --- OpenTelemetry ------------------------------------------------------------------------------
SERVICE_NAME: Final = "service.name"
SESSION_ID: Final = "session.id"
USER_ID: Final = "user.id"
END_USER_ID: Final = "enduser.id"
ERROR_TYPE: Final = "error.type"
EXIT_CODE: Final = "process.exit.code"  # on a tool span: what the command that the tool ran ended with
EVENT_NAME: Final = "event.name"

# --- GenAI conventions --------------------------------------------------------------------------
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
SYSTEM: Final = "gen_ai.system"  # before v1.37; now gen_ai.provider.name
CONVERSATION_ID: Final = "gen_ai.conversation.id"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
AGENT_ID: Final = "gen_ai.agent.id"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"  # before cache_write
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
# what stood there before, or stands there in other hands
PROMPT_TOKENS: Final = "gen_ai.usage.prompt_tokens"
COMPLETION_TOKENS: Final = "gen_ai.usage.completion_tokens"
OLD_CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read_input_tokens"
OLD_CACHE_WRITE_TOKENS: Final = ("gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.cache_write_input_tokens")
OLD_REASONING_TOKENS: Final = "gen_ai.usage.reasoning_tokens"
TOTAL_TOKENS: Final = ("gen_ai.usage.total_tokens", "llm.usage.total_tokens")
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
INPUT_MESSAGES_REF: Final = "gen_ai.input.messages_ref"
OUTPUT_MESSAGES_REF: Final = "gen_ai.output.messages_ref"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
RETRIEVAL_QUERY: Final = "gen_ai.retrieval.query.text"
DATA_SOURCE_ID: Final = "gen_ai.data_source.id"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
MCP_METHOD: Final = "mcp.method.name"

EVENT_INFERENCE_DETAILS: Final = "gen_ai.client.inference.operation.details"
EVENT_EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
EVENT_SYSTEM_MESSAGE: Final = "gen_ai.system.message"
EVENT_USER_MESSAGE: Final = "gen_ai.user.message"
EVENT_ASSISTANT_MESSAGE: Final = "gen_ai.assistant.message"
EVENT_TOOL_MESSAGE: Final = "gen_ai.tool.message"
EVENT_CHOICE: Final = "gen_ai.choice"

# --- spanproof: labels, on every span of a trial and in baggage ----------------------------------
PROJECT: Final = "spanproof.project"  # resource attribute; "default" where absent
TASK_ID: Final = "spanproof.task.id"
TRIAL_ID: Final = "spanproof.trial.id"
ATTEMPT: Final = "spanproof.trial.attempt"  # int, counts from 0
VARIANT: Final = "spanproof.variant"
SUITE: Final = "spanproof.suite"
LABEL_PREFIX: Final = "spanproof.label."  # any further label: spanproof.label.<key>

# --- spanproof: the effect that a tool call intends, on its tool span -----------------------------
EFFECT_CLASS: Final = "spanproof.effect.class"  # read | write | destructive | handoff
EFFECT_DESTINATION: Final = "spanproof.effect.destination"
EFFECT_RESOURCE: Final = "spanproof.effect.resource"
EFFECT_OPERATION: Final = "spanproof.effect.operation"
EFFECT_IDEMPOTENCY_KEY: Final = "spanproof.effect.idempotency_key"

# --- spanproof: a receipt, what was observed at the destination ------------------------------------
EVENT_RECEIPT: Final = "spanproof.receipt"
RECEIPT_STATE: Final = "spanproof.receipt.state"  # verified | failed
RECEIPT_OBSERVER: Final = "spanproof.receipt.observer"
RECEIPT_OBSERVED: Final = "spanproof.receipt.observed"
RECEIPT_PRE_STATE: Final = "spanproof.receipt.pre_state"
RECEIPT_POST_STATE: Final = "spanproof.receipt.post_state"

# --- spanproof: what the agent declared ------------------------------------------------------------
EVENT_CLAIM: Final = "spanproof.claim"
CLAIM_STATE: Final = "spanproof.claim.state"  # success | partial | failure | none
CLAIM_TEXT: Final = "spanproof.claim.text"

# --- spanproof: a wait for somebody's decision -----------------------------------------------------
EVENT_WAIT: Final = "spanproof.wait"
WAIT_OWNER: Final = "spanproof.wait.owner"
WAIT_DECISION: Final = "spanproof.wait.decision"
WAIT_DEADLINE: Final = "spanproof.wait.deadline"  # int, Unix nanoseconds
WAIT_RESUMABLE: Final = "spanproof.wait.resumable"  # bool

# --- spanproof: a call that was refused on purpose -------------------------------------------------
EVENT_REFUSAL: Final = "spanproof.refusal"
REFUSAL_REASON: Final = "spanproof.refusal.reason"
REFUSAL_BY: Final = "spanproof.refusal.by"

# --- spanproof: one observed window of work --------------------------------------------------------
EVENT_PROGRESS: Final = "spanproof.progress"
PROGRESS_KEY: Final = "spanproof.progress.key"  # task-specific: "tests_green", "orders_refunded"
PROGRESS_DELTA: Final = "spanproof.progress.delta"  # double, evidence gained in this window; 0 is none
PROGRESS_WINDOW: Final = "spanproof.progress.window"  # active | waiting | stale_collector

# --- spanproof: a versioned quality score ----------------------------------------------------------
EVENT_QUALITY: Final = "spanproof.quality"
QUALITY_SCORE: Final = "spanproof.quality.score"  # double, 0 to 1
QUALITY_GRADER: Final = "spanproof.quality.grader"
QUALITY_REVISION: Final = "spanproof.quality.revision"

# --- spanproof: billed cost and the way a run ended ------------------------------------------------
COST_USD: Final = "spanproof.cost.usd"  # decimal string, as billed, of this span alone
TERMINATION_REASON: Final = "spanproof.termination.reason"  # completed | budget_exhausted | infrastructure | cancelled

# --- spanproof: a snapshot of the world, before or after a trial -----------------------------------
EVENT_END_STATE: Final = "spanproof.end_state"
END_STATE_PHASE: Final = "spanproof.end_state.phase"  # before | after
END_STATE_DIGEST: Final = "spanproof.end_state.digest"  # sha256 of the state text, hex
END_STATE_DIFF: Final = "spanproof.end_state.diff"  # JSON: what changed since the snapshot before, by path and table
END_STATE_STATE: Final = "spanproof.end_state.state"  # JSON: {"tables": {name: [row]}, "files": {path: text}}

# --- spanproof: who evaluated, on gen_ai.evaluation.result events that spanproof publishes ----------
EVALUATION_EVALUATOR: Final = "spanproof.evaluation.evaluator"
EVALUATION_VERSION: Final = "spanproof.evaluation.version"
EVALUATION_KIND: Final = "spanproof.evaluation.kind"  # rule | verifier | judge
EVALUATION_STATE: Final = "spanproof.evaluation.state"  # pass | fail | verified | failed | unavailable
EVALUATION_REASON: Final = "spanproof.evaluation.reason"
EVALUATION_TRIAL: Final = "spanproof.evaluation.trial"

# --- spanproof: a span that its process did not live to end -----------------------------------------
UNFINISHED: Final = "spanproof.unfinished"  # sigterm | os._exit | exit | recording: what ended the span

UNFINISHED_RECORDING: Final = "recording"  # a recorded session breaks off after this span

# --- spanproof: what importers of recorded sessions add ----------------------------------------------
TIME_SYNTHETIC: Final = "spanproof.time.synthetic"  # bool: the recording has no time here; only the order is its own
TOOL_REQUESTOR: Final = "spanproof.tool.requestor"  # agent | user: who called; agent where it is absent
SUBAGENT: Final = "spanproof.subagent"  # bool: this run works for another one, and its words are no answer of the trial
TASK_DEFINITION: Final = "spanproof.task.definition"  # JSON: the task as its suite defines it, gold actions included
RECORDED_TURNS: Final = "spanproof.recorded.turns"  # one letter a turn of the recording, in order
EVENT_RECORDING_DAMAGED: Final = "spanproof.recording_damaged"  # log record: spans of its trace could not be read
EVENT_RECORDED_CHANGES: Final = "spanproof.recorded_changes"
CHANGES_ACTUAL: Final = "spanproof.recorded_changes.actual"  # JSON: what somebody saw change in the world
CHANGES_GOLD: Final = "spanproof.recorded_changes.gold"  # JSON: what was meant to change
CHANGES_CALLS: Final = "spanproof.recorded_changes.calls"  # JSON: call by call
CHANGES_BY: Final = "spanproof.recorded_changes.by"
