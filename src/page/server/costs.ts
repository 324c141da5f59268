import { countFor, createCounts } from '../../tool/call-counts.ts';
import type { Costed } from '../protocol.ts';
import type { Asking, Questions } from './questions.ts';

/** Puts beside the result of a question how many requests it took. */
export function costed<T extends Costed>(
  question: (input: Readonly<Record<string, unknown>>, asking: Asking) => Promise<Omit<T, 'requests'>>,
): Questions[string] {
  return async (input, asking) => {
    const counts = createCounts();
    const result = await countFor(counts, () => question(input, asking));
    return { ...result, requests: counts.requests };
  };
}
