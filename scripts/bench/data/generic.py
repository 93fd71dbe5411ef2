"""Rows as a user's own script writes them: prompt, response, score."""

from bench.data.dice import TASK, reward, roll
from bench.data.plan import Plan
from bench.data.words import WordPool

TEMPLATE = (
    b'{"id":"%b","task":%d,"prompt":"Solve problem %d. %b",'
    b'"response":"%b\\n\\nThe answer is %d.","score":%.3f,"model":"sample-model","step":%d}\n'
)


def generic(plan: Plan, pool: WordPool, task: int, rollout: int) -> bytes:
    """One line."""
    of_task, own = roll(plan.seed, task, TASK), roll(plan.seed, task, rollout)
    return TEMPLATE % (
        own.ids[0],
        task,
        task,
        pool.text(of_task.numbers[3], plan.prompt_length),
        pool.text(own.numbers[3], round(plan.answer_length * own.length)),
        own.numbers[1],
        reward(plan.rewards, of_task, own, rollout, plan.per_task),
        rollout,
    )
