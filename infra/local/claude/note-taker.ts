import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import type { ScriptedPart } from '../../../src/testing/claude/reply.ts';
import type { ScriptedScene } from '../../../src/testing/claude/scripted-claude.ts';
import { type Dialogue, listedFiles, readDialogue } from './dialogue.ts';

const NOTES = '/memories/notes.md';
const KEEP = /keep this for later: (.+)$/;

/**
 * Makes a user's prompt at which the note taker keeps a fact, one line of text. Claude itself understands it as well.
 */
export function keepPrompt(fact: string): string {
  return `Please keep this for later: ${fact}`;
}

export const RECITE_PROMPT = 'What have I asked you to keep? Please list it word for word.';

/**
 * Plays Claude's part for any tenant: keeps facts, one a line, and says them again. It knows only the request, so a
 * fact that it says has been through the store.
 */
export function takeNotes({ tools, messages }: Pick<ScriptedScene, 'tools' | 'messages'>): ScriptedPart {
  if (tools.get('memory') !== 'memory_20250818') {
    throw new ApiRefusal('tools: one tool of type memory_20250818 with the name memory is required');
  }
  const dialogue = readDialogue(messages);
  const fact = KEEP.exec(dialogue.user)?.[1];
  if (dialogue.turn === 0) {
    return { say: 'I look into my memory first.', calls: [call({ command: 'view', path: '/memories' })] };
  }
  return fact === undefined ? recite(dialogue) : keep(dialogue, fact);
}

function keep(dialogue: Dialogue, fact: string): ScriptedPart {
  const { turn } = dialogue;
  const last = dialogue.exchanges.at(-1);
  const insert = call({ command: 'insert', path: NOTES, insert_line: 0, insert_text: `${fact}\n` });
  if (turn === 1) {
    if (listedFiles(dialogue).includes(NOTES))
      return { say: 'There are notes; I add to them.', calls: [insert] };
    const create = call({ command: 'create', path: NOTES, file_text: `${fact}\n` });
    return { say: 'I start a file.', calls: [create] };
  }
  if (!last?.isError) return { say: `I keep this: ${fact}` };
  // Another turn of the same tenant was faster.
  if (last.command.command === 'create') return { say: 'There is one by now; I add to it.', calls: [insert] };
  return { say: `I could not keep it: ${last.result}` };
}

function recite(dialogue: Dialogue): ScriptedPart {
  const { turn } = dialogue;
  if (turn === 1) {
    if (!listedFiles(dialogue).includes(NOTES)) return { say: 'Nothing so far.' };
    return { say: 'There are notes.', calls: [call({ command: 'view', path: NOTES })] };
  }
  const { result = '' } = dialogue.exchanges.at(-1) ?? {};
  const facts = [...result.matchAll(/^ *\d+\t(.+)$/gm)].map(([, fact]) => fact);
  return { say: `You asked me to keep: ${facts.join('; ')}` };
}

function call(input: Readonly<Record<string, unknown>>): { readonly name: string; readonly input: unknown } {
  return { name: 'memory', input };
}
