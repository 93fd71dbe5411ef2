"""The job in Polars: lazy and streaming, with a schema of only the columns needed."""

import sys

import polars as pl
from polars import element

MESSAGE = pl.Struct({"role": pl.String, "content": pl.String})
ITEM = pl.Struct(
    [pl.Field("type", pl.String), pl.Field("content", pl.List(pl.Struct({"text": pl.String})))]
)
SCHEMA = pl.Schema(
    {
        "agent_ref": pl.Struct({"name": pl.String}),
        "_ng_task_index": pl.Int64(),
        "_ng_rollout_index": pl.Int64(),
        "reward": pl.Float64(),
        "responses_create_params": pl.Struct({"input": pl.List(MESSAGE)}),
        "response": pl.Struct({"output": pl.List(ITEM)}),
    }
)
reward = pl.col("reward")
messages = pl.col("responses_create_params").struct.field("input")
asked = messages.list.filter(element().struct.field("role") == "user").list.last()
items = pl.col("response").struct.field("output")
said = items.list.filter(element().struct.field("type") == "message").list.last()
answers = pl.scan_ndjson(sys.argv[1], schema=SCHEMA).select(
    reward,
    agent=pl.col("agent_ref").struct.field("name"),
    task="_ng_task_index",
    number="_ng_rollout_index",
    prompt=asked.struct.field("content"),
    answer=said.struct.field("content").list.first().struct.field("text"),
)
pairs = (
    answers.sort("number")
    .group_by("agent", "task", "prompt")
    .agg(
        chosen=pl.col("answer").get(reward.arg_max()),
        rejected=pl.col("answer").get(reward.arg_min()),
        chosen_score=reward.max(),
        rejected_score=reward.min(),
    )
    .filter(pl.col("chosen_score") - pl.col("rejected_score") >= 0.2)
    .select("prompt", "chosen", "rejected", "chosen_score", "rejected_score")
)
pairs.sink_ndjson(sys.argv[2])
