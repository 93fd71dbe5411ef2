"""TRL's KTO: one answer per row."""

from target_rows import DEEP, PLAIN, extras_of, model, pair, rows_of, user


def test_rows() -> None:
    """The chosen answer comes first, each with its label and score."""
    assert rows_of("trl-kto", PLAIN) == [
        {"prompt": [user("Q")], "completion": [model("Aye")], "label": True, "score": 1.0},
        {"prompt": [user("Q")], "completion": [model("Nay")], "label": False, "score": 0.25},
    ]


def test_rows_of_a_trajectory() -> None:
    """Both rows have the tools; scores appear only if they are known."""
    rows = rows_of("trl-kto", DEEP._replace(rejected_score=None))
    tools = '[{"type":"function","function":{"name":"add","parameters":{}}}]'
    assert [row["tools"] for row in rows] == [tools, tools]
    assert ["score" in row for row in rows] == [True, False]


def test_rows_of_plain_texts() -> None:
    """Plain texts may stay texts."""
    rows = rows_of("trl-kto", pair("Q", " A", " B"), text=True)
    assert [(row["prompt"], row["completion"]) for row in rows] == [("Q", " A"), ("Q", " B")]


def test_command() -> None:
    """The batch size is above one, since the trainer compares neighbors."""
    script = extras_of("trl-kto", "train")["kto.sh"]
    assert "exec trl kto --per_device_train_batch_size 8 --model_name_or_path" in script
    assert '--output_dir "${OUTPUT:-kto-output}" "$@"\n' in script
