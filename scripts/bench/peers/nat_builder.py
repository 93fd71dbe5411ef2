"""NAT's own DPO builder and its own writer, on a `workflow_output.json` instead of a live run.

Needs nvidia-nat-nemo-customizer and nvidia-nat-eval; `--nat-python` names a Python that has them.
"""

# mypy: ignore-errors

import asyncio
import json
import sys

from nat.data_models.evaluate_runtime import EvaluationRunOutput
from nat.data_models.evaluator import EvalInput, EvalInputItem
from nat.data_models.intermediate_step import IntermediateStep
from nat.plugins.customizer.dpo.config import (
    DPOTrajectoryBuilderConfig,
    NeMoCustomizerTrainerAdapterConfig,
)
from nat.plugins.customizer.dpo.trainer_adapter import NeMoCustomizerTrainerAdapter
from nat.plugins.customizer.dpo.trajectory_builder import DPOTrajectoryBuilder

RUN = "bench"


def read() -> EvaluationRunOutput:
    """The steps as the builder gets them at the end of an evaluation."""
    with open(sys.argv[1], encoding="utf-8") as file:
        items = [
            EvalInputItem(
                id=item["id"],
                input_obj=item["question"],
                expected_output_obj=item["answer"],
                full_dataset_entry={},
                trajectory=[IntermediateStep.model_validate(s) for s in item["intermediate_steps"]],
            )
            for item in json.load(file)
        ]
    return EvaluationRunOutput.model_construct(
        eval_input=EvalInput(eval_input_items=items), evaluation_results=[]
    )


async def rows() -> tuple[str, str]:
    """Build the trajectories; return the two files that would be uploaded."""
    builder = DPOTrajectoryBuilder(DPOTrajectoryBuilderConfig(min_score_diff=0.2))
    builder.evaluation_runs[RUN] = asyncio.create_task(asyncio.to_thread(read))
    trajectories = await builder.finalize(RUN)
    adapter = object.__new__(NeMoCustomizerTrainerAdapter)
    adapter.adapter_config = NeMoCustomizerTrainerAdapterConfig(
        entity_host="http://x", datastore_host="http://x", namespace="x", customization_config="x"
    )
    return adapter._trajectory_to_dpo_jsonl(trajectories)


texts = asyncio.run(rows())
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.writelines(f"{text}\n" for text in texts)
