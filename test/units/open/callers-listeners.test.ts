import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasCode } from '../../../src/errors.ts';
import type { Logger } from '../../../src/logger.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import type { TenantAdmin } from '../../../src/open/tenant-admin.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import type { Policy } from '../../../src/tree/admission/policy.ts';
import type { CallOptions } from '../../../src/tree/tenant.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const AT = '/memories/d/a';

/** The listeners that do something wrong; those that fail late wait for `end`. */
const WRONG: Readonly<Record<string, (end: Promise<void>) => unknown>> = {
  throws: () => {
    throw new Error('text');
  },
  rejects: () => Promise.reject(new Error('text')),
  'never ends': () => new Promise(() => {}),
  'rejects late': async (end) => {
    await end;
    throw new Error('late');
  },
  'answers with what cannot be waited for': () => ({
    // biome-ignore lint/suspicious/noThenProperty: such an object is handed in on purpose
    get then() {
      throw new Error('text');
    },
  }),
};

type ListenerName = 'onTouch' | 'onRedacted' | 'onProgress' | 'onEvent' | 'logger';

/** The listeners under test, which are options of a call and of a memory. */
interface Listening {
  readonly call: CallOptions;
  readonly memory: Pick<MemoryOptions, 'onEvent' | 'logger'>;
}

const allLevels = (log: () => void): Logger => ({ debug: log, info: log, warn: log, error: log });

function listening(name: ListenerName, listener: () => unknown): Listening {
  const listen = listener as () => void;
  const call = name.startsWith('on') && name !== 'onEvent' ? { [name]: listen } : {};
  return {
    call,
    memory: {
      logger: name === 'logger' ? allLevels(listen) : silentLogger,
      ...(name === 'onEvent' && { onEvent: listener }),
    },
  };
}

type Opened = { readonly memory: Memory; readonly admin: TenantAdmin };

interface Asked {
  readonly ask: (opened: Opened, call: CallOptions) => Promise<unknown>;
  readonly hears: readonly ListenerName[];
}

const execute =
  (input: unknown): Asked['ask'] =>
  async ({ memory }, call) => {
    const { isError, content } = await memory.execute(input, call);
    return { isError, content };
  };

const ASKED: Readonly<Record<string, Asked>> = {
  create: {
    ask: execute({ command: 'create', path: '/memories/b', file_text: 'secret' }),
    hears: ['onTouch', 'onRedacted', 'onEvent'],
  },
  str_replace: {
    ask: execute({ command: 'str_replace', path: AT, old_str: 'one', new_str: 'secret' }),
    hears: ['onTouch', 'onRedacted'],
  },
  'a refused str_replace': {
    ask: execute({ command: 'str_replace', path: AT, old_str: 'none', new_str: 'two' }),
    hears: ['logger'],
  },
  'a command that is none': { ask: execute({ command: 'none' }), hears: ['logger'] },
  view: { ask: execute({ command: 'view', path: AT }), hears: ['onTouch'] },
  delete: {
    ask: execute({ command: 'delete', path: '/memories/d' }),
    hears: ['onTouch', 'onProgress'],
  },
  rename: {
    ask: execute({ command: 'rename', old_path: '/memories/d', new_path: '/memories/e' }),
    hears: ['onTouch', 'onProgress'],
  },
  'files.write': {
    ask: async ({ memory }, call) => (await memory.files.write('/memories/b', 'secret', call)).size,
    hears: ['onTouch', 'onRedacted', 'onEvent'],
  },
  'files.append': {
    ask: ({ memory }, call) => memory.files.append(AT, 'secret', call),
    hears: ['onTouch', 'onRedacted'],
  },
  'files.read': {
    ask: async ({ memory }, call) => (await memory.files.read(AT, call))?.text(),
    hears: ['onTouch'],
  },
  'files.list': {
    async ask({ memory }, call) {
      const paths: string[] = [];
      for await (const { path } of memory.files.list('/memories', call)) paths.push(path);
      return paths;
    },
    hears: ['onEvent'],
  },
  'history.list': {
    ask: async ({ memory }, call) => (await memory.history.list('/memories', call)).length,
    hears: ['onProgress'],
  },
  'admin.verify': {
    ask: async ({ admin }, call) => (await admin.verify(call)).findings,
    hears: ['onProgress'],
  },
  'admin.migrate': {
    ask: async ({ admin }, call) => (await admin.migrate({ ...call, reencrypt: true })).passes,
    hears: ['onProgress'],
  },
  'admin.checkpoint': {
    ask: async ({ admin }, call) => (await admin.checkpoint(call)).findings,
    hears: ['onProgress', 'onEvent'],
  },
};

const redactSecrets: Policy = ({ content }) =>
  Buffer.from(content ?? []).includes('secret')
    ? { redact: Buffer.from('***'), findings: [{ rule: 'secrets' }] }
    : 'allow';

const unhandled: unknown[] = [];
const note = (error: unknown): void => {
  unhandled.push(error);
};
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => {
  process.off('unhandledRejection', note);
});

/** Answers the outcome of a call, and what is stored after it. */
async function outcomeOf(
  { ask }: Asked,
  { call, memory: more }: Listening,
  end = () => {},
): Promise<unknown> {
  await using store: ObjectStore = openSqliteObjectStore({ path: ':memory:' });
  const options = { store, rootKey: Buffer.alloc(32, 7), tenant: 'acme', history: { days: 30 } };
  await using plain = await openMemory({ ...options, logger: silentLogger });
  await plain.files.write(AT, 'one');
  const listened = { ...options, ...more, policy: redactSecrets };
  const [memory, admin] = [await openMemory(listened), await openAdmin(listened)];
  let outcome: unknown;
  try {
    outcome = await ask({ memory, admin }, call);
  } catch (error) {
    outcome = hasCode(error, 'unavailable') ? error.code : String(error);
  }
  const stored: (readonly [string, string | undefined])[] = [];
  for await (const { path } of plain.files.list('/memories', { recursive: true })) {
    stored.push([path, (await plain.files.read(path))?.text()]);
  }
  end();
  await memory.close();
  await admin.close();
  return { outcome, stored: Object.fromEntries(stored) };
}

describe.each(Object.entries(ASKED))('"%s"', (_, asked) => {
  it.each(asked.hears.flatMap((name) => Object.keys(WRONG).map((wrong) => [name, wrong] as const)))(
    'ends as without it where %s %s',
    async (name, wrong) => {
      const late = Promise.withResolvers<void>();
      let heard = 0;
      const failing = listening(name, () => {
        heard += 1;
        return WRONG[wrong]?.(late.promise);
      });
      const outcome = await outcomeOf(asked, failing, late.resolve);
      await turn();
      expect(heard).toBeGreaterThan(0);
      expect(unhandled).toEqual([]);
      expect(outcome).toEqual(await outcomeOf(asked, { call: {}, memory: { logger: silentLogger } }));
    },
  );
});

describe('a request to an S3 store', () => {
  it.each(Object.keys(WRONG))('is sent and answered where onRequest %s', async (wrong) => {
    const server = createServer((request, response) => {
      request.resume();
      const isList = request.url?.includes('list-type=2') === true;
      response.writeHead(isList ? 200 : 404);
      response.end(
        isList
          ? '<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>'
          : '<Error><Code>NoSuchKey</Code><Message>no</Message></Error>',
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const warnings: unknown[] = [];
    const open = (onRequest?: () => void): Promise<Memory> =>
      openMemory({
        store: 's3://bucket',
        rootKey: Buffer.alloc(32, 7),
        tenant: 'acme',
        onRequest,
        credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
        s3: {
          endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          region: 'us-east-1',
        },
        logger: { ...silentLogger, warn: (...line) => warnings.push(line) },
      });
    const view = async (memory: Memory): Promise<unknown> => {
      await using opened = memory;
      const { isError, content } = await opened.execute({ command: 'view', path: '/memories' });
      return { isError, content };
    };
    const late = Promise.withResolvers<void>();
    let heard = 0;
    try {
      const outcome = await view(
        await open(() => {
          heard += 1;
          return WRONG[wrong]?.(late.promise) as undefined;
        }),
      );
      late.resolve();
      await turn();
      expect(outcome).toEqual(await view(await open()));
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    expect(heard).toBeGreaterThan(1);
    expect(unhandled).toEqual([]);
    const told = [['a listener failed, which changes nothing', { listener: 'onRequest' }]];
    expect(warnings).toEqual(wrong === 'never ends' ? [] : told);
  });
});

it('tells the log once of a listener that fails at every call', async () => {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (...line: unknown[]) => void warnings.push(line) };
  await using memory = await openMemory({ store, rootKey: Buffer.alloc(32, 7), tenant: 'acme', logger });
  const onTouch = (): never => {
    throw new Error('text');
  };
  for (const text of ['one', 'two']) await memory.files.write(AT, text, { onTouch });
  expect(warnings).toEqual([['a listener failed, which changes nothing', { listener: 'onTouch' }]]);
});
