import { realpathSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import type { ExportReport } from '../../admin/export/export-tree.ts';
import { MemoryError } from '../../errors.ts';
import { openFolderObjectStore } from '../../store/folder.ts';
import { loadSqlite, parseStoreLocation } from '../../store/open-store.ts';
import type { ObjectStore } from '../../store/port.ts';
import type { Progress } from '../../tree/tenant.ts';
import { type AdminRun, runOnAdmin } from '../run/admin.ts';
import { EXIT_FAILED, type Invocation } from '../run/invocation.ts';
import { findingLine } from '../show/finding-lines.ts';
import { counted } from '../show/report.ts';

interface BackupExport {
  /** A folder of raw objects, `s3://bucket/prefix` or `sqlite:PATH`. */
  readonly from: string;
  /** The new folder. */
  readonly to: string;
}

/**
 * Writes the files of a backup as plaintext, those of the environment's tenant. Resolves to 0 when every file is in the
 * new folder.
 */
export async function runExportBackup(command: BackupExport, invocation: Invocation): Promise<number> {
  const { from, to } = command;
  const store = await openSource(from);
  const interrupted = 'nothing was left in the new folder; run it again';
  try {
    refuseWithin(from, to);
    return await runOnAdmin((run) => exportTo(to, run), { invocation, store, interrupted });
  } finally {
    if (typeof store === 'object') await store[Symbol.asyncDispose]();
  }
}

async function exportTo(to: string, { admin, report: told, signal }: AdminRun): Promise<number> {
  const onProgress = ({ done, total }: Progress): void =>
    told.progress({ done, total }, { what: 'files', done, total });
  const report = await told.during('listing the backup', () => admin.export({ to, signal, onProgress }));
  await told.done({ ...report }, linesOf(report, to));
  return report.findings.length > 0 ? EXIT_FAILED : 0;
}

/** Opens the backup; all but a bucket in a way that cannot change it. */
async function openSource(from: string): Promise<string | ObjectStore> {
  if (from === 'memory:') {
    throw new MemoryError('misconfigured', '--from must be a folder, s3://bucket/prefix or sqlite:PATH.');
  }
  if (!isUrl(from)) return openFolderObjectStore({ path: from });
  const location = parseStoreLocation(from, '--from');
  if (location.kind !== 'sqlite') return from;
  return (await loadSqlite()).openSqliteObjectStore({ path: location.path, readOnly: true });
}

function isUrl(from: string): boolean {
  return /^(s3:\/\/|sqlite:)/.test(from);
}

/** Refuses a target within the backup, which must stay as it is. */
function refuseWithin(from: string, to: string): void {
  if (isUrl(from)) return;
  const [source, target] = [realPathOf(resolve(from)), realPathOf(resolve(to))];
  if (target === source || target.startsWith(source.endsWith(sep) ? source : source + sep)) {
    throw new MemoryError(
      'misconfigured',
      'The new folder lies in the one that --from names: export to a place outside.',
    );
  }
}

/** Resolves the links on the way to a path, as far as the way exists. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = resolve(path, '..');
    return above === path ? path : resolve(realPathOf(above), path.slice(above.length).replace(/^[/\\]/, ''));
  }
}

/** Makes one line for each finding, then one that sums up. */
export function linesOf(report: ExportReport, to: string): readonly string[] {
  const { files, bytes, findings } = report;
  const verdict = findings.length === 0 ? 'all well' : `${counted(findings.length, 'finding')}`;
  const summary = `exported ${counted(files, 'file')}, ${counted(bytes, 'byte')}, to ${to}: ${verdict}`;
  return [
    ...findings.map((finding) => findingLine(finding, 'export')),
    `${findings.length === 0 ? 'ok    ' : 'FAIL  '}${summary}`,
  ];
}
