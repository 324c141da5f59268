import type { Command } from 'commander';
import { type ErrorDetails, hasReason, MemoryError } from '../../errors.ts';
import type { Redaction, WrittenEntry } from '../../history/past/entries.ts';
import { visibleName } from '../../language/invisible.ts';
import { decodeText } from '../../language/text.ts';
import { type AdminRun, runOnAdmin } from '../run/admin.ts';
import { type Consent, requireYes } from '../run/consent.ts';
import { type ChosenVerb, type Invocation, NOTHING_CHANGED } from '../run/invocation.ts';
import { ofAdmin, tellHistoryOff } from '../run/tenant-state.ts';
import { pathArgument, versionArgument } from '../run/typed.ts';
import { tellingWhatHolds } from '../show/holding-lines.ts';
import { NOT_TEXT } from '../show/patch.ts';
import { counted, type Report } from '../show/report.ts';
import { shownVersion, timeOf } from '../show/shown.ts';
import type { Terminal } from '../show/terminal.ts';

/** Declares `redact`. */
export function declareRedact(program: Command, run: ChosenVerb<typeof runRedact>): void {
  program
    .command('redact')
    .addArgument(pathArgument('<path>'))
    .addArgument(versionArgument('<version>'))
    .description('destroy the text of one version, in the history and in the versions that a bucket keeps')
    .option('--dry-run', 'show which version it is, and change nothing')
    .option('--yes', 'do not ask')
    .action((path: string, version: string, consent: Consent) => run({ path, version, ...consent }));
}

interface RedactArguments extends Consent {
  readonly path: string;
  readonly version: string;
}

const QUESTION = {
  warning: 'The text of that version is destroyed, and cannot be had again.\n',
  refusal: '"redact" needs --yes',
};

/**
 * Takes the text of one version out of the history. Unless `yes` is given, shows which one and asks; with `dryRun` it
 * only shows it.
 */
export function runRedact(
  { path, version, dryRun = false, yes = false }: RedactArguments,
  invocation: Invocation,
): Promise<number> {
  let isAgreed = false;
  return runOnAdmin(
    async (run) => {
      const { admin, report, signal } = run;
      const state = await tellHistoryOff(ofAdmin(run, invocation));
      const previewed = () => tellingWhatHolds(report, preview(run, { path, version }, invocation));
      const shown = !yes || dryRun ? await previewed() : version;
      if (dryRun) {
        await report.done({ outcome: 'planned', ...state }, [
          'plan  the text would be destroyed; nothing was changed',
        ]);
        return 0;
      }
      if (!yes) await requireYes(invocation, QUESTION);
      isAgreed = true;
      const redacting = report.during('redacting', () =>
        admin.history.redact({ path, version: shown }, { signal }),
      );
      const redaction = await tellingWhatHolds(report, redacting).catch(async (error: unknown) => {
        if (hasReason(error, 'versions_left')) await tellLeft(report, error.details);
        throw error;
      });
      await report.done({ ...redaction, ...state }, redactionLines(redaction));
      return 0;
    },
    { invocation, interrupted: () => (isAgreed ? 'run it again, and it goes on' : NOTHING_CHANGED) },
  );
}

/** Names the paths of which a bucket still keeps versions. */
async function tellLeft(report: Report, { paths, counts }: ErrorDetails): Promise<void> {
  for (const [index, path] of (paths as readonly string[]).entries()) {
    const versions = (counts as readonly number[])[index] ?? 0;
    await report.entry({ what: 'left', path, versions }, `left  ${counted(versions, 'version')} of ${path}`);
  }
}

type Name = Pick<RedactArguments, 'path' | 'version'>;

/**
 * Shows which version is meant, and the beginning of its text where only a person's screen shows that. Resolves to its
 * whole name: once this version has expired, another one may begin with the characters that were given.
 */
async function preview(run: AdminRun, name: Name, { terminal, flags }: Invocation): Promise<string> {
  const { entry, bytes } = await run.report.during('reading the history', () => find(run, name));
  const { path, version, time, writer, size } = entry;
  const by = writer === undefined ? '' : `  by ${visibleName(writer)}`;
  const what = terminal.style('red', 'redact');
  const line = `${what}  ${path}  ${shownVersion(version)}  ${timeOf(time)}  ${counted(size, 'byte')}${by}`;
  const isForEyes = terminal.isForEyes && flags.json !== true;
  await run.report.entry(
    { what: 'redact', path, version, time, writer, size, text: entry.text },
    [line, ...(isForEyes ? beginningOf(bytes, terminal) : [])].join('\n'),
  );
  return version;
}

/** @throws MemoryError as `redact`. */
async function find(
  { admin, signal }: AdminRun,
  { path, version }: Name,
): Promise<{ readonly entry: WrittenEntry; readonly bytes: Uint8Array | 'redacted' }> {
  const found = await admin.history.read({ path, version }, { signal }).catch((error: unknown) => {
    // It may be taken out of what a bucket keeps all the same.
    if (!hasReason(error, 'redacted')) throw error;
    return undefined;
  });
  const named = found?.version ?? version;
  const entries = await admin.history.list(path, { signal });
  const entry = entries.find((each) => each.kind === 'written' && each.version.startsWith(named));
  if (entry?.kind !== 'written') throw new MemoryError('not_found', 'The version has expired meanwhile.');
  if (entry.end !== 'current') return { entry, bytes: found?.bytes ?? 'redacted' };
  throw new MemoryError('invalid_command', 'A file holds that text now: edit or delete the file first.', {
    details: { reason: 'current', paths: [entry.path], versions: [entry.version] },
  });
}

const SHOWN_LINES = 3;

function beginningOf(
  bytes: Uint8Array | 'redacted',
  { style, columns }: Pick<Terminal, 'style' | 'columns'>,
): readonly string[] {
  if (bytes === 'redacted') return ['the text is out already; what a bucket keeps of it goes'];
  const text = decodeText(bytes);
  if (text === undefined) return [NOT_TEXT];
  const lines = text.trimEnd().split('\n');
  const room = columns - 2;
  const first = lines.slice(0, SHOWN_LINES).map((line) => {
    const characters = [...line];
    return characters.length > room ? `${characters.slice(0, room - 1).join('')}…` : line;
  });
  return [...first, ...(lines.length > SHOWN_LINES ? ['…'] : [])].map((line) => style('dim', `  ${line}`));
}

function redactionLines({ records, versionsRemoved }: Redaction): readonly string[] {
  const text =
    records === 0 ? 'the text was out already' : `the text is out of ${counted(records, 'record')}`;
  const kept =
    versionsRemoved === undefined
      ? 'this store keeps no older versions of its objects'
      : `${counted(versionsRemoved, 'version')} of the bucket removed`;
  return [`ok    ${text}; ${kept}`, 'Backups, exports and what a model was shown are not reached.'];
}
