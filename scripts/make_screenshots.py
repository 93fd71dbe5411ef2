"""Write docs/pictures: the page of `report` about made-up rollouts, as Chromium shows it."""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--font-render-hinting=none"]

MODELS = {"base": 0.35, "sft-step-200": 0.55, "sft-step-400": 0.65, "teacher": 0.85}
"""How often each gets a sum right."""

TASKS, ANSWERS = 240, 8

OPENINGS = ("Let me split it up:", "Step by step:", "I take the tens first:", "Piece by piece:")
CLOSINGS = ("So {}.", "That makes {}.", "Together {}.", "The answer: {}.", "Hence {}.")


def main() -> None:
    """Write both pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = write_page(Path(folder))
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        shoot_charts(browser, page)
        shoot_pair(browser, page)
        browser.close()


def write_page(folder: Path) -> Path:
    """The page about rollouts of multiplications."""
    chance = random.Random(7)  # noqa: S311 - made-up data
    rows = (rollout(task, chance) for task in range(TASKS) for _ in range(ANSWERS))
    (folder / "rollouts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ["--strategy", "exhaustive", "--keep", "model", "--title", "Nightly rollouts, week 12"]
    subprocess.run(
        [sys.executable, "-m", "prefpairs", "report", *words, "-o", "report.html"],
        cwd=folder,
        stdin=(folder / "rollouts.jsonl").open("rb"),
        check=True,
    )
    return folder / "report.html"


def rollout(task: int, chance: random.Random) -> dict[str, object]:
    """One model's answer to one multiplication, and its score."""
    left, right = 13 + task * 7 % 80, 12 + task * 11 % 70
    model = chance.choice(list(MODELS))
    right_enough = chance.random() < MODELS[model]
    result = left * right + (0 if right_enough else chance.choice([-100, -10, 10, 90]))
    tens, ones = right // 10 * 10, right % 10
    steps = [f"{left} * {tens} = {left * tens}", f"{left} * {ones} = {result - left * tens}"]
    said = chance.choice(CLOSINGS).format(f"{left} * {right} = {result}")
    style = chance.random()
    if style < 0.35 + 0.35 * right_enough:
        listed = "\n".join(f"- {step}" for step in steps)
        said = f"{chance.choice(OPENINGS)}\n\n{listed}\n\n{said}"
    elif style < 0.95:
        said = f"I know that {' and '.join(steps)}. {said}"
    else:
        said = ""
    score = (0.7 if right_enough else 0.1) + round(chance.random() * 0.3, 2)
    return {
        "prompt": f"What is {left} * {right}? Show how you got there.",
        "response": said,
        "score": round(score, 2),
        "model": model,
    }


def shoot_charts(browser: Browser, page: Path) -> None:
    """The charts, in the light theme."""
    size = {"width": 1200, "height": 1640}
    opened = browser.new_page(viewport=size, color_scheme="light", device_scale_factor=0.8)
    opened.goto(page.as_uri())
    opened.screenshot(path=FOLDER / "report-light.png")


def shoot_pair(browser: Browser, page: Path) -> None:
    """A pair whose two answers are lists, in the dark theme."""
    size = {"width": 1200, "height": 900}
    opened = browser.new_page(viewport=size, color_scheme="dark", device_scale_factor=0.8)
    opened.goto(page.as_uri())
    while opened.locator(".side:has-text('- ')").count() < len(("chosen", "rejected")):
        opened.keyboard.press("j")
    opened.click(".filters summary")
    opened.evaluate("document.activeElement.blur()")
    opened.evaluate("document.getElementById('pairs').scrollIntoView({behavior: 'instant'})")
    opened.screenshot(path=FOLDER / "report-dark.png")


if __name__ == "__main__":
    main()
