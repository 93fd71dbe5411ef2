"""Checks a file with the strict offline validator of the Together SDK."""

import argparse
import importlib
import json
import os

import consumer_kit
from consumer_kit import Outcome


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Runs the check on each file; the first rejection is the error."""
    check_file = importlib.import_module("together.utils.files").check_file
    outcome.rows_out = 0
    outcome.facts["reports"] = reports = {}
    for each in consumer_kit.data_files(arguments.path):
        report = check_file(each)
        reports[os.path.basename(each)] = report
        if not report["is_check_passed"]:
            outcome.error = f"{report['message']}"
            continue
        outcome.rows_out += report["num_samples"] or 0
        for row in consumer_kit.read_lines(each):
            outcome.show(
                json.dumps(row["input"]["messages"], ensure_ascii=False),
                consumer_kit.text_of(row["preferred_output"][0]["content"]),
                consumer_kit.text_of(row["non_preferred_output"][0]["content"]),
            )


if __name__ == "__main__":
    consumer_kit.run("together_check", "together", work)
