import { readFile } from 'node:fs/promises';
import { checkProof } from '../../admin/proof.ts';
import { misconfigured } from '../../errors.ts';
import { loadSodium } from '../../format/sodium.ts';
import { EXIT_FAILED, type Invocation, wrongCall } from './invocation.ts';
import { timeOf } from './list.ts';
import { runOnAdmin } from './operate.ts';
import { counted } from './report.ts';
import { acceptedLine } from './since-lines.ts';

export interface CheckpointArguments {
  /** The line of an earlier checkpoint. */
  readonly accept?: string;
  /** A path. */
  readonly prove?: string;
}

/** Prints the line of a new checkpoint, and nothing else on standard output; or a proof from the last one. */
export function runCheckpoint(
  { accept, prove }: CheckpointArguments,
  invocation: Invocation,
): Promise<number> {
  if (accept !== undefined && prove !== undefined) {
    throw wrongCall('--prove writes no checkpoint: run "checkpoint --accept" first, and then "--prove".');
  }
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const { terminal } = invocation;
      if (prove !== undefined) {
        const proof = await report.during('reading the checkpoint', () => admin.proveFile(prove, { signal }));
        await report.done({ proof }, [JSON.stringify(proof)]);
        return 0;
      }
      const onProgress = ({ done }: { readonly done: number }): void =>
        report.progress({ done }, { line: counted(done, 'file') });
      const written = await report.during('reading the tenant', () =>
        admin.checkpoint({ accept, signal, onProgress }),
      );
      for (const finding of written.accepted ?? []) terminal.note(acceptedLine(finding));
      if (accept !== undefined && !written.accepted?.length)
        terminal.note('nothing to accept: nothing is found since that line; the new one holds as well');
      for (const path of written.unread)
        terminal.complain(`${path} cannot be opened and is not in it: run verify`);
      await report.done({ ...written }, [written.line]);
      return written.unread.length > 0 ? EXIT_FAILED : 0;
    },
    { invocation, interrupted: 'no checkpoint was written; run it again' },
  );
}

/** Checks a proof against a line, without store and key. */
export async function runCheckProof(
  { file, line }: { readonly file: string; readonly line: string | undefined },
  { report }: Invocation,
): Promise<number> {
  if (line === undefined) throw misconfigured('--proof wants --since with the line of the checkpoint.');
  const json = await readFile(file, 'utf8').catch(() => {
    throw misconfigured('The file of the proof cannot be read: give what "checkpoint --prove" has printed.');
  });
  await loadSodium();
  const { path, version, size, began, ended } = checkProof(json, line);
  await report.done({ path, version, size, began, ended }, [
    `ok    ${path} held version ${version}, ${counted(size, 'byte')}, at a moment between ${timeOf(began)} and ${timeOf(ended)}`,
  ]);
  return 0;
}
