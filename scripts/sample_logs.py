"""Small logs of Inspect, verifiers and Harbor, with the difficulties of real ones."""

from typing import Any

SUMS = (("What is 17 + 25?", "42"), ("What is 9 * 12?", "108"))
_SYSTEM = "Answer with one number."


def inspect_log() -> dict[str, Any]:
    """A log of two questions in four epochs: one sample failed, one hit a limit, two are ties."""
    said = {
        ("sum", 1): ("42", "C"),
        ("sum", 2): ("17 + 25 is 32.", "I"),
        ("sum", 3): ("It is 42.", "C"),
        ("sum", 4): ("", "I"),
        ("product", 1): ("108", "C"),
        ("product", 2): ("98", "I"),
        ("product", 3): ("9 * 12: 9 * 10 is 90, and", "I"),
        ("product", 4): ("108", "C"),
    }
    samples = [_inspect_sample(*key, *given) for key, given in said.items()]
    samples[3] |= {"error": {"message": "the connection was reset"}, "scores": {}}
    samples[6] |= {"limit": {"type": "token", "limit": 16}}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "sums",
            "task_id": "Qm3sNVkXbTz5rLh8",
            "task_args": {},
            "model": "sample/model",
            "config": {"epochs": 4, "fail_on_error": False},
            "scorers": [{"name": "inspect_ai/match"}],
        },
        "plan": {"name": "plan", "steps": []},
        "results": {"total_samples": 8, "completed_samples": 7, "scores": []},
        "stats": {},
        "samples": samples,
    }


def _inspect_sample(name: str, epoch: int, answer: str, grade: str) -> dict[str, Any]:
    question, target = SUMS[0] if name == "sum" else SUMS[1]
    said = {"role": "assistant", "content": answer, "source": "generate"}
    choice = {"message": said, "stop_reason": "stop"}
    return {
        "id": name,
        "epoch": epoch,
        "input": question,
        "target": target,
        "messages": [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": question, "source": "input"},
            said,
        ],
        "output": {"model": "sample/model", "choices": [choice]},
        "scores": {
            "match": {"value": grade, "answer": answer, "explanation": answer, "history": []},
            "brevity": {"value": round(1 / max(1, len(answer)), 3), "history": []},
        },
        "metadata": {},
        "store": {},
        "events": [],
        "attachments": {},
    }


def verifiers_episodes() -> list[dict[str, Any]]:
    """Two tasks, four episodes each: one failed, and one was truncated before it was scored."""
    said = (("42", 1.0), ("It is 43.", 0.0), ("I think that it is 42.", 1.0), ("", None))
    rows = [
        _episode(task, place, answer, score)
        for task in range(len(SUMS))
        for place, (answer, score) in enumerate(said)
    ]
    rows[3]["traces"][0] |= {"ok": False, "nodes": [], "errors": [{"type": "ProviderError"}]}
    rows[3] |= {"ok": False}
    rows[7]["traces"][0] |= {"stop_condition": "max_output_tokens"}
    return rows


def _episode(task: int, place: int, answer: str, score: float | None) -> dict[str, Any]:
    question, target = SUMS[task]
    about = {
        "type": "Sum",
        "data": {"idx": task, "prompt": question, "answer": target},
        "key": f"sum-{task}",
        "hash": f"sum-{task}",
    }
    rewards = {
        "correct": {"score": score, "weight": 1.0},
        "brief": {"score": round(1 / max(1, len(answer)), 3), "weight": 0.25},
    }
    trace = {
        "version": 1,
        "id": f"trace-{task}-{place}",
        "task": about,
        "agent": {"config": {"model": "sample-model"}, "name": "agent", "trainable": True},
        "tools": [],
        "nodes": [
            {"message": {"role": "system", "content": _SYSTEM}, "sampled": False},
            {"parent": 0, "message": {"role": "user", "content": question}, "sampled": False},
            {"parent": 1, "message": {"role": "assistant", "content": answer}, "sampled": True},
        ],
        "calls": [{"node": 2, "finish_reason": "stop"}],
        "rewards": {} if score is None else rewards,
        "metrics": {"words": float(len(answer.split()))},
        "info": {},
        "is_completed": True,
        "ok": True,
        "stop_condition": "agent_completed",
        "errors": [],
    }
    return {
        "id": f"episode-{task}-{place}",
        "env": {"id": "sums"},
        "task": about,
        "run": {"type": "eval", "id": "run-1", "name": "sums--sample-model"},
        "ok": True,
        "errors": [],
        "traces": [trace],
    }


def harbor_trials() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Three attempts at a terminal task: the result and the trajectory of each, by trial name.

    The last one timed out, and was verified anyway.
    """
    write, check = "printf hello > /app/hello.txt", "cat /app/hello.txt"
    tried = {
        "hello__a1b2c3d": ([(write, ""), (check, "hello")], "The file says hello.", 1.0, None),
        "hello__e4f5g6h": ([("echo hello", "hello")], "Done.", 0.0, None),
        "hello__i7j8k9l": ([("sleep 900", "")], "", 0.0, "AgentTimeoutError"),
    }
    return {
        name: (_result(name, reward, error), _trajectory(calls, words))
        for name, (calls, words, reward, error) in tried.items()
    }


def _result(name: str, reward: float, error: str | None) -> dict[str, Any]:
    failed = error and {"exception_type": error, "exception_message": "after 600 seconds"}
    return {
        "id": f"00000000-0000-4000-8000-{name[-7:]:0>12}",
        "task_name": "hello",
        "trial_name": name,
        "task_checksum": "8cb2ad82b3bbcd39",
        "agent_info": {"name": "agent", "version": "1", "model_info": {"name": "sample-model"}},
        "verifier_result": {"rewards": {"reward": reward}},
        "exception_info": failed or None,
    }


def _trajectory(calls: list[tuple[str, str]], words: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"cmd": {"type": "string"}}}
    bash = {"type": "function", "function": {"name": "bash", "parameters": schema}}
    steps: list[dict[str, Any]] = [
        {"source": "system", "message": "You work in a terminal."},
        {"source": "user", "message": "Write hello to /app/hello.txt."},
    ]
    for place, (command, output) in enumerate(calls):
        call = {"tool_call_id": f"c{place}", "function_name": "bash", "arguments": {"cmd": command}}
        result = {"source_call_id": f"c{place}", "content": output}
        steps.append(
            {"source": "agent", "message": "", "tool_calls": [call], "llm_call_count": 1}
            | {"observation": {"results": [result]}}
        )
    steps.append({"source": "agent", "message": words, "llm_call_count": 1})
    return {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "agent", "version": "1", "tool_definitions": [bash]},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
    }
