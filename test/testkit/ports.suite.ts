import { pathToFileURL } from 'node:url';
import type { RootKey } from '../../src/keys/root-key.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import type { StoreConformance } from '../../src/testing/contracts/object-store.ts';
import { describeObjectStore } from '../contracts/object-store.ts';
import { describeRootKey } from '../contracts/root-key.ts';

/** The exports of a module that has its ports judged; it has one of the two at least. */
export interface PortsUnderTest {
  readonly openStore?: () => ObjectStore | Promise<ObjectStore>;
  readonly conformance?: StoreConformance;
  /** One root key, and another of the same kind. */
  readonly openRootKeys?: () => Promise<{ readonly root: RootKey; readonly another: RootKey }>;
}

const module = process.env['TESTKIT_MODULE'] ?? '';
const { openStore, conformance, openRootKeys }: PortsUnderTest = await import(pathToFileURL(module).href);
if (openStore !== undefined) describeObjectStore(module, openStore, conformance);
if (openRootKeys !== undefined) describeRootKey(module, openRootKeys);
