"""Why rows, candidates or pairs were dropped, or what was changed: stable codes, a sentence each.

The codes appear in summaries and in quarantine files, and scripts rely on them.
"""

LOSSES = {
    "masked": "masked out of training (mask_sample, or an action_mask of zeros)",
    "failed": "the rollout failed, as its program recorded, so its score means nothing",
    "incomplete": "the answer was truncated, as its program recorded",
    "unknown_end": "the answer ended for a reason that its format does not define, so it may be "
    "truncated",
    "other_agent": "another agent than the trained one spoke, such as a judge or simulated user",
    "branched": "the conversation has several ends (it was compacted or rewritten on the way), so "
    "no single prompt leads to what was scored",
    "turns_unclear": "nothing tells which turns of the rollout are the model's",
    "no_samples": "the log holds no samples",
    "no_task": "nothing in the row says which task it is a rollout of",
    "placeholder": "a placeholder line instead of a rollout",
    "prompt_truncated": "the prompt was too long for the model, so there is no answer",
    "multi_modal": "the prompt contains images or other media that its text does not represent",
    "only_tokens": "the row has tokens but no text; --tokenizer FILE decodes them",
    "no_score": "the score is missing",
    "other_filter": "its metric is that of another filter than --score names",
    "other_maker": "its --by field is neither in --prefer nor in --over",
    "no_label": "no label says which answer is preferred",
    "tied": "the label prefers neither answer",
    "both_bad": "the label says that both answers are bad",
    "score_not_finite": "the score is NaN, infinite or beyond 8e307",
    "no_prompt": "the prompt is missing or empty",
    "no_response": "the response is missing",
    "empty_answer": "the answer is empty: it has no text and no tool call",
    "unfinished_thinking": "the answer is only thinking, and was cut off before its end: "
    "<think> without </think>",
    "no_group": "a field that --group-by names is missing, or its pattern does not match",
    "unsupported_item": "the response contains an item that chat messages cannot represent",
    "no_ttc_steps": "the row has no TTC_END step",
    "other_step_name": "none of the row's TTC_END steps has the name given by --step-name",
    "no_step_data": "a TTC step has no data",
    "no_turn_id": "a TTC step has no usable turn_id",
    "bad_index": "a TTC step's candidate_index is not a whole number",
    "pairs_left_out": "ready-made pairs in a row are not candidates; `pair` writes them",
    "sides_equal": "chosen and rejected have the same content",
    "duplicate_rollout": "the same rollout (task, index, content and score) appears again",
    "conflicting_scores": "the same answer was scored twice with different scores, so no copy of "
    "it is used; if each file is a run, --group-by file compares within files; "
    "--keep-rows conflicting_scores uses all copies",
}

CONFLICTING = "conflicting_scores"
UNFINISHED = "unfinished_thinking"

SWITCHABLE = (
    "masked",
    "failed",
    "incomplete",
    "unknown_end",
    "placeholder",
    "no_score",
    UNFINISHED,
    CONFLICTING,
)
"""The reasons that --keep-rows turns off."""

NOTICES = {
    "trailing_turn_cut": "tool or user turns after the model's last turn were removed",
    "tokens_left_out": "its tokens were omitted, because its text was changed (--prompt, "
    "--response, --response-part, --reasoning drop)",
    "reward_not_finite": "the reward is NaN or infinite, and is written as null",
    "calls_left_out": "tool calls next to the answer's text were omitted; if a message holds "
    "both, name the message with --response to keep them",
    "thinking_left_out": "thinking next to the answer (reasoning_content, reasoning, thinking, "
    "cot and the like) was omitted",
    "items_left_out": "--response selects an item of a list by number, and the other items were "
    "omitted; with [] instead of the number each item is an answer",
    "not_joined": "no row of a --join file has the same key (--on)",
    "annotators_differ": "annotators preferred opposite answers; the label for all of them decides",
    "inserted_turn": "an answer contains an assistant turn that its model did not write",
    "end_not_recorded": "nothing tells whether the answer was truncated",
    "tools_of_group": "a rollout that names no tools has those of the other rollouts in its group",
    "prompt_in_response": "a response that began with its prompt was read without it",
    "leading_turn_moved": "turns before the model's first turn were moved into the prompt",
    "prompt_held_answer": "the prompt ended with the candidate's own answer, which was removed",
    "surrogate_replaced": "a lone surrogate (half an emoji) became U+FFFD",
    "repeated_item_id": "an item id appears more than once; its candidates compete together",
    "final_rests_on_tools": "the final answer depends on tool results that the prompt lacks",
    "template_differs": "the prompt was not rendered by --prompt-template, so it stays plain text",
    "template_unclear": "without special tokens the prompt could be several conversations (a "
    "message may contain the name of a role on a line of its own), so it stays plain text",
    "moved_to_meta": "fields that pairs do not have were moved into meta",
    "id_renewed": "the id did not match the content and was recomputed: the pair was edited, or "
    "written by prefpairs 0.1 (which computed ids differently) or another program",
    "format_differs": "in a ready-made pair, one answer is tool calls or JSON and the other is "
    "prose",
    "not_preferred": "the chosen answer does not score higher than the rejected one",
}

PAIRS = {
    "ready_twice": "the same ready-made pair occurs more than once, and is written once",
    "no_recovery": "a tool error has no model turn before it, or none after it",
    "duplicate": "same as another pair in the --by fields",
    "contradiction": "another pair prefers the other answer; --conflicts sets what happens to both",
    "near_duplicate": "near-duplicate of another pair (--near)",
    "in_reference": "its prompt, or a near-duplicate, is in a file of --against",
    "gap_too_small": "the gap is below --min-gap",
    "gap_too_large": "the gap is above --max-gap",
    "score_too_low": "a score is below its minimum",
    "score_too_high": "a score is above its maximum",
    "score_unknown": "the pair has no score or gap, which a bound or the target needs",
    "too_short": "a text is shorter than its minimum",
    "too_long": "a text is longer than its maximum",
    "length_ratio": "the ratio of the answers' lengths is too large",
    "too_many_tokens": "prompt and answer together have too many tokens (--max-tokens, --pad-to)",
    "truncated": "an answer was truncated",
    "refusal": "the chosen answer refuses to answer",
    "not_drawn": "the sample did not draw it",
    "over_per_group": "its group already has --per-group or --max-pairs-per-group pairs",
    "no_key": "it lacks the field that --by names",
    "prompts_apart": "its two prompts are in different splits",
    "environment_differs": "the answers diverge in a tool's or user's turn, not in the model's",
    "prompt_is_answer": "the prompt contains only the model's own turns",
    "not_text": "a message contains an image, or another part or call that text cannot represent",
    "not_plain_text": "it is a chat, and --text takes plain text",
    "rendered_prompt": "the prompt is already rendered by a chat template, and trainers would "
    "render it again: pair --prompt-template splits it into messages, --to trl --text writes it "
    "as it is",
    "turns_do_not_alternate": "the user's and the model's turns do not alternate",
    "answer_miscut": "the answer's text also occurs earlier in the conversation, and the trainer "
    "would cut there",
    "template_refuses": "the chat template rejects the conversation",
    "prompt_changes": "the chat template renders the prompt differently once an answer follows",
    "not_traced": "the rendered text cannot be traced back to the messages",
    "token_across_border": "a token spans the boundary of the text that the model wrote",
    "prompt_ids_differ": "the prompt's tokens differ between chosen and rejected",
    "characters_lost": "the tokenizer has no token for a character, or only its unknown token",
    "mask_inside": "the model did not write all of an answer, and the target has no masks "
    "(--turns first, or --single-turn)",
    "own_tokens": "its rollouts came with tokens of whole answers, including reasoning; "
    "--turns first and --reasoning-as nothing need a --tokenizer",
    "no_tokens": "its rollouts came without tokens, and there is no --tokenizer with a template",
    "no_hint": "there is no hint for this kind of error, or it names an unknown field",
    "empty_recovery": "the turn that should recover from an error is empty",
    "recovery_tokens_differ": "the turn that recovers from an error has different tokens after a "
    "hint",
    "tokens_malformed": "the tokens that came with a rollout are not ids, prompt_length and mask",
    "cannot_be_held": "the target cannot represent it as it is (--lossy drop)",
    "prompt_on_other_side": "the prompt that is written is also in test or val, which keeps it "
    "(split --for TARGET avoids this)",
}
"""Why a pair was dropped."""

PAIR_NOTICES = {
    "contradiction_kept": "another pair prefers the other answer (dedupe --conflicts)",
    "shared_turns_moved": "turns shared by both answers were moved into the prompt",
    "later_turns_left_out": "only the first turn that differs is written (--turns)",
    "answer_begun_in_prompt": "the prompt ended with the beginning of both answers",
    "environment_in_answer": "an answer contains tool or user turns (--turns all)",
    "turns_joined": "consecutive messages of one role were merged",
    "reasoning_as_text": "thinking is written as text, between <think> and </think>",
    "reasoning_left_out": "thinking was omitted",
    "earlier_reasoning_left_out": "thinking in earlier turns was omitted, as chat templates do",
    "calls_as_text": "tool calls are written as text, between <tool_call> and </tool_call>",
    "results_as_text": "tool results are written as user messages",
    "broken_arguments_as_text": "the arguments are not a JSON object, so the call is written as "
    "text",
    "tools_as_text": "tool schemas are written in the system message",
    "system_as_text": "the system message is prepended to the first user message",
    "answer_repeated": "an answer of several pairs is written once",
    "label_contradicted": "an answer that one pair chooses and another rejects was omitted",
    "prompt_head_cut": "tokens at the start of the prompt were removed (--keep-end)",
    "tokens_cut": "tokens beyond --max-tokens were cut off (--truncate)",
    "answer_form_left_out": "the request's settings for the form of the answer were omitted "
    "(tool_choice, text.format, response_format)",
    "history_left_out": "only the last message of the prompt is written (--last-message)",
    "old_side_kept": "its prompt keeps its split from --like",
    "old_sides_differ": "its prompt is in several splits of --like: test keeps it, else val",
}
"""What was changed or is worth knowing about pairs that are kept."""

GROUPS = {
    "no_candidate": "the group has no candidates left",
    "one_candidate": "the group has only one candidate",
    "same_answer": "all candidates gave the same answer",
    "all_tied": "all candidates have the same score",
    "none_allowed": "the candidates differ, but no pair passes the options",
}

BAD = {
    "not_json": "the line is not JSON",
    "unfinished": "the line ends in the middle of a JSON value",
    "pretty_printed": "the JSON value spans several lines; `jq -c .` writes each on one line",
    "invalid_utf8": "the line is not UTF-8",
    "too_deep": "the line is nested too deeply",
    "number_too_long": "a number has more than 4300 digits",
    "too_many_values": "the values of the line would take more memory than its length allows",
    "refused_row": "the row is in a form that cannot be read from this data frame or database",
    "line_too_long": "the line is longer than --max-line allows (64 MB)",
    "lfs_pointer": "the file is a Git LFS pointer, not the data",
    "bad_field": "a field has the wrong type",
}

TRAPS = {
    "bad_json": "the line is not JSON that the loader accepts",
    "surrogate": "a lone surrogate (half an emoji), which the loader rejects",
    "key_twice": "an object has the same key twice",
    "not_an_object": "the line is not an object",
    "late_field": "a field or type first appears after the first 10 MiB, which determine the "
    "schema",
    "files_differ": "the files differ in a field, so they do not load together without a card",
    "types_differ": "a field has several types, which datasets before 4.7 rejects",
    "reads_as_date": "all texts of a field look like dates, and are loaded as timestamps",
    "trace_columns": "id, source, model, system_prompt and messages are read as an agent trace",
    "own_task_name": "the loader adds a column task_name itself",
    "missing_column": "a column that the trainer needs is missing or null",
    "wrong_type": "a column has a type that the trainer cannot use",
    "forms_differ": "texts and chats are mixed, in one row or among rows",
    "sharegpt_keys": "messages have from and value instead of role and content",
    "empty_chat": "a chat has no messages",
    "wrong_role": "the trainer or most chat templates do not know this role",
    "content_null": "a message has no content",
    "content_parts": "content is a list of parts, which many chat templates omit",
    "equal_sides": "chosen and rejected are the same, so the loss stays at ln 2",
    "equal_when_cut": "chosen and rejected are the same once they are truncated to the maximum "
    "length",
    "prompt_too_long": "the prompt alone reaches the maximum length",
    "empty_side": "an answer is empty",
    "prompt_ends_with_answer": "the prompt ends with a model turn",
    "prompt_repeated": "the answer repeats the prompt at its beginning",
    "prompt_in_both": "there is no separate prompt, so it is cut where chosen and rejected diverge",
    "shared_turns": "both answers begin with the same turns, which are trained on",
    "environment_trained": "tool or user messages in an answer are trained on",
    "environment_last": "an answer ends with a tool or user message, which is trained on",
    "last_turn_alone": "an answer has several messages, and only the last one is trained on",
    "prompts_differ": "the two sides do not have the same prompt",
    "reserved_column": "this column changes what the trainer does",
    "unknown_column": "the host does not accept this column",
    "kwargs_missing": "chat_template_kwargs must be an object in every row, or missing in all",
    "tools_not_a_list": "tools is neither a list nor the JSON text of one",
    "tools_unseen": "tools never reach the chat template of this trainer",
    "arguments_as_text": "tool-call arguments are text, which many templates reject or quote twice",
    "reasoning_unseen": "there is reasoning_content, which many chat templates omit",
    "thinking_in_prompt": "an earlier turn contains reasoning, which is rendered twice or omitted",
    "space_at_end": "the prompt ends with a space, which usually belongs to the answer's first "
    "token",
    "not_one_message": "an answer is not exactly one message",
    "not_two_answers": "there are not exactly two completions",
    "tied_ranks": "both completions have the same rank",
    "old_keys": "chosen_response and rejected_response are names of another release",
    "uneven_turns": "the user's and the model's turns do not alternate",
    "call_not_json": "the value of a function_call is not JSON",
    "miscut": "the answer's text also occurs before the answer, where the trainer would cut",
    "template_in_prompt": "the message is already rendered by a chat template, and will be "
    "rendered again",
    "sliced_by_template": "the generation prompt has text that the turn lacks, so the answer "
    "loses its beginning",
    "space_around_answer": "the answer has whitespace around it, which templates trim, so the "
    "trainer does not find it",
    "same_neighbour": "neighbouring rows share a prompt, but KTO needs different ones",
    "one_label": "all labels are the same",
    "fewer_than_a_batch": "there are fewer rows than a batch (--batch-size), so there is no "
    "training step",
    "too_few_rows": "there are fewer rows than the host accepts",
    "not_ids": "token ids are not whole numbers from 0 up",
    "mask_wrong": "the mask is not a 0 or 1 for each token of the answer",
    "mask_empty": "the mask has no 1, so nothing is trained on",
    "length_wrong": "the length is not that of prompt and answer",
    "padded_wrong": "padded columns differ from the unpadded ones",
    "prompt_on_two_sides": "the prompt is also in another split",
    "no_rows": "the file has no rows",
    "file_name": "the loader does not know the file name's extension",
}
"""Why a trainer would not train on a row or a file as intended."""

TABLES = {
    "Rows and candidates that are dropped": LOSSES,
    "Pairs that are dropped": PAIRS,
    "Pairs that are changed or flagged": PAIR_NOTICES,
    "Rows that are bad": BAD,
    "Rows and candidates that are changed or flagged": NOTICES,
    "Groups without a pair": GROUPS,
    "What validate finds": TRAPS,
}
"""All codes by kind, in the order of the reference."""

ALL = {code: line for codes in TABLES.values() for code, line in codes.items()}
