"""The job in SQL: a schema with only the columns needed, all cores, any order."""

import sys

import duckdb

COLUMNS = """{
    agent_ref: 'STRUCT(name VARCHAR)', _ng_task_index: 'BIGINT', _ng_rollout_index: 'BIGINT',
    reward: 'DOUBLE',
    responses_create_params: 'STRUCT(input STRUCT(role VARCHAR, content VARCHAR)[])',
    response: 'STRUCT(output STRUCT(type VARCHAR, content STRUCT("text" VARCHAR)[])[])'
}"""
PAIRS = f"""
COPY (
    WITH answers AS (
        SELECT agent_ref.name AS agent, _ng_task_index AS task, _ng_rollout_index AS number, reward,
            responses_create_params.input AS input,
            list_filter(response.output, lambda item: item.type = 'message')[-1].content[1].text
                AS answer
        FROM read_ndjson($input, columns = {COLUMNS})
    )
    SELECT list_filter(input, lambda message: message.role = 'user')[-1].content AS prompt,
        arg_max(answer, (reward, -number)) AS chosen, arg_min(answer, (reward, number)) AS rejected,
        max(reward) AS chosen_score, min(reward) AS rejected_score
    FROM answers GROUP BY agent, task, input
    HAVING max(reward) - min(reward) >= 0.2
) TO $output (FORMAT json)
"""  # noqa: S608 - the columns are a constant

database = duckdb.connect(
    config={"preserve_insertion_order": False, "temp_directory": f"{sys.argv[2]}.tmp"}
)
database.execute(PAIRS, {"input": sys.argv[1], "output": sys.argv[2]})
