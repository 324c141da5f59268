import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundlePage } from '../../infra/bundle-page.ts';
import { findingLine } from '../../src/cli/show/finding-lines.ts';
import { fileKey } from '../../src/format/object-keys.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { openMemory, openTenant } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { Questions } from '../../src/page/server/answer-questions.ts';
import type { ServerBounds } from '../../src/page/server/bounded-server.ts';
import { type Asset, readAssets, servePage } from '../../src/page/server/serve-page.ts';
import { openTenantView } from '../../src/page/server/tenant-view.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { openWork } from '../../src/tree/tenant.ts';

let built: Promise<ReadonlyMap<string, Asset>> | undefined;

/** The files of the page, as they are packed: built once for all files of tests that share a process. */
export function builtPage(): Promise<ReadonlyMap<string, Asset>> {
  built ??= buildPage();
  return built;
}

async function buildPage(): Promise<ReadonlyMap<string, Asset>> {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-page-'));
  try {
    await bundlePage(folder);
    return readAssets(pathToFileURL(`${folder}/`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A memory that an agent writes to. */
export interface AgentSite extends AsyncDisposable {
  readonly store: ObjectStore;
  readonly options: MemoryOptions;
  readonly memory: Memory;
}

export async function openAgent(more: Partial<MemoryOptions> = {}): Promise<AgentSite> {
  const store = openSqliteObjectStore({ path: ':memory:' });
  const options = { store, tenant: 'acme', rootKey: randomBytes(32).toString('base64'), ...more };
  const memory = await openMemory(options);
  return {
    store,
    options,
    memory,
    async [Symbol.asyncDispose]() {
      await memory.close();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Puts one file, and a number of objects that a listing takes for files, into 50 directories; no one opens them. */
export async function listedOnly({ options, store, memory }: AgentSite, count: number): Promise<void> {
  await memory.files.write('/memories/first.md', 'x');
  const { parts, close } = await openTenant(options);
  const work = await openWork(parts.context, {});
  if (work === undefined) throw new Error('there is no keyring');
  for (let index = 0; index < count; index += 1) {
    const path = parseMemoryPath(`/memories/d${index % 50}/f${index}.md`);
    const key = fileKey(parts.context.layout, work.keyring.names, path);
    await store.put(key, new Uint8Array(300), { mode: 'create' });
  }
  await close();
}

export interface ServedPage extends AsyncDisposable {
  /** With the token. */
  readonly address: string;
  readonly origin: string;
}

/** A page over a memory of its own process. */
export async function servePageOf(
  options: MemoryOptions,
  assets: ReadonlyMap<string, Asset>,
  { canWrite = false }: { readonly canWrite?: boolean } = {},
): Promise<ServedPage> {
  const view = await openTenantView(options, { lineOf: findingLine, canWrite });
  const served = await serveQuestions(view.questions, assets, view);
  return {
    ...served,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await view[Symbol.asyncDispose]();
    },
  };
}

export async function serveQuestions(
  questions: Questions,
  assets: ReadonlyMap<string, Asset>,
  {
    maxQuestionBytes = 65_536,
    bounds,
  }: { readonly maxQuestionBytes?: number; readonly bounds?: Partial<ServerBounds> } = {},
): Promise<ServedPage> {
  const ending = new AbortController();
  const listening = Promise.withResolvers<string>();
  const serving = servePage({
    port: 0,
    assets,
    questions,
    maxQuestionBytes,
    bounds,
    signal: ending.signal,
    onListening: async (address) => listening.resolve(address),
  });
  const address = await Promise.race([listening.promise, serving.then(() => '')]);
  return {
    address,
    origin: new URL(address).origin,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await serving;
    },
  };
}

export interface Answered {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Asks as a program that sends any headers it likes. */
export async function askRaw(
  url: string,
  { body, ...options }: RequestOptions & { readonly body?: string } = {},
): Promise<Answered> {
  const asking = request(url, { agent: false, ...options });
  asking.on('error', () => {});
  asking.end(body);
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const text = (await response.setEncoding('utf8').toArray()).join('');
  return { status: response.statusCode, headers: response.headers, text };
}

/** Exchanges the token of an address, and answers the cookie. */
export async function signIn({ address, origin }: Pick<ServedPage, 'address' | 'origin'>): Promise<string> {
  const answered = await askRaw(`${origin}/session`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token: new URL(address).hash.slice(1) }),
  });
  return answered.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

/** Parses the lines of an answer. */
export function linesIn({ text }: Answered): readonly unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}
