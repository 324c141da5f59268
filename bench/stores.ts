import { randomBytes } from 'node:crypto';
import type { Memory } from '../src/index.ts';
import { openMemory } from '../src/open/open-memory.ts';
import type { MemoryOptions } from '../src/open/options/options.ts';
import { type BaseStore, openBaseStore } from '../src/store/open-store.ts';
import type { Lab } from './lab.ts';
import type { Site } from './sites.ts';

export const ROOT_KEY: string = randomBytes(32).toString('base64');

export interface Place {
  readonly site: Site;
  readonly bucket: string;
  /** Makes deletes conditional at the server, as on AWS; otherwise tombstones guard them. */
  readonly guarded?: boolean;
  readonly onRequest?: (request: { readonly operation: string }) => void;
}

/** How the library reaches a bucket. */
export function memoryOptions({ site, bucket, guarded = true, onRequest }: Place): MemoryOptions {
  const { endpoint, region, accessKeyId, secretAccessKey } = site.server;
  return {
    store: `s3://${bucket}`,
    tenant: 'bench',
    rootKey: ROOT_KEY,
    s3: { endpoint, region, guarded },
    credentials: { accessKeyId, secretAccessKey },
    onRequest,
  };
}

/** The bucket through the library's own client, and nothing before it. */
export async function plainStore(lab: Lab, place: Place): Promise<BaseStore['plain']> {
  const { s3 = {}, credentials, onRequest } = memoryOptions(place);
  const store = { kind: 's3', bucket: place.bucket, prefix: '' } as const;
  return lab.stack.use(await openBaseStore({ store, s3, credentials, onRequest })).plain;
}

export async function memoryAt(lab: Lab, place: Place): Promise<Memory> {
  return lab.stack.use(await openMemory(memoryOptions(place)));
}

/** Runs a command of the tool. @throws Error when it fails: a benchmark of failures is none. */
export async function command(memory: Memory, input: Readonly<Record<string, unknown>>): Promise<void> {
  const result = await memory.execute(input);
  if (result.isError)
    throw new Error(`${String(input['command'])} failed: ${result.content}`, { cause: result.error });
}
