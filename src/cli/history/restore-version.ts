import { type Command, Option } from 'commander';
import { hasCode, MemoryError } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { watchRedactions } from '../../tool/redactions.ts';
import { type Consent, requireYes } from '../run/consent.ts';
import { type ChosenVerb, type Invocation, ofOneChange } from '../run/invocation.ts';
import { type FileRun, ofFiles, runOnFiles } from '../run/memory.ts';
import { isMounted, tellHistoryOff } from '../run/tenant-state.ts';
import { pathArgument, versionArgument } from '../run/typed.ts';
import { tellingWhatHolds } from '../show/holding-lines.ts';
import { changeLines, changePatch, NOW } from '../show/patch.ts';
import { redactionLines } from '../show/redaction-lines.ts';
import { shownVersion } from '../show/shown.ts';

const BACKUP_GOES_OUT =
  'error: "restore" is of one version of a file; "export --from BACKUP FOLDER" writes the files of a backup into a new folder.';

/** Declares `restore`. Options by which it once took backups name the command for backups now. */
export function declareRestore(program: Command, run: ChosenVerb<typeof runRestoreVersion>): void {
  const restore = program
    .command('restore')
    .addArgument(pathArgument('<path>', 'the file to which the version is written'))
    .addArgument(versionArgument('<version>', 'the version, as "log" names it'))
    .description('write an earlier version of a file back')
    .option('--dry-run', 'show how the texts differ, and write nothing')
    .option('--yes', 'do not ask')
    .action((path: string, version: string, consent: Consent) => run({ path, version, ...consent }));
  for (const name of ['from', 'to']) {
    restore.addOption(new Option(`--${name} [value]`).hideHelp()).on(`option:${name}`, () => {
      restore.error(BACKUP_GOES_OUT, { code: 'commander.conflictingOption' });
    });
  }
}

interface RestoreVersionArguments extends Consent {
  readonly path: string;
  readonly version: string;
}

/**
 * Gives a file the text of one of its versions, as a new version; a file that is gone is created again. Shows how the
 * texts differ before, and replaces only the version that it compared; where the text is redacted meanwhile it is taken
 * back.
 */
export function runRestoreVersion(
  { path, version, dryRun = false, yes = false }: RestoreVersionArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, report, signal } = invocation;
  const restore = async (run: FileRun): Promise<number> => {
    const { files, history, options } = run;
    refuseMounted(path, options);
    const state = await tellHistoryOff(ofFiles(run));
    const then = await report.during('reading the history', () =>
      history.read({ path, version }, { signal }),
    );
    const now = await report.during(`reading ${path}`, () => files.read(path, { signal }));
    const named = { path, version: then.version };
    if (now !== undefined && sameBytes(now.bytes, then.bytes)) {
      await report.done({ ...state, outcome: 'nothing', ...named, changes: 0 }, [
        'ok    nothing to do: that is the text of the file already',
      ]);
      return 0;
    }
    const what = now === undefined ? 'create' : 'replace';
    if (!yes || dryRun) {
      const found = await changePatch(
        now && { path, bytes: now.bytes, version: NOW },
        { ...named, bytes: then.bytes },
        signal,
      );
      const line = `${terminal.style(now ? 'yellow' : 'green', what)}  ${path}  with the text of ${shownVersion(then.version)}`;
      const lines = [line, ...(await changeLines(found, terminal, signal))];
      await report.entry({ what, path, toVersion: then.version, patch: null, ...found }, lines.join('\n'));
    }
    if (dryRun) {
      await report.done({ ...state, outcome: 'planned', ...named, changes: 1 }, [
        'plan  1 change; nothing was written',
      ]);
      return 0;
    }
    if (!yes) await requireYes(invocation);
    const { options: call, redacted } = watchRedactions({ signal });
    const write = () => history.restore(named, { ...call, ifUnchanged: now?.version ?? null });
    const writing = report.during(`writing ${path}`, write).catch((error: unknown) => {
      if (!hasCode(error, 'version_conflict', 'already_exists')) throw error;
      const why = `${path} was changed meanwhile; nothing was written.`;
      throw new MemoryError(error.code, why, { retry: 'never', cause: error });
    });
    await tellingWhatHolds(report, writing);
    const rules = redacted()?.rules;
    const fields = { ...state, outcome: 'written', ...named, changes: 1, ...(rules && { redacted: rules }) };
    await report.done(fields, [
      `ok    ${path} has the text of version ${shownVersion(then.version)} again`,
      ...redactionLines(path, rules),
    ]);
    return 0;
  };
  return runOnFiles(restore, invocation, { interrupted: ofOneChange });
}

/**
 * Refuses a path below a mount: the version is of the memory's own file, but reads and writes there go to the mounted
 * one.
 */
function refuseMounted(path: string, options: MemoryOptions): void {
  if (!isMounted(path, options)) return;
  const why = `Another memory is mounted at ${path} or above it: run the command without that mount.`;
  throw new MemoryError('invalid_command', why, { details: { reason: 'hidden_by_mount' } });
}
