import { script } from '@bomb.sh/tab';

const NAME = 'sealed-memory';

/**
 * Needs nothing but bash: no package of completions, and no version after 3.2. What is typed and what is offered is
 * data to it: neither is run or expanded. A word of COMP_WORDS that follows without a space, as around =, : and @,
 * belongs to the one before. What is offered takes the place of what stands after the last = or :, or from the last @
 * on.
 */
const BASH = `# bash completion for ${NAME}
__sealed_memory_complete() {
    local line=$COMP_LINE program=\${COMP_WORDS[0]} words word last i out directive prefix
    COMPREPLY=()
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        if ((i > 0)) && [[ -n $line && $line != [[:space:]]* ]]; then
            last=$((\${#words[@]} - 1))
            words[last]+=$word
        else
            line=\${line#"\${line%%[![:space:]]*}"}
            words+=("$word")
        fi
        line=\${line#"$word"}
    done
    last=\${words[\${#words[@]} - 1]}
    [[ $word == [=:] ]] && word=
    prefix=\${last%"$word"}
    prefix=\${prefix%@}
    type -P -- "$program" >/dev/null || program=${NAME}
    out=$("$program" complete bash -- "\${words[@]:1}" 2>/dev/null </dev/null)
    directive=\${out##*:}
    [[ $directive =~ ^[0-9]+$ ]] || return 0
    while IFS= read -r word; do
        [[ -n $word ]] && COMPREPLY+=("\${word#"$prefix"}")
    done <<<"\${out%:*}"
    ((directive & 2)) && compopt -o nospace 2>/dev/null
    ((directive & 4)) && compopt +o default 2>/dev/null
    return 0
}
complete -o default -F __sealed_memory_complete ${NAME}
`;

/** Prints what makes a shell complete the program's command lines. */
export async function runCompletion(shell: string): Promise<number> {
  if (shell === 'bash') process.stdout.write(BASH);
  else script(shell, NAME, NAME);
  return 0;
}
