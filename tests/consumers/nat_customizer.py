"""Runs NAT's own trainer adapter, unchanged and with its SDKs, against a service on loopback.

PATH is a dataset of `export --to customizer`; its rows become the adapter's trajectories. With
`--only-read`, nothing is submitted: the SDKs read what the service has.
"""

import argparse
import asyncio
import os
from typing import Any

import consumer_kit
from consumer_kit import Outcome

NAMESPACE, DATASET = "games", "moves"
MODEL = "meta/llama-3.1-8b-instruct@v1.0.0+A100"


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the address of the service and the token of the Data Store."""
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--only-read", action="store_true")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Submits the rows as NAT does, then lists what the service has."""
    os.environ["HF_HUB_OFFLINE"] = "0"  # the only service it knows is on loopback
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # otherwise 1.33 uses Xet, without falling back to LFS
    files = [f"{arguments.path}/{part}/{part}_file.jsonl" for part in ("training", "validation")]
    rows = [row for file in files for row in consumer_kit.read_lines(file)]
    outcome.rows_in = outcome.rows_out = len(rows)
    if not arguments.only_read:
        outcome.facts["reference"] = asyncio.run(submit(arguments, rows))
    outcome.facts |= read_back(arguments)


async def submit(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Runs the adapter: initialize, submit, wait until the model is deployed."""
    from nat.data_models.finetuning import DPOItem, FinetuneConfig, Trajectory, TrajectoryCollection
    from nat.plugins.customizer.dpo.config import NeMoCustomizerTrainerAdapterConfig
    from nat.plugins.customizer.dpo.trainer_adapter import NeMoCustomizerTrainerAdapter

    config = NeMoCustomizerTrainerAdapterConfig(
        entity_host=arguments.url,
        datastore_host=arguments.url,
        hf_token=arguments.token,
        namespace=NAMESPACE,
        dataset_name=DATASET,
        customization_config=MODEL,
        use_full_message_history=True,
        deploy_on_completion=True,
        poll_interval_seconds=0.05,
    )
    adapter = NeMoCustomizerTrainerAdapter(config)
    await adapter.initialize(FinetuneConfig())
    items = [
        DPOItem(
            prompt=row["prompt"],
            chosen_response=row["chosen_response"],
            rejected_response=row["rejected_response"],
        )
        for row in rows
    ]
    groups = [[Trajectory(episode=[item], reward=1.0)] for item in items]
    reference = await adapter.submit(TrajectoryCollection(trajectories=groups, run_id="run_1"))
    status = await adapter.wait_until_complete(reference)
    return {**(reference.metadata or {}), "status": status.status.value}


def read_back(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the SDKs find on the service."""
    from huggingface_hub import HfApi
    from nemo_microservices import NeMoMicroservices

    client = NeMoMicroservices(base_url=arguments.url)
    jobs = [
        {"id": job.id, "output_model": job.output_model, "fields": job.custom_fields}
        for job in client.customization.jobs.list(sort="-created_at")
    ]
    deployments = [
        {"name": one.name, "config": one.config, "status": one.status_details.status}
        for one in client.deployment.model_deployments.list().data
    ]
    registered = client.datasets.retrieve(DATASET, namespace=NAMESPACE)
    endpoint, name = f"{arguments.url}/v1/hf", f"{NAMESPACE}/{DATASET}"
    api = HfApi(endpoint=endpoint, token=arguments.token)
    tree: Any = api.list_repo_tree(name, repo_type="dataset", recursive=True)
    files = {
        entry.path: {"size": entry.size, "sha256": entry.lfs.sha256 if entry.lfs else None}
        for entry in tree
    }
    return {
        "jobs": jobs,
        "deployments": deployments,
        "files_url": registered.files_url,
        "files": files,
    }


if __name__ == "__main__":
    consumer_kit.run("nat_customizer", "nvidia-nat-nemo-customizer", work, options)
