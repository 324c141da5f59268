import type { Invocation } from './invocation.ts';

/** The most refusals of one run that a person reads; programs are told all. */
const MOST_TOLD = 10;

/** Tells what was left, one by one: people the first ten, and how many more there are. */
export function createRefusals({ report, flags }: Pick<Invocation, 'report' | 'flags'>): {
  tell(fields: Readonly<Record<string, unknown>>, line: string): Promise<void>;
  /** Ends the list. */
  end(): Promise<void>;
} {
  let count = 0;
  return {
    async tell(fields, line) {
      count += 1;
      if (count <= MOST_TOLD || flags.json === true) await report.entry(fields, line);
    },
    async end() {
      const more = count - MOST_TOLD;
      if (more > 0 && flags.json !== true) await report.entry({}, `      and ${more} more: --json names all`);
    },
  };
}
