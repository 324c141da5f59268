import type { RootKey } from '../../../src/keys/root-key.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openRootKeys as openOwn, openStore as openOwnStore } from './own.ts';

// Ports that the suites have to reject: see what each leaves out.

/** Reads whatever the size, and whatever version the caller has. */
export async function openStore(): Promise<ObjectStore> {
  const store = await openOwnStore();
  const get: ObjectStore['get'] = (key) => store.get(key);
  return new Proxy(store, {
    get: (target, name) => (name === 'get' ? get : bound(target, Reflect.get(target, name))),
  });
}

/** Wraps for one tenant, and unwraps for all. */
export async function openRootKeys(): Promise<{ readonly root: RootKey; readonly another: RootKey }> {
  const { root, another } = await openOwn();
  const one = { app: 'sealed-memory', keyring: 'A', kind: 'keyring', tenant: 'acme', version: '1' } as const;
  const careless = new Proxy(root, {
    get(target, name) {
      if (name === 'generate') return () => target.generate(one);
      if (name === 'unwrap') return (wrapped: Uint8Array) => target.unwrap(wrapped, one);
      return bound(target, Reflect.get(target, name));
    },
  });
  return { root: careless, another };
}

function bound(target: object, value: unknown): unknown {
  return typeof value === 'function' ? value.bind(target) : value;
}
