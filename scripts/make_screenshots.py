"""Write docs/pictures: `stats` on a terminal, and the page of `report`, about made-up rollouts."""

import io
import json
import os
import pty
import random
import shutil
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--font-render-hinting=none"]

MODELS = {"base": 0.35, "sft-step-200": 0.55, "sft-step-400": 0.65, "teacher": 0.85}
"""How often each model gets a product right."""

TASKS, ANSWERS = 240, 8

COLUMNS, LINES = 100, 48
"""The size of the terminal in the picture."""

ASKED = ["--strategy", "exhaustive", "--keep", "model"]

OPENINGS = ("Let me split it up:", "Step by step:", "I take the tens first:", "Piece by piece:")
CLOSINGS = ("So {}.", "That makes {}.", "Together {}.", "The answer: {}.", "Hence {}.")


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = write_page(Path(folder))
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        shoot_stats(browser, page.parent)
        shoot_charts(browser, page)
        shoot_pair(browser, page)
        browser.close()


def write_page(folder: Path) -> Path:
    """The page about rollouts of multiplications."""
    chance = random.Random(7)  # noqa: S311 - made-up data
    rows = (rollout(task, chance) for task in range(TASKS) for _ in range(ANSWERS))
    (folder / "rollouts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = [*ASKED, "--title", "Nightly rollouts, week 12"]
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


def shoot_stats(browser: Browser, folder: Path) -> None:
    """The first lines of stats, as in a dark terminal."""
    words = ["stats", *ASKED, "rollouts.jsonl"]
    lines = [f"$ prefpairs {' '.join(words)}", *on_a_terminal(words, folder).splitlines()]
    console = Console(record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True)
    console.print(Text.from_ansi("\n".join(lines[:LINES])))
    opened = browser.new_page(device_scale_factor=1.2)
    opened.set_content(console.export_html(theme=MONOKAI, inline_styles=True))
    opened.add_style_tag(content="body {margin: 0} pre {padding: 1em; width: max-content}")
    opened.locator("pre").screenshot(path=FOLDER / "stats.png")


def on_a_terminal(words: list[str], folder: Path) -> str:
    """The output of the program on a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (LINES, COLUMNS))
    with subprocess.Popen(
        [sys.executable, "-m", "prefpairs", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        env={**os.environ, "TERM": "xterm-256color"},
    ) as running:
        os.close(theirs)
        shown = b"".join(iter(lambda: read(ours), b""))
        running.wait()
    os.close(ours)
    return shown.decode()


def read(descriptor: int) -> bytes:
    """The available output; empty once the other end is closed."""
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""


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
