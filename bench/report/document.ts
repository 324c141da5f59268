import type { RunReport } from './run.ts';
import { markdownTables } from './table.ts';

const BEGIN = '<!-- figures: npm run bench -- --write-docs -->';
const END = '<!-- end of figures -->';

/**
 * The document with the figures of this run between its two marks; all else stays as it was.
 *
 * @throws Error where it has not exactly one pair of marks.
 */
export function withFigures(document: string, run: RunReport): string {
  const [before, marked, ...more] = document.split(BEGIN);
  const [, after, ...rest] = marked?.split(END) ?? [];
  if (before === undefined || after === undefined || more.length + rest.length > 0) {
    throw new Error(`the document needs one "${BEGIN}" and one "${END}" behind it`);
  }
  return `${before}${BEGIN}\n\n${figures(run)}\n\n${END}${after}`;
}

function figures(run: RunReport): string {
  const { node, architecture, cores } = run.machine;
  const minutes = Math.max(1, Math.round(run.seconds / 60));
  const effort = run.isQuick ? ' A quick run: few rounds.' : '';
  const how = `Run of ${run.day}: Node ${node}, ${architecture}, ${cores} cores, ${minutes} min.${effort}`;
  return `${how}\n\n${markdownTables(run)}`;
}
