import { MemoryError, unlessDamaged } from '../errors.ts';
import { applyEdit } from '../language/apply-edit.ts';
import type { MemoryCommand } from '../language/command.ts';
import { successSentence } from '../language/success-sentences.ts';
import { decodeText } from '../language/text.ts';
import type { KeptCall } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';

interface AskedAgain {
  readonly tree: Tree;
  readonly options: KeptCall;
  /** True where the path is not the one that was given: the command may have taken away what lay there. */
  readonly isElsewhere: boolean;
}

/**
 * Answers a command that was made before as it was answered, without a note of what a policy replaced; undefined for
 * one that is yet to be made.
 *
 * @throws MemoryError `outcome_unknown` where nothing tells whether it was made.
 */
export async function answerMade(asked: AskedAgain, command: MemoryCommand): Promise<string | undefined> {
  if (command.command === 'view') return undefined;
  // A damaged file tells nothing, and the turn goes on without it.
  const wasMade = await unlessDamaged(asked.tree.wasMade(deedOf(command), asked.options));
  if (wasMade === undefined || (!wasMade && asked.isElsewhere)) {
    throw new MemoryError(
      'outcome_unknown',
      'a process died, and nothing tells whether its command was made',
    );
  }
  if (!wasMade) return undefined;
  const snippet = command.command === 'str_replace' ? await snippetNow(asked, command) : undefined;
  return successSentence(command, snippet === undefined ? {} : { snippet });
}

function deedOf(
  command: Exclude<MemoryCommand, { readonly command: 'view' }>,
): Parameters<Tree['wasMade']>[0] {
  if (command.command === 'rename') {
    return { kind: 'renamed', path: command.source.path, to: command.destination.path };
  }
  return { kind: command.command === 'delete' ? 'deleted' : 'written', path: command.target.path };
}

/** Shows a replacement that was made before, as it stands in the text now; undefined where it is not found once. */
async function snippetNow(
  { tree, options: { signal } }: AskedAgain,
  command: Extract<MemoryCommand, { readonly command: 'str_replace' }>,
): Promise<string | undefined> {
  const content = await tree.read(command.target.path, { signal });
  const text = content && decodeText(content);
  try {
    return text && applyEdit(text, { ...command, oldStr: command.newStr }).snippet;
  } catch {
    return undefined;
  }
}
