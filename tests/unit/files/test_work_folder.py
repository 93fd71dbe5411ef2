"""The folder of the steps of a run."""

import os
import shutil
from pathlib import Path

import pytest

from prefpairs.files.work_folder import WorkFolder


def test_a_removal_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is gone before any file of it is, and the next call removes the rest."""
    folder = WorkFolder(str(tmp_path / "steps"))
    folder.create("map/00000")
    folder.write("plan.json", b"{}")

    def killed(path: str) -> None:
        assert not os.path.lexists(folder.path)
        os.remove(os.path.join(path, "plan.json"))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.remove()
    assert os.listdir(tmp_path) == ["steps-removed"]
    folder.remove()
    assert os.listdir(tmp_path) == []
    folder.remove()
