"""prefpairs completion: prints the script that completes command lines in a shell.

The script passes on the words up to the cursor. It gets a line with the kind of names that the
shell itself should complete (none, files, folders), and then a line for each word: the word, a tab,
and its description.
"""

from prefpairs.files.output import open_output
from prefpairs.option import REQUIRED, argument, one_of, options

_BASH = r"""# bash completion for prefpairs
_prefpairs() {
    local line names=
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $names ]]; then
            names=$line
        else
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <("$1" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    case $names in
        none) compopt +o default 2>/dev/null ;;
        folders) compopt +o default -o dirnames 2>/dev/null ;;
    esac
}
complete -o nosort -o default -F _prefpairs prefpairs 2>/dev/null ||
    complete -o default -F _prefpairs prefpairs
"""

_ZSH = r"""#compdef prefpairs
# zsh completion for prefpairs
_prefpairs() {
    local line word names
    local -a lines choices
    lines=("${(@f)$(${(Q)words[1]} completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    names=$lines[1]
    for line in "${(@)lines[2,-1]}"; do
        word=${${line%%$'\t'*}//:/\\:}
        line=${line#*$'\t'}
        choices+=("$word${line:+:$line}")
    done
    if (( $#choices )); then
        _describe -V prefpairs choices
    fi
    if [[ $names != none && $words[CURRENT] == --*=* ]]; then
        compset -P '*='
    fi
    case $names in
        files) _files ;;
        folders) _files -/ ;;
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _prefpairs "$@"
else
    compdef _prefpairs prefpairs
fi
"""

_FISH = r"""# fish completion for prefpairs
function __prefpairs_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct | string unescape)
    set -q typed[1]; or set typed ""
    set -l lines ($words[1] completion fish -- $words[2..-1] $typed 2>/dev/null)
    set -q lines[1]; or return
    set -l option (string match -r '^--[^=]*=' -- $typed)
    set -l name (string replace -r '^--[^=]*=' '' -- $typed)
    switch $lines[1]
        case files
            printf "$option%s\n" (__fish_complete_path $name)
        case folders
            printf "$option%s\n" (__fish_complete_directories $name)
    end
    set -e lines[1]
    printf '%s\n' $lines
end
complete -c prefpairs -f -k -a '(__prefpairs_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""The script of each shell."""


@options
class CompletionOptions:
    """The shell, and what was typed in it."""

    shell: str = argument(REQUIRED, metavar="bash|zsh|fish", help="Your shell.")
    words: list[str] | None = argument(
        None,
        metavar="[WORD]...",
        help="The words typed so far: prints completions of the last one. Used by the script.",
    )


def completion(*, asked: CompletionOptions) -> None:
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
