import { readFile } from 'node:fs/promises';
import type { Case } from './case.ts';

/** The answers of the six commands, as they were recorded from the suite in test/contracts; a test keeps them so. */
export const COMMANDS: URL = new URL('commands.jsonl', import.meta.url);

export async function commandCases(): Promise<readonly Case[]> {
  const lines = (await readFile(COMMANDS, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Case);
}
