"""Why a row, a candidate or a group was lost, or what was mended: stable codes, one sentence each.

The codes stand in summaries and in quarantine files; scripts rely on them.
"""

LOSSES = {
    "masked": "the environment marked the reward as unreliable (mask_sample)",
    "failed": "the rollout failed before it could be judged (_ng_failure_class)",
    "incomplete": "the answer was cut off before its end (incomplete_details)",
    "placeholder": "a placeholder line instead of a rollout",
    "no_score": "the score is missing",
    "score_not_finite": "the score is NaN, infinite or beyond 8e307",
    "no_prompt": "the prompt is missing or empty",
    "no_response": "the response is missing",
    "empty_answer": "the model said nothing: no text and no tool call",
    "no_group": "a field that --group-by names is missing",
    "unsupported_item": "the response holds an item that has no form in a chat",
    "no_ttc_steps": "the row holds no TTC_END step",
    "other_step_name": "the row's TTC_END steps all have another name than --step-name",
    "no_step_data": "a TTC step holds no data",
    "no_turn_id": "a TTC step has no turn_id of a usable type",
    "bad_index": "a TTC step's candidate_index is not a whole number",
    "duplicate_rollout": "the same rollout (task, index, content and score) appears again",
    "conflicting_scores": "the same rollout appears with different scores; none of them is used",
}

SWITCHABLE = ("masked", "failed", "incomplete", "placeholder", "no_score", "conflicting_scores")
"""The losses that --keep-rows turns off."""

MENDS = {
    "trailing_turn_cut": "tool or user turns after the model's last word were cut off",
    "leading_turn_moved": "turns before the model's first word were moved into the prompt",
    "prompt_held_answer": "the prompt ended with the candidate's own answer, which was removed",
    "surrogate_replaced": "a lone surrogate (half an emoji) became U+FFFD",
    "repeated_item_id": "an item id appears more than once; its candidates compete together",
    "final_rests_on_tools": "the final answer rests on tool results that the prompt lacks",
}

GROUPS = {
    "no_candidate": "none of the group's candidates is left",
    "one_candidate": "a single candidate has nobody to be compared with",
    "same_answer": "all candidates gave the same answer",
    "all_tied": "all candidates have the same score",
    "none_allowed": "the candidates differ, but no pair passes the options",
}

BAD = {
    "not_json": "the line is not JSON",
    "unfinished": "the line ends in the middle of a JSON value",
    "invalid_utf8": "the line is not UTF-8",
    "too_deep": "the line is nested too deeply",
    "number_too_long": "a number has more than 4300 digits",
    "lfs_pointer": "the file is a Git LFS pointer, not the data",
    "bad_field": "a field has the wrong type",
}

ALL = {**LOSSES, **MENDS, **GROUPS, **BAD}
