import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findCommand } from '../../infra/local/programs/find-program.ts';
import type { RecordedHistory } from './recording.ts';

/** Porcupine's verdict on a history. */
export interface Verdict {
  readonly name: string;
  readonly verdict: 'accepted' | 'rejected' | 'undecided';
  readonly reason?: string;
  /** An HTML page that shows the history, where it was rejected. */
  readonly picture?: string;
  readonly steps: number;
  readonly millis: number;
}

/** The evidence that is kept of a history that was not accepted. */
export interface Evidence extends Verdict {
  /** The history, to be judged again: `go run . FILE`. */
  readonly file: string;
}

const MODULE = fileURLToPath(new URL('.', import.meta.url));

/** The program that the judge is run with; undefined where there is none. */
export function findGo(): Promise<string | undefined> {
  return findCommand(process.env, 'go');
}

/**
 * Judges histories, each for so many seconds at most. With `keep` all that were not accepted are left in a folder for
 * temporary files, with pictures.
 *
 * @throws Error when the judge itself fails.
 */
export async function judgeHistories(
  histories: readonly RecordedHistory[],
  { keep, seconds = 60 }: { readonly keep: boolean; readonly seconds?: number },
): Promise<{ readonly verdicts: readonly Verdict[]; readonly failures: readonly Evidence[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'linearizability-'));
  const all = join(folder, 'all.jsonl');
  await writeFile(all, histories.map((history) => `${JSON.stringify(history)}\n`).join(''));
  const lines = await runGo([
    'run',
    '.',
    '-timeout',
    `${seconds}s`,
    ...(keep ? ['-pictures', folder] : []),
    all,
  ]);
  const verdicts = lines.map((line) => JSON.parse(line) as Verdict);
  if (verdicts.length !== histories.length) throw new Error('the judge left a history out');
  const failures: Evidence[] = [];
  for (const [at, verdict] of verdicts.entries()) {
    if (!keep || verdict.verdict === 'accepted') continue;
    const file = join(folder, `${verdict.name}.jsonl`);
    await writeFile(file, `${JSON.stringify(histories[at])}\n`);
    failures.push({ ...verdict, file });
  }
  await rm(failures.length === 0 ? folder : all, { recursive: true });
  return { verdicts, failures };
}

async function runGo(words: readonly string[]): Promise<readonly string[]> {
  const go = await findGo();
  if (go === undefined) throw new Error('there is no Go on PATH');
  const child = spawn(go, words, { cwd: MODULE, stdio: ['ignore', 'pipe', 'inherit'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`the judge ended with ${code}`);
  return Buffer.concat(chunks).toString('utf8').split('\n').filter(Boolean);
}
