import { MemoryError } from '../../errors.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { Answerers } from './answer-questions.ts';

/** The most names that are known at once; the one that was given first makes room. */
const MOST_NAMES = 10_000;
/** The names that the page makes: those of `crypto.randomUUID`. */
const NAME = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Keeps, until the process ends, which paths the random names in the addresses of the page stand for: so that a browser
 * can lead back to a file, while what it keeps of the address tells nothing.
 */
export function answerPlaces(): Answerers {
  const paths = new Map<string, MemoryPath>();
  return {
    async keepPlace({ name, path }) {
      if (!NAME.test(name)) throw new MemoryError('invalid_command', 'name must be a random UUID.');
      const [first] = paths.keys();
      if (first !== undefined && paths.size >= MOST_NAMES) paths.delete(first);
      paths.set(name, path);
      return {};
    },
    async place({ name }) {
      const path = paths.get(name);
      return path === undefined ? {} : { path };
    },
  };
}
