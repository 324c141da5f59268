import { hasReason } from '../../errors.ts';
import type { Report } from './report.ts';
import { shownVersion } from './shown.ts';

/**
 * Runs what moves a text, or takes it out. Where that fails because files hold the text, or may, it names each and says
 * what is done next, before the failure.
 */
export async function tellingWhatHolds<T>(report: Report, work: Promise<T>): Promise<T> {
  return work.catch(async (error: unknown) => {
    const isWrittenBack = hasReason(error, 'redacted');
    if (!isWrittenBack && !hasReason(error, 'current')) throw error;
    const { paths = [], versions = [] } = error.details as Readonly<Record<string, readonly string[]>>;
    for (const [index, path] of paths.entries()) {
      const version = versions[index];
      const name = version === undefined ? 'VERSION, which "log" names' : shownVersion(version);
      // A version whose text is already out no longer tells which others had that text.
      const again = isWrittenBack ? '' : ' run this again,';
      const toDo = `edit or delete the file,${again} then "redact" ${path} ${name}`;
      const held = version === undefined ? '' : `  ${name}`;
      await report.entry({ what: 'holds', path, version, toDo }, `holds    ${path}${held}: ${toDo}`);
    }
    throw error;
  });
}
