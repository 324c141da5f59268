import { randomBytes } from 'node:crypto';
import type {
  ErrorDetails,
  KeyHolder,
  MemoryErrorCode,
  MemoryErrorOptions,
  RetryAdvice,
} from 'sealed-memory';
import { MemoryError, openMemory } from 'sealed-memory';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
try {
  await memory.files.rename('/memories/launch.md', '/memories/plan.md');
} catch (error) {
  if (!(error instanceof MemoryError)) throw error;
  const { code, retry, details }: { code: MemoryErrorCode; retry: RetryAdvice; details: ErrorDetails } =
    error;
  const holder: KeyHolder | undefined = details['keyHolder'] === 'tenant' ? 'tenant' : undefined;
  console.error(code, retry === 'later' ? 'once more in a minute' : error.message, holder);
}

// A store or a root key of your own fails with the same errors.
const options: MemoryErrorOptions = { retry: 'later', details: { status: 503 } };
console.error(new MemoryError('unavailable', 'The store does not answer.', options));
