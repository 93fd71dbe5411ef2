"""The JSON Schemas of candidates and pairs, as pydantic models.

They are only used to publish the schemas and in tests, which check every line that prefpairs
writes. Reading has its own checks (candidate.py, message.py), which are faster.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1

Score = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """No unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


class FunctionModel(Strict):
    """The function of a tool call."""

    name: str
    arguments: str = Field(description="mostly a JSON object, as the text the model wrote")


class ToolCallModel(Strict):
    """One call of a tool."""

    id: str = Field(description="renumbered in order: call_1, call_2, ...")
    type: str = Field(description="function; or another type, such as custom")
    function: FunctionModel


class MessageModel(Strict):
    """One message, in chat-completions form."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]]
    reasoning_content: str | None = None
    tool_calls: list[ToolCallModel] | None = None
    tool_call_id: str | None = None
    name: str | None = None


TextModel = str | list[MessageModel]


class CandidateModel(Strict):
    """One scored answer to one prompt."""

    group: str = Field(description="which candidates compete; holds no file name")
    prompt: TextModel = Field(description="plain text, or a chat")
    response: TextModel = Field(description="what the model produced, the whole turn")
    score: Score = Field(description="higher is better; 15 significant digits")
    index: int | None = Field(default=None, description="the source's own number for it")
    origin: str = Field(default="", description="file:line, and #k where a line holds several")
    tools: list[dict[str, Any]] | None = Field(default=None, description="chat-form schemas")
    tokens: dict[str, Any] | None = Field(default=None, description="ids, prompt_length, mask")
    meta: dict[str, Any] | None = None
    reference: Any = Field(
        default=None, description="the right answer, if it could tell apart tasks with one prompt"
    )


class PairModel(Strict):
    """Two answers to one prompt, of which one is preferred."""

    id: str = Field(description="digest of prompt, tools, chosen and rejected")
    group: str
    prompt: TextModel
    chosen: TextModel
    rejected: TextModel
    chosen_score: Score | None
    rejected_score: Score | None
    gap: Score | None = Field(description="chosen_score - rejected_score; null where unknown")
    chosen_index: int | None
    rejected_index: int | None
    chosen_origin: str
    rejected_origin: str
    tools: list[dict[str, Any]] | None = None
    chosen_tokens: dict[str, Any] | None = None
    rejected_tokens: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None


MODELS: dict[str, type[BaseModel]] = {"candidate": CandidateModel, "pair": PairModel}


def json_schema(record: str) -> dict[str, Any]:
    """The JSON Schema of a record.

    >>> json_schema("pair")["$id"]
    'urn:prefpairs:pair:1'
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:prefpairs:{record}:{SCHEMA_VERSION}",
        **MODELS[record].model_json_schema(),
    }
