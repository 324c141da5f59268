import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Comparison, type Row, rowsOf, type Verdict } from './report/row.ts';
import type { Absence, Fact, Growth } from './report/run.ts';
import { count, growthText, ratioText, verdictText } from './report/table.ts';

/** The tools of a group of benchmarks: it tells here what it found, and has ended here what it starts. */
export interface Lab {
  /** Fewer rounds and smaller trees. */
  readonly isQuick: boolean;
  /** Whatever is handed over is disposed of when the run ends, by Ctrl-C too. */
  readonly stack: AsyncDisposableStack;
  /** Shows a line of progress. */
  say(line: string): void;
  /** Works out the rows of a comparison, shows and keeps them. */
  compare(comparison: Omit<Comparison, 'group'>): void;
  grows(growth: Growth): void;
  /** Something that is no ratio. */
  fact(text: string, verdict?: Verdict): void;
  /** Names what cannot be measured here, with the reason. */
  lacks(what: string, reason: string): void;
}

/** The findings of one run so far. */
export interface Findings {
  readonly rows: Row[];
  readonly growths: Growth[];
  readonly facts: Fact[];
  readonly absences: Absence[];
}

export interface LabOptions {
  readonly isQuick: boolean;
  readonly stack: AsyncDisposableStack;
  readonly findings: Findings;
  readonly onRows: (rows: readonly Row[]) => void;
  readonly say: (line: string) => void;
}

export function openLab(group: string, { findings, onRows, say, ...options }: LabOptions): Lab {
  return {
    ...options,
    say,
    compare(comparison) {
      const rows = rowsOf({ ...comparison, group });
      findings.rows.push(...rows);
      onRows(rows);
    },
    grows(growth) {
      findings.growths.push(growth);
      const steps = growth.steps.map(({ size, ratio }) => `${count(size)}: ${ratioText(ratio)}`);
      say(`${growth.work}, by ${growth.of}: ${growthText(growth)}; ${steps.join(' · ')}`);
    },
    fact(text, verdict = 'no goal') {
      findings.facts.push({ group, text, verdict });
      say(`${text}${verdictText(verdict)}`);
    },
    lacks(what, reason) {
      findings.absences.push({ group, what, reason });
      say(`not measured: ${what} (${reason})`);
    },
  };
}

/** A folder that goes with the run. */
export async function temporaryFolder({ stack }: Pick<Lab, 'stack'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-bench-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
