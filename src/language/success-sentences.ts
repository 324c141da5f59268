import type { MemoryCommand } from './command.ts';
import { echoText } from './page.ts';

type ChangingCommand = Exclude<MemoryCommand, { readonly command: 'view' }>;

/**
 * Makes the reply to a command that changed the memory, paths repeated as they were given. `view.ts` and `listing.ts`
 * make the replies to views.
 *
 * @param shown `snippet` shows the change of `str_replace`; `redacted` has the rules by which the policy had something
 * replaced. The snippet shows the text that was asked for, so it is left out where another was written in its place.
 */
export function successSentence(
  command: ChangingCommand,
  { snippet, redacted = [] }: { readonly snippet?: string; readonly redacted?: readonly string[] } = {},
): string {
  return redacted.length === 0
    ? doneSentence(command, snippet)
    : `${doneSentence(command)}${redactionNote(redacted)}`;
}

function doneSentence(command: ChangingCommand, snippet?: string): string {
  switch (command.command) {
    case 'create':
      return `File created successfully at: ${echoText(command.target.given)}`;
    case 'str_replace':
      return snippet === undefined
        ? 'The memory file has been edited.'
        : `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`;
    case 'insert':
      return `The file ${echoText(command.target.given)} has been edited.`;
    case 'delete':
      return `Successfully deleted ${echoText(command.target.given)}`;
    case 'rename':
      return `Successfully renamed ${echoText(command.source.given)} to ${echoText(command.destination.given)}`;
  }
}

/** Makes the addition to a reply after a policy replaced sensitive information. */
function redactionNote(rules: readonly string[]): string {
  return ` Sensitive information (${rules.join(', ')}) was replaced by placeholders before it was saved; view the file to see it as it is.`;
}
