import { MemoryError } from '../errors.ts';

/**
 * The three files of a project, in a form that Claude and code both read and write:
 *
 * - the progress log: a heading `## 2026-11-21 …` for each session, the newest last, with what was done and what is
 *   next;
 * - the checklist: a line `- [ ] title` for each feature in the order of work, `- [x] title` once it is complete, then
 *   with the evidence indented below it as `Checked: …` and `Result: …`;
 * - the reference to the script that starts the project.
 *
 * Any other line in them is a note and left alone.
 */
export interface Feature {
  readonly title: string;
  /** `unproven`: marked as complete, but without evidence, and therefore still to be done. */
  readonly state: 'open' | 'complete' | 'unproven';
}

/** The proof that a feature works from end to end: the check and its result. */
export interface Evidence {
  readonly check: string;
  readonly result: string;
}

export interface ProgressEntry {
  readonly done: readonly string[];
  readonly next: readonly string[];
}

const FEATURE = /^- \[([ xX])\] (.*\S)\s*$/;
const CHECKED = /^\s+Checked: \S/;
const RESULT = /^\s+Result: \S/;

export function progressText(summary: string): string {
  return `# Progress\n\nOne entry for each session, the newest last.\n\n${oneLine('summary', summary)}\n`;
}

/**
 * Writes the text of a checklist.
 *
 * @throws MemoryError `invalid_command` for a title that is empty or comes twice.
 */
export function checklistText(titles: readonly string[]): string {
  const lines = titles.map((title) => oneLine('feature', title));
  if (new Set(lines).size < lines.length) throw invalid('a feature of the project comes twice');
  const rule =
    'Work on the first feature that is not complete, and on no other. Mark it complete only after a check from end to end, and write that check and its result below it.';
  return `# Features\n\n${rule}\n\n${lines.map((line) => `- [ ] ${line}\n`).join('')}`;
}

export function startText(script: string): string {
  return `# Start\n\nRun this before any work:\n\n    ${oneLine('start script', script)}\n`;
}

export function entryText(entry: ProgressEntry, date: Date): string {
  const lines = [
    ...entry.done.map((item) => `- Done: ${oneLine('entry', item)}`),
    ...entry.next.map((item) => `- Next: ${oneLine('entry', item)}`),
  ];
  if (lines.length === 0)
    throw invalid('an entry of the progress log says neither what was done nor what is next');
  return `\n## ${date.toISOString().slice(0, 16).replace('T', ' ')}\n\n${lines.join('\n')}\n`;
}

export function parseChecklist(lines: readonly string[]): readonly Feature[] {
  return lines.flatMap((line, i): readonly Feature[] => {
    const [, mark, title] = FEATURE.exec(line) ?? [];
    if (mark === undefined || title === undefined) return [];
    const below = lines.slice(i + 1);
    const next = below.findIndex((other) => FEATURE.test(other));
    const own = next < 0 ? below : below.slice(0, next);
    const isProven = own.some((other) => CHECKED.test(other)) && own.some((other) => RESULT.test(other));
    return [{ title, state: mark === ' ' ? 'open' : isProven ? 'complete' : 'unproven' }];
  });
}

/** Finds the feature to work on: one at a time, in the order of the list. */
export function currentFeature(features: readonly Feature[]): Feature | undefined {
  return features.find(({ state }) => state !== 'complete');
}

/**
 * Writes the text of the checklist with the feature complete.
 *
 * @throws MemoryError `invalid_command` for evidence that is empty.
 */
export function completedText(lines: readonly string[], feature: Feature, evidence: Evidence): string {
  const at = lines.findIndex((line) => FEATURE.exec(line)?.[2] === feature.title);
  const proven = [
    `- [x] ${feature.title}`,
    `    Checked: ${oneLine('check', evidence.check)}`,
    `    Result: ${oneLine('result of the check', evidence.result)}`,
  ];
  return lines.toSpliced(at, 1, ...proven).join('\n');
}

/** Puts the text on one line, so that it cannot be taken for another line of the file. */
function oneLine(what: string, text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line === '') throw invalid(`the ${what} is empty`);
  return line;
}

function invalid(reason: string): MemoryError {
  return new MemoryError('invalid_command', reason);
}
