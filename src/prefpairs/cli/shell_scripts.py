"""The scripts that make shells ask what could be typed.

Each hands over the words up to the cursor, and gets a line with the kind of names that the shell
itself should complete (none, files, folders), and then a line for each word: the word, a tab, and
what is said of it.
"""

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
