"""prefpairs completion: the script that completes command lines in a shell."""

from prefpairs.cli.shell_scripts import SCRIPTS
from prefpairs.files.output import open_output
from prefpairs.option import REQUIRED, argument, one_of, options


@options
class CompletionWords:
    """The shell, and what was typed in it."""

    shell: str = argument(REQUIRED, metavar="bash|zsh|fish", help="Your shell.")
    words: list[str] | None = argument(
        None,
        metavar="[WORD]...",
        help="The words typed so far: prints completions of the last one. Used by the script.",
    )


def completion(*, asked: CompletionWords) -> None:
    """Complete command lines in bash, zsh or fish.

    Prints a script for the shell to load. It completes commands, options, their values, reason
    codes and file names.

        # in ~/.bashrc
        eval "$(prefpairs completion bash)"

        # in ~/.zshrc, after compinit
        eval "$(prefpairs completion zsh)"

        # once, for fish
        prefpairs completion fish > ~/.config/fish/completions/prefpairs.fish
    """
    name, words = one_of("shell", asked.shell, *SCRIPTS), asked.words
    with open_output("-") as output:
        output.write((SCRIPTS[name] if words is None else _answer(words, name)).encode())


def _answer(words: list[str], shell: str) -> str:
    """The kind of names that could be typed, and then a line for each word."""
    from prefpairs.cli.completer import completed

    answer = completed(words, cut_at_equals=shell == "bash")
    lines = [answer.names, *(f"{word}\t{line}" for word, line in answer.words.items())]
    return "".join(f"{line}\n" for line in lines)
