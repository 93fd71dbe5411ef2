"""Write sample_data/: small files of every source, with the traps that real ones have.

The texts are made up; the shapes are those that the tools themselves write. Run it with
`make sample-data`; the result is the same on every machine.
"""

import json
from pathlib import Path
from typing import Any

from sample_logs import harbor_trials, inspect_log, verifiers_episodes

FOLDER = Path(__file__).parent.parent / "sample_data"
QUESTIONS = (
    ("How many legs has a spider?", ("Eight.", "Six.", "Eight, in four pairs.", "A few.")),
    ("What is 6 times 7?", ("42", "It is 42.", "Forty-two.", "6 * 7 = 42")),
    (
        "Which gas do plants take in?",
        ("Some gas.", "Carbon, mostly.", "Oxygen.", "CO2."),
    ),
)
TOOL = {
    "type": "function",
    "name": "look_up",
    "description": "Look a word up.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    "strict": True,
}


def main() -> None:
    """Write every file."""
    FOLDER.mkdir(exist_ok=True)
    write_lines("gym_rollouts.jsonl", [*map(dump, gym_rollouts()), "<PLACEHOLDER ROW>"])
    write_lines("gym_rollouts_failures.jsonl", [dump(failed_rollout())])
    write_lines("gym_no_index.jsonl", map(dump, gym_without_index()))
    write_document("nat_workflow_output.json", nat_items())
    write_lines("qa_scored.jsonl", map(dump, scored_answers()))
    write_lines("qa_grouped.jsonl", map(dump, grouped_answers()))
    write_lines("conversations.jsonl", map(dump, conversations()))
    write_lines("trinity_experiences.jsonl", map(dump, experiences()))
    write_lines("traces/traces.jsonl", map(dump, traces()))
    write_model(FOLDER / "traces" / "model")
    write_text("traces/hints.toml", HINTS)
    write_logs()


def write_logs() -> None:
    """Logs of evaluations and agents, each in the folders that its tool creates."""
    write_lines("verifiers/traces.jsonl", map(dump, verifiers_episodes()))
    write_document("inspect/2026-11-19T09-12-33_sums_Qm3sNVkX.json", inspect_log())
    for name, (result, trajectory) in harbor_trials().items():
        write_document(f"harbor/{name}/result.json", result)
        write_document(f"harbor/{name}/agent/trajectory.json", trajectory)


def traces() -> list[dict[str, Any]]:
    """Three runs of one task, one of another: errors with recoveries, and pairs made from them."""
    asked = [turn("system", "You edit files."), turn("user", "Show the first line of a.py.")]
    wrong = {"name": "cat_file", "arguments": {"path": "a.py"}}
    right = {"name": "read_file", "arguments": {"path": "a.py"}}
    mended = [
        turn("assistant", "I call cat_file.", tool_call=wrong),
        turn("tool", "error: unknown tool cat_file"),
        turn(
            "assistant",
            "I call read_file.",
            tool_call=right,
            tool_error="tool_not_found",
            error_meta={"tool_name": "cat_file", "available_tools": ["read_file", "bash"]},
        ),
        turn("tool", "import os"),
        turn("assistant", "The first line is import os."),
    ]
    gave_up = [
        mended[0],
        turn("tool", "error: unknown tool cat_file", tool_error="tool_not_found"),
        turn("assistant", "There is no such file."),
    ]
    guessed = [turn("assistant", "It is probably empty.")]
    state = [turn(one["role"], one["content"]) for one in (*asked, *mended[:4])]
    embedded = {
        "state_messages": state,
        "chosen": "The first line is import os.",
        "rejected": '[{"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}}]',
    }
    task = {"task_id": "first-line"}
    hi = [turn("user", "Say hi."), turn("assistant", "hi")]
    said = {"state_messages": hi[:1], "chosen": "hi", "rejected": "no"}
    return [
        {"trace_id": "t0", **task, "final_reward": 1.0, "turns": [*asked, *mended]}
        | {"dpo_pairs": [embedded]},
        {"trace_id": "t1", **task, "final_reward": 0.0, "turns": [*asked, *gave_up]},
        {"trace_id": "t2", **task, "final_reward": 0.2, "turns": [*asked, *guessed]},
        {"trace_id": "t3", "final_reward": 1.0, "turns": hi, "dpo_pairs": [said]},
        {"trace_id": "t4", "final_reward": None, "turns": hi, "dpo_pairs": [said]},
    ]


CHATML = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.reasoning_content %}
        {{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
    {%- endif %}
    {{- message.content }}
    {%- for call in message.tool_calls or [] %}
        {{- '\\n<tool_call>\\n' + call.function | tojson + '\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
HINTS = """\
tool_not_found = "There is no tool {tool_name}. Use one of: {available_tools}."
default = "The call failed. Read the error, and try another way."
"""
WORDS = ("assistant", "system", "user", "tool", "_call", " read", "_file", " first", " line", " is")
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def write_model(folder: Path) -> None:
    """Write a tokenizer with byte tokens and a few words, and its template, like a model's."""
    folder.mkdir(exist_ok=True)
    (folder / "chat_template.jinja").write_text(CHATML, encoding="utf-8")
    (folder / "tokenizer.json").write_text(dump(tokenizer()) + "\n", encoding="utf-8")
    config = {"bos_token": None, "eos_token": "<|im_end|>", "pad_token": {"content": SPECIAL[0]}}
    (folder / "tokenizer_config.json").write_text(dump(config) + "\n", encoding="utf-8")


def tokenizer() -> dict[str, Any]:
    """A token for each byte, and for the first parts of a few words."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain}
    letters |= {byte: chr(0x100 + place) for place, byte in enumerate(others)}
    merges, names = [], [letters[byte] for byte in range(0x100)]
    for word in WORDS:
        spelled = [letters[byte] for byte in word.encode()]
        for end in range(1, len(spelled)):
            merge = ["".join(spelled[:end]), spelled[end]]
            if merge not in merges:
                merges.append(merge)
                names.append("".join(merge))
    names += SPECIAL
    vocab = {name: place for place, name in enumerate(names)}
    plainly = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [{"id": vocab[n], "content": n, **plainly, "special": True} for n in SPECIAL]
    of_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {**of_bytes, "use_regex": True},
        "post_processor": {**of_bytes, "use_regex": True},
        "decoder": {**of_bytes, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }


def turn(role: str, content: str, **more: Any) -> dict[str, Any]:
    """One turn of a trace."""
    return {"role": role, "content": content, **more}


def dump(row: Any) -> str:
    """One line of JSON."""
    return json.dumps(row, ensure_ascii=False)


def write_lines(name: str, lines: Any) -> None:
    """Write a file of lines."""
    text = "".join(f"{line}\n" for line in lines)
    write_text(name, text)


def write_document(name: str, value: Any) -> None:
    """Write a file of one JSON value, indented."""
    write_text(name, json.dumps(value, indent=2) + "\n")


def write_text(name: str, text: str) -> None:
    """Write a file and create its folders."""
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def gym_rollouts() -> list[dict[str, Any]]:
    """Four tasks with four runs each, in the order in which they end, and one row for each trap."""
    scores = {0: (1.0, 0.0, 0.9, 0.1), 1: (1.0,) * 4, 2: (0.3, 0.1 + 0.2, 0, 1)}
    rows = [
        rollout(task, run, question, answer, score)
        for task, (question, answers) in enumerate(QUESTIONS)
        for run, (answer, score) in enumerate(zip(answers, scores[task], strict=True))
    ]
    rows = [rows[place * 5 % len(rows)] for place in range(len(rows))]
    rows += [tool_rollout(run, score) for run, score in enumerate((1.0, 0.5, 0.0))]
    rows.append(rows[0])  # written twice by a resumed run
    rows.append({**rows[1], "reward": 0.55})  # judged twice, with different scores
    rows.append(rollout(4, 0, "Is this fair?", "No.", 0.0) | {"mask_sample": True})
    rows.append(rollout(4, 1, "Is this fair?", "Yes.", 1.0) | {"_ng_failure_class": "timeout"})
    cut_off = rollout(4, 2, "Is this fair?", "Well, on the one hand", 0.0)
    cut_off["response"]["incomplete_details"] = {"reason": "max_output_tokens"}
    rows.append(cut_off)
    rows.append(rollout(4, 3, "Is this fair?", "", 0.5))
    unjudged = rollout(4, 4, "Is this fair?", "Perhaps.", 0.0)
    del unjudged["reward"]
    rows.append(unjudged)
    # One task, but the environment's hand differs: two questions.
    rows += [rollout(5, run, f"Your hand: {7 + run}. Hit?", "Hit.", run) for run in range(2)]
    return rows


def rollout(task: int, run: int, question: str, answer: str, score: float) -> dict[str, Any]:
    """One run of one task, with reasoning before the answer."""
    thought = {"type": "summary_text", "text": f"Let me think, for the {run + 1}. time."}
    thinking = {"id": f"rs_{task}_{run}", "type": "reasoning", "summary": [thought]}
    message = {
        "id": f"msg_{task}_{run}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer, "annotations": []}],
    }
    return {
        "responses_create_params": {
            "input": [
                {"role": "developer", "content": "Answer briefly."},
                {"role": "user", "content": question, "type": "message"},
            ],
            "temperature": 1.0,
        },
        "response": {
            "id": f"resp_{task}_{run}",
            "output": [thinking, message],
            "model": "sample-model",
            "incomplete_details": None,
        },
        "reward": score,
        "_ng_task_index": task,
        "_ng_rollout_index": run,
        "agent_ref": {"type": "responses_api_agents", "name": "sample_agent"},
    }


def tool_rollout(run: int, score: float) -> dict[str, Any]:
    """A run that calls a tool; it ends with an environment turn, which is removed."""
    row = rollout(
        3, run, "What is a quokka?", ("A small wallaby.", "An animal.", "A bird.")[run], score
    )
    row["responses_create_params"]["tools"] = [TOOL]
    call = {
        "type": "function_call",
        "name": "look_up",
        "arguments": json.dumps({"word": "quokka", "edition": run}),
        "call_id": f"call_random_{run}",
    }
    result = {
        "type": "function_call_output",
        "call_id": f"call_random_{run}",
        "output": "a small marsupial",
    }
    goodbye = {"role": "user", "content": "###STOP###", "type": "message"}
    thinking, message = row["response"]["output"]
    row["response"]["output"] = [thinking, call, result, message, goodbye]
    return row


def failed_rollout() -> dict[str, Any]:
    """A row of the file in which NeMo Gym keeps failed attempts."""
    return rollout(0, 0, QUESTIONS[0][0], "", 0.0) | {"_ng_failure_class": "crash"}


def gym_without_index() -> list[dict[str, Any]]:
    """Rows of an early release: no indexes, input as text, separate instructions."""
    rows = []
    for run, (answer, score) in enumerate((("Paris.", 1), ("Lyon.", 0), ("paris", 1))):
        row = rollout(0, run, "", answer, score)
        del row["_ng_task_index"], row["_ng_rollout_index"], row["agent_ref"]
        row["responses_create_params"] = {
            "input": "What is the capital of France?",
            "instructions": "Name a city.",
        }
        rows.append(row)
    return rows


def nat_items() -> list[dict[str, Any]]:
    """Items of workflow_output.json: IDs 1 and "1" are two examples; prompts include the answer."""
    moves = (("1,1", 0.9), ("0,1", "0.25"), ("0,0", 0.9), ("2,2", None))
    return [
        {
            "id": example,
            "question": "Play.",
            "generated_answer": "Win!",
            "intermediate_steps": [
                nat_step("LLM_END", "llama", {"input": "hi", "output": "x"}),
                *(
                    nat_step("TTC_END", "dpo_candidate_move", ttc_data(example, at, move, score))
                    for at, (move, score) in enumerate(moves)
                ),
            ],
        }
        for example in (1, "1")
    ]


def ttc_data(example: int | str, at: int, move: str, score: Any) -> dict[str, Any]:
    """The data of one candidate step, as NAT's tic-tac-toe example writes it."""
    answer = f"<move>{move}</move>"
    return {
        "input": [
            {"role": "system", "content": "You play tic-tac-toe."},
            {"role": "user", "content": f"Board of game {example!r}: empty."},
            {"role": "assistant", "content": answer},
        ],
        "output": answer,
        "turn_id": "turn_0",
        "turn_index": 0,
        "candidate_index": at,
        "score": score,
    }


def nat_step(kind: str, name: str, data: dict[str, Any]) -> dict[str, Any]:
    """One intermediate step."""
    return {
        "parent_id": "root",
        "function_ancestry": {"function_id": "f-1", "function_name": "selector"},
        "payload": {"event_type": kind, "event_timestamp": 0.0, "name": name, "data": data},
    }


def scored_answers() -> list[dict[str, Any]]:
    """Plain rows of question, answer and score."""
    return [
        {"question": "2 + 2?", "answer": "4", "score": True, "source": "quiz"},
        {"question": "2 + 2?", "answer": "5", "score": False, "source": "quiz"},
        {"question": "3 + 3?", "answer": "<think>three and three</think>6", "score": 0.9},
        {"question": "3 + 3?", "answer": "hm</think>7", "score": 0.8},
    ]


def grouped_answers() -> list[dict[str, Any]]:
    """Rows with several answers to one prompt."""
    return [
        {
            "prompt": "Name a fruit.",
            "responses": ["apple", "pear", "stone"],
            "rewards": [1, 0.8, 0],
        },
        {"prompt": "Name a colour.", "responses": ["red", "red"], "rewards": [1, 0]},
    ]


def conversations() -> list[dict[str, Any]]:
    """Rows of whole conversations: the model's last turn is the response."""
    question = [{"role": "user", "content": "What is the weather in Oslo?"}]
    call = {
        "id": "a81f",
        "type": "function",
        "function": {"name": "weather", "arguments": {"city": "Oslo"}},
    }
    looked_up = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a81f", "content": "snow"},
        {"role": "assistant", "content": "It snows in Oslo."},
    ]
    guessed = [{"role": "assistant", "content": "It is always sunny."}]
    return [
        {"messages": question + looked_up, "reward": 1},
        {"messages": question + guessed, "reward": 0},
    ]


def experiences() -> list[dict[str, Any]]:
    """Trinity-RFT: two tasks in two epochs, and one row for each trap."""
    scores = {5: ((1.0, 0.0, 0.9, -0.1), (1.0,) * 4), 6: ((0.0, 0.0, 1.0, 0.0), (1.0, 0.25, 0, 1))}
    rows = [
        experience(batch, task, run, answer, score)
        for batch, tasks in scores.items()
        for task, given in enumerate(tasks)
        for run, (answer, score) in enumerate(zip(QUESTIONS[task][1], given, strict=True))
    ]
    rows.append(rows[0])  # written twice by a resumed run
    rows.append(experience(6, 0, 4, "Eight, I", 0.0) | {"truncate_status": "response_truncated"})
    masked_out = "[This experience is masked out due to overlong prompt]"
    rows.append(experience(6, 0, 5, masked_out, 0.0) | {"truncate_status": "prompt_truncated"})
    rows.append(experience(6, 0, 6, "NaN", float("nan")))
    call = experience(6, 1, 4, "", 1.0)  # the tool call is lost in this format
    del call["prompt_text"], call["response_text"]
    rows.append(call)
    rows += [episode(run, score) for run, score in enumerate((1.0, 0.0))]
    ready = experience(0, 0, 0, "", 0.0) | {"response_length": 0, "type": "dpo"}
    del ready["prompt_text"], ready["response_text"], ready["reward"]
    asked = {"role": "user", "content": "2+2?"}
    for side, answer in (("chosen", "4"), ("rejected", "5")):
        ready[f"{side}_messages"] = [asked, {"role": "assistant", "content": answer}]
    return [*rows, ready]


def experience(batch: int, task: int, run: int, answer: str, score: float) -> dict[str, Any]:
    """One answer to a rendered prompt. `type` is what such rows have, whatever they are."""
    asked = f"<|im_start|>user\n{QUESTIONS[task][0]}<|im_end|>\n<|im_start|>assistant\n"
    return {
        "eid": {"batch": batch, "task": task, "run": run, "step": 0, "suffix": f"{run:06x}"},
        "type": "multi_turn",
        "prompt_length": len(asked),
        "response_length": len(answer) + 1,
        "info": {
            "model_version": batch,
            "task_index": {"taskset_id": 0, "index": 17 + task},
        },
        "metrics": {"accuracy": 0.5},
        "prompt_text": f"<|im_start|>system\nAnswer briefly.<|im_end|>\n{asked}",
        "response_text": answer,
        "reward": score,
    }


def episode(run: int, score: float) -> dict[str, Any]:
    """A run of several turns: the model and the environment alternate."""
    row = experience(6, 2, run, "", score)
    del row["prompt_text"], row["response_text"]
    said = ("Open the door.", "The door is open.", ("Go in.", "Wait.")[run])
    turns = zip(("assistant", "user", "assistant"), said, strict=True)
    row["messages"] = [
        {"role": "user", "content": "You stand before a door."},
        *({"role": role, "content": content} for role, content in turns),
    ]
    return row


if __name__ == "__main__":
    main()
