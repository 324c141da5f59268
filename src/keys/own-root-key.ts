import { MemoryError } from '../errors.ts';
import { KEY_BYTES, wipe } from '../format/sodium.ts';
import { inTime } from '../time.ts';
import { type RootKey, wrapRefused } from './root-key.ts';

/** The longest wrap that a keyring can store. */
const MAX_WRAPPED_BYTES = 8_192;

/**
 * Wraps a root key of the caller's, so that it fails as the port promises: every failure becomes a `MemoryError`,
 * `timeout` where it has not answered after 60 s, and `integrity` for an invalid answer. A key that comes too late is
 * overwritten.
 */
export function heldToPort(given: RootKey): RootKey {
  return {
    get id() {
      return given.id;
    },
    async generate(context, options = {}) {
      const keyIn = (answer: unknown): unknown => Object(answer).key;
      const { key, wrapped } = Object(await answered(() => given.generate(context, options), keyIn, options));
      const isWrapped =
        wrapped instanceof Uint8Array && wrapped.length >= 1 && wrapped.length <= MAX_WRAPPED_BYTES;
      if (isKey(key) && isWrapped) return { key, wrapped };
      overwrite(key);
      throw wrapRefused();
    },
    async unwrap(wrapped, context, options = {}) {
      const keyIn = (answer: unknown): unknown => answer;
      const key = await answered(() => given.unwrap(wrapped, context, options), keyIn, options);
      if (isKey(key)) return key;
      overwrite(key);
      throw wrapRefused();
    },
  };
}

/** Asks the root key. An error that it throws may quote a key, so only a `MemoryError` is passed on. */
async function answered(
  ask: () => Promise<unknown>,
  keyIn: (answer: unknown) => unknown,
  { signal }: { readonly signal?: AbortSignal | undefined },
): Promise<unknown> {
  let isAwaited = true;
  const asking = async (): Promise<unknown> => {
    const answer = await ask();
    if (!isAwaited) overwrite(keyIn(answer));
    return answer;
  };
  try {
    const late = (): MemoryError => new MemoryError('timeout', 'The root key did not answer: look at it.');
    return await inTime(asking, { late, signal });
  } catch (error) {
    throw error instanceof MemoryError
      ? error
      : new MemoryError('unavailable', 'The root key failed: look at it.');
  } finally {
    isAwaited = false;
  }
}

function isKey(given: unknown): given is Uint8Array {
  return given instanceof Uint8Array && given.length === KEY_BYTES;
}

function overwrite(given: unknown): void {
  if (given instanceof Uint8Array) wipe(given);
}
