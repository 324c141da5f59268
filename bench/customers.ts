import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { createMemoryPool, type Memory, type MemoryPool, type TenantSettings } from '../src/index.ts';
import { vaultRootKey } from '../src/keys/index.ts';
import { openSqliteObjectStore } from '../src/store/sqlite/sqlite-store.ts';
import type { Lab } from './lab.ts';
import { quantileOf } from './report/spread.ts';
import { inTurns } from './rounds.ts';
import { command, ROOT_KEY } from './stores.ts';

const ANSWERING = 'his key service answers';
const HANGING = 'his key service hangs';
const PATH = '/memories/notes.md';
/** Tenants with a key each: those that stay open, and those that are opened afresh each time. */
const WARM = Array.from({ length: 32 }, (_, n) => `warm-${n}`);
const COLD = Array.from({ length: 64 }, (_, n) => `cold-${n}`);
/** The tenants of two customers, each under one key: of one the key service answers, of the other it hangs. */
const ANSWERED = Array.from({ length: 40 }, (_, n) => `answered-${n}`);
const HUNG = Array.from({ length: 40 }, (_, n) => `hung-${n}`);
/** The callers of each of these tenants. */
const CALLERS = 5;
/** The time between a caller's answer, or refusal, and its next call, in milliseconds. */
const AGAIN_MS = 1_000;
/** The time for which each side is measured in a round, in milliseconds: short, as the machine has other work too. */
const PHASE_MS = 500;

/**
 * Warm edits and cold opens of many tenants in one pool, while 200 callers of one more customer call once a second: of one
 * whose key service answers, or of one whose key service hangs.
 */
export async function customers(lab: Lab): Promise<void> {
  const answering = lab.stack.use(await startTransit());
  const hanging = lab.stack.use(await startTransit());
  const settings = new Map<string, TenantSettings>();
  for (const tenant of [...WARM, ...COLD]) settings.set(tenant, { rootKey: answering.keyOf(tenant) });
  const [one, other] = [answering.keyOf('one'), hanging.keyOf('other')];
  for (const tenant of ANSWERED) settings.set(tenant, { rootKey: one });
  for (const tenant of HUNG) settings.set(tenant, { rootKey: other });
  const store = lab.stack.use(openSqliteObjectStore({ path: ':memory:' }));
  const poolOf = (maxTenants: number): MemoryPool =>
    createMemoryPool({
      store,
      rootKey: ROOT_KEY,
      lazy: true,
      maxTenants,
      tenants: (tenant) => settings.get(tenant),
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
  {
    await using writer = poolOf(settings.size);
    for (const tenant of settings.keys()) {
      const memory = await writer.open(tenant);
      await command(memory, { command: 'create', path: PATH, file_text: 'edits: 0;\n' });
    }
  }
  const pool = lab.stack.use(poolOf(WARM.length + ANSWERED.length + HUNG.length));
  const opened = (tenants: readonly string[]): Promise<readonly Memory[]> =>
    Promise.all(tenants.map((tenant) => pool.open(tenant)));
  const [warm, answered, hung] = [await opened(WARM), await opened(ANSWERED), await opened(HUNG)];
  const edits = new Map(WARM.map((tenant) => [tenant, 0]));
  hanging.hang();

  let turn = 0;
  const works: Readonly<Record<string, () => Promise<void>>> = {
    'an edit of a warm tenant': async () => {
      const at = turn++ % WARM.length;
      const [memory, tenant = ''] = [warm[at], WARM[at]];
      const count = edits.get(tenant) ?? 0;
      edits.set(tenant, count + 1);
      const words = { old_str: `edits: ${count};`, new_str: `edits: ${count + 1};` };
      if (memory !== undefined) await command(memory, { command: 'str_replace', path: PATH, ...words });
    },
    'opening a tenant, and its first view': async () => {
      await using memory = await pool.open(COLD[turn++ % COLD.length] ?? '');
      await command(memory, { command: 'view', path: PATH });
    },
  };
  const rounds = lab.isQuick ? 5 : 60;
  for (const [work, call] of Object.entries(works)) {
    const all = new Map<string, number[]>();
    const measured = await inTurns([ANSWERING, HANGING], rounds + 1, async (name, round) => {
      const leaving = new AbortController();
      const asked = name === HANGING ? hung : answered;
      const callers = asked.flatMap((memory) => Array.from({ length: CALLERS }, () => memory));
      const rest = (ms: number): Promise<void> =>
        pause(ms, undefined, { signal: leaving.signal }).catch(() => {});
      const stuck = callers.map(async ({ files }, index) => {
        // Callers come one after the other, as they do in the midst of an outage.
        await rest((AGAIN_MS * index) / callers.length);
        while (!leaving.signal.aborted) {
          await files.read(PATH, { signal: leaving.signal }).catch(() => {});
          await rest(AGAIN_MS);
        }
      });
      const latencies: number[] = [];
      const until = performance.now() + PHASE_MS;
      while (performance.now() < until) {
        const began = performance.now();
        await call();
        latencies.push(performance.now() - began);
      }
      leaving.abort();
      await Promise.all(stuck);
      // The first round warms up.
      if (round > 0) all.set(name, [...(all.get(name) ?? []), ...latencies]);
      return { wall: quantileOf(latencies, 0.5) };
    });
    const notes = Object.fromEntries(
      [...all].map(([name, latencies]) => [
        name,
        `p99 ${quantileOf(latencies, 0.99).toFixed(2)} ms of ${latencies.length.toLocaleString('en-US')} calls`,
      ]),
    );
    lab.compare({
      work,
      reference: ANSWERING,
      time: 'wall',
      rounds: measured.slice(1),
      goals: { [HANGING]: 1.05 },
      notes,
    });
  }
  lab.fact(
    `of ${HUNG.length * CALLERS} callers of ${HUNG.length} tenants under the key that hangs, ${hanging.most} requests for it were on their way at once, at most 16`,
    hanging.most <= 16 ? 'met' : 'missed',
  );
}

interface Transit extends AsyncDisposable {
  /** Makes a root key by the name of its Transit key. */
  keyOf(name: string): ReturnType<typeof vaultRootKey>;
  /** Has every request from now on wait for as long as its sender does. */
  hang(): void;
  /** The most requests that were left without an answer at once. */
  readonly most: number;
}

/** Starts what of Vault's Transit engine a root key asks for, on loopback: one AES-256-GCM key for each name. */
async function startTransit(): Promise<Transit> {
  const keys = new Map<string, Uint8Array>();
  let [hangs, open, most] = [false, 0, 0];
  const server = createServer(async (request, response) => {
    if (hangs) {
      most = Math.max(most, ++open);
      response.once('close', () => open--);
      return;
    }
    const [verb = '', name = ''] = (request.url ?? '').split('/').slice(-2);
    const key = keys.get(name) ?? randomBytes(32);
    keys.set(name, key);
    const answer = JSON.stringify({ data: await answerOf(verb, { key, request }) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    keyOf: (name) =>
      vaultRootKey({ keyUrl: `http://127.0.0.1:${port}/transit/keys/${name}`, token: 'bench' }),
    hang() {
      hangs = true;
    },
    get most() {
      return most;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answerOf(
  verb: string,
  { key, request }: { readonly key: Uint8Array; readonly request: IncomingMessage },
): Promise<Readonly<Record<string, string>>> {
  const given = (await json(request)) as Readonly<Record<string, string>>;
  const bytesOf = (field: string): Buffer => Buffer.from(given[field] ?? '', 'base64');
  if (verb === 'encrypt') {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bytesOf('associated_data'));
    const sealed = Buffer.concat([
      nonce,
      cipher.update(bytesOf('plaintext')),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return { ciphertext: `vault:v1:${sealed.toString('base64')}` };
  }
  const sealed = Buffer.from((given['ciphertext'] ?? '').replace('vault:v1:', ''), 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
    .setAAD(bytesOf('associated_data'))
    .setAuthTag(sealed.subarray(-16));
  const plaintext = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
  return { plaintext: plaintext.toString('base64') };
}
