import type { Redaction } from '../../tree/history/entries.ts';
import { requireYes } from './consent.ts';
import type { Invocation } from './invocation.ts';
import { runOnAdmin } from './operate.ts';
import { counted } from './report.ts';

interface RedactArguments {
  readonly path: string;
  readonly version: string;
  readonly yes: boolean | undefined;
}

const QUESTION = {
  warning: 'The text of that version is destroyed, and cannot be had again.\n',
  refusal: '"redact" needs --yes',
};

/** Takes the text of one version out of the history; asks before, unless `yes` is given. */
export function runRedact({ path, version, yes }: RedactArguments, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      if (yes !== true) await requireYes(invocation.terminal, QUESTION);
      const redaction = await report.during('redacting', () =>
        admin.history.redact({ path, version }, { signal }),
      );
      await report.done({ ...redaction }, redactionLines(redaction));
      return 0;
    },
    { invocation, interrupted: 'run it again, and it goes on' },
  );
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
