import { MemoryError } from '../../errors.ts';

const CREDENTIALS_TIMEOUT_MS = 5000;

/** The default chain ends in a lookup on the network; away from AWS nothing answers there. */
export function credentialsInTime<A extends readonly unknown[], R>(
  provider: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  return async (...args) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(noCredentials()), CREDENTIALS_TIMEOUT_MS);
    });
    try {
      return await Promise.race([provider(...args), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}

function noCredentials(): MemoryError {
  return new MemoryError(
    'access_denied',
    'No credentials for the object store were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
  );
}
