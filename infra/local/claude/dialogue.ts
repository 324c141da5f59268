import type { BetaMemoryTool20250818Command } from '@anthropic-ai/sdk/resources/beta';
import type { RequestMessage } from '../../../src/testing/claude/message-blocks.ts';

export type MemoryCommand = BetaMemoryTool20250818Command;

/** One memory command and what came back for it. */
interface Exchange {
  readonly command: MemoryCommand;
  readonly result: string;
  readonly isError: boolean;
}

/** A request, as a player of Claude reads it. */
export interface Dialogue {
  /** The words that the user said last. */
  readonly user: string;
  /** The number of times that Claude has spoken since then. */
  readonly turn: number;
  /** Every memory command of the conversation, oldest first. */
  readonly exchanges: readonly Exchange[];
}

export function readDialogue(messages: readonly RequestMessage[]): Dialogue {
  const commands = new Map<string, MemoryCommand>();
  const exchanges: Exchange[] = [];
  let user = '';
  let turn = 0;
  for (const { role, content } of messages) {
    turn += role === 'assistant' ? 1 : 0;
    for (const block of content) {
      if (block.type === 'text' && role === 'user') {
        user = block.text;
        turn = 0;
      } else if (block.type === 'tool_use') {
        commands.set(block.id, block.input as unknown as MemoryCommand);
      } else if (block.type === 'tool_result') {
        const command = commands.get(block.toolUseId);
        if (command) exchanges.push({ command, result: block.text, isError: block.isError });
      }
    }
  }
  return { user, turn, exchanges };
}

/** The files of the last listing Claude received, from its rows `{size}\t{path}`. */
export function listedFiles({ exchanges }: Dialogue): readonly string[] {
  const listing = exchanges.findLast(({ result }) => /^[\d.]+[BKMG]\t\/memories$/m.test(result));
  return [...(listing?.result ?? '').matchAll(/^[\d.]+[BKMG]\t(\/memories\/.*[^/\n])$/gm)].map(
    ([, path = '']) => path,
  );
}

interface LabelledLine {
  readonly number: number;
  readonly text: string;
  /** The text behind the label. */
  readonly value: string;
}

/**
 * Finds the newest line `{label}: …` among the numbered lines Claude received.
 *
 * @throws Error where Claude has read none: it cannot know what it was not told.
 */
export function readLine({ exchanges }: Dialogue, label: string): LabelledLine {
  for (const { result } of exchanges.toReversed()) {
    for (const [, number, text = ''] of result.matchAll(/^ *(\d+)\t(.*)$/gm)) {
      if (text.startsWith(`${label}: `)) {
        return { number: Number(number), text, value: text.slice(label.length + 2) };
      }
    }
  }
  throw new Error(`I have read no line that says "${label}".`);
}

/** The path of the last file Claude was told it created, if it lies below the directory. */
export function createdFile({ exchanges }: Dialogue, directory: string): string {
  const reports = exchanges.map(({ result }) => result.match(/^File created successfully at: (.+)$/)?.[1]);
  return known(
    reports.findLast((path) => path?.startsWith(directory)),
    `a new file in ${directory}`,
  );
}

export function known<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new Error(`I know of no such thing: ${what}.`);
  return value;
}
