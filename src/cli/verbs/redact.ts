import { MemoryError } from '../../errors.ts';
import type { Redaction } from '../../tree/history/entries.ts';
import type { Invocation } from './invocation.ts';
import { readLine, runOnAdmin } from './operate.ts';
import { counted } from './report.ts';

interface RedactArguments {
  readonly path: string;
  readonly version: string;
  readonly yes: boolean | undefined;
}

/** Takes the text of one version out of the history; asks before, unless `yes` is given. */
export function runRedact({ path, version, yes }: RedactArguments, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      if (yes !== true) await requireYes(invocation);
      const redaction = await report.during('redacting', () =>
        admin.history.redact({ path, version }, { signal }),
      );
      await report.done({ ...redaction }, redactionLines(redaction));
      return 0;
    },
    { invocation, interrupted: 'run it again, and it goes on' },
  );
}

async function requireYes({ terminal }: Invocation): Promise<void> {
  if (!terminal.isInteractive || !terminal.isForEyes) {
    throw new MemoryError('misconfigured', '"redact" needs --yes; nothing was changed');
  }
  await terminal.out('The text of that version is destroyed, and cannot be had again.\nType yes to go on: ');
  if ((await readLine(terminal.stdin)) !== 'yes') {
    throw new MemoryError('misconfigured', 'that is not yes; nothing was changed');
  }
}

function redactionLines({ records, versionsRemoved }: Redaction): readonly string[] {
  const text =
    records === 0 ? 'the text was out already' : `the text is out of ${counted(records, 'record')}`;
  const kept =
    versionsRemoved === undefined
      ? 'this store tells of no versions of its own'
      : `${counted(versionsRemoved, 'version')} of the bucket removed`;
  return [`ok    ${text}; ${kept}`, 'Backups, exports and what a model was shown are not reached.'];
}
