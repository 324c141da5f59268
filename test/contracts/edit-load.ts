import { setTimeout as sleep } from 'node:timers/promises';
import type { Memory } from '../../src/tool/memory-tool.ts';

/** The outcomes of edits, each of which inserts a line of its own. */
export interface EditLoad {
  readonly acknowledged: readonly string[];
  /** Answered by `outcome_unknown`. */
  readonly unknown: readonly string[];
  /** Answered by any other error, with its code. */
  readonly refused: ReadonlyMap<string, string>;
}

export interface EditLoadOptions {
  /** Each edits one file after the other, with its next edit once the last one was answered. */
  readonly memories: readonly Memory[];
  readonly paths: readonly string[];
  /** How many edits each memory makes, those that fail not counted. */
  readonly edits: number;
  /** Hears how many edits were acknowledged so far. */
  readonly onAcknowledged?: (edits: number) => void;
}

const PAUSE_AFTER_ERROR_MS = 100;

/** Makes edits until each memory has had its share acknowledged. No edit is made twice, no memory is opened again. */
export async function runEdits(options: EditLoadOptions): Promise<EditLoad> {
  const { memories, paths, edits, onAcknowledged } = options;
  const acknowledged: string[] = [];
  const unknown: string[] = [];
  const refused = new Map<string, string>();
  await Promise.all(
    memories.map(async (memory, writer) => {
      for (let edit = 0, done = 0; done < edits; edit++) {
        const line = `writer ${writer}, edit ${edit}`;
        const path = paths[(writer + edit) % paths.length] ?? '';
        const result = await memory.execute({ command: 'insert', path, insert_line: 0, insert_text: line });
        if (!result.isError) {
          done++;
          acknowledged.push(line);
          onAcknowledged?.(acknowledged.length);
          continue;
        }
        if (result.error.code === 'outcome_unknown') unknown.push(line);
        else refused.set(line, result.error.code);
        await sleep(PAUSE_AFTER_ERROR_MS);
      }
    }),
  );
  return { acknowledged, unknown, refused };
}

/** The differences between the files and the answers: every list is empty when nothing is lost, doubled or made up. */
export interface Discrepancies {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** Lines of edits that were refused, and lines of no writer. */
  readonly unexplained: readonly string[];
}

export const NO_DISCREPANCY: Discrepancies = { lost: [], doubled: [], unexplained: [] };

export function compareWithFiles(load: EditLoad, lines: readonly string[]): Discrepancies {
  const found = new Set(lines);
  const possible = new Set([...load.acknowledged, ...load.unknown]);
  return {
    lost: load.acknowledged.filter((line) => !found.has(line)),
    doubled: lines.filter((line, i) => lines.indexOf(line) !== i),
    unexplained: [...found].filter((line) => !possible.has(line)),
  };
}
