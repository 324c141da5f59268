import { hasCode, type KeyHolder, MemoryError } from '../errors.ts';
import { BY_ASKER, type RootKey } from './root-key.ts';
import type { RootKeys } from './root-keys.ts';

const HOLDER: KeyHolder = 'tenant';

/**
 * Marks the failures of root keys that the settings of a tenant name: `details.keyHolder` says that such a key refused
 * or was away, which is its holder's business and no fault of the deployment. Faults of the settings, faults of the
 * asker's credentials and refused wraps stay the operator's; so do the failures of keys that he himself has configured,
 * which their ids tell.
 *
 * @param operators the root keys of tenants without settings of their own.
 */
export function heldByTenant(own: RootKeys, operators: RootKeys): RootKeys {
  const mark = (rootKey: RootKey): RootKey => {
    const marked = async <T>(answer: Promise<T>): Promise<T> => {
      try {
        return await answer;
      } catch (error) {
        if (!hasCode(error, 'access_denied', 'key_unavailable', 'unavailable', 'timeout')) throw error;
        if (error.details['reason'] === BY_ASKER) throw error;
        if (operators.keys.some(({ id }) => id === rootKey.id)) throw error;
        const { code, message, retry, cause, details } = error;
        throw new MemoryError(code, `${message} The settings of this tenant name that root key.`, {
          retry,
          cause,
          details: { ...details, keyHolder: HOLDER },
        });
      }
    };
    return {
      get id() {
        return rootKey.id;
      },
      generate: (...asked) => marked(rootKey.generate(...asked)),
      unwrap: (...asked) => marked(rootKey.unwrap(...asked)),
    };
  };
  return {
    keys: own.keys.map(mark),
    withCredentials: (credentials) => own.withCredentials(credentials).map(mark),
  };
}
