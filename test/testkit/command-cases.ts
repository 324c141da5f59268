import { readFile } from 'node:fs/promises';
import type { Case } from './case.ts';

/** What the six commands answer, as it was recorded of the suite in test/contracts; a test keeps it so. */
export const COMMANDS: URL = new URL('commands.jsonl', import.meta.url);

export async function commandCases(): Promise<readonly Case[]> {
  const lines = (await readFile(COMMANDS, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Case);
}
