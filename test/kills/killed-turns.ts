import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'vitest';
import { open } from '../../src/format/object.ts';
import { fileKey, logicalName } from '../../src/format/object-keys.ts';
import { NO_ID } from '../../src/format/wrap.ts';
import type { MemoryPath } from '../../src/language/path.ts';
import { createScriptedClaude } from '../../src/testing/claude/scripted-claude.ts';
import { createJsonLogger } from '../../src/worker/json-log.ts';
import { createConversations } from '../../src/worker/leases/conversations.ts';
import { createReceipts } from '../../src/worker/leases/receipts.ts';
import { deliverTurn } from '../../src/worker/turn/deliver-turn.ts';
import type { Delivery } from '../../src/worker/turn/delivery.ts';
import { parseTurnMessage } from '../../src/worker/turn/turn-message.ts';
import { memoryOf } from '../stage/client-memory.ts';
import type { Around, StoreCall } from '../stage/store-wrappers.ts';
import { at, createSite, type StoreKind, type TestClient, type TestSite } from '../stage/test-tree.ts';

/** One command of Claude's; an edit brings a word of its own, a delete or a rename takes a file that no other takes. */
type Input = Readonly<Record<string, string | number>>;
/** The replies of a turn before its last one, each with the commands that it calls at once. */
export type Script = readonly (readonly Input[])[];

const SENTENCE = 'The edit may have been applied. View ';

const LIST = '/memories/list.md';
const PLAN = '/memories/plan.md';
const VIEWS: readonly Input[] = [LIST, PLAN].map((path) => ({ command: 'view', path }));

const insert = (word: string, path = LIST): Input => ({
  command: 'insert',
  path,
  insert_line: 0,
  insert_text: word,
});
const replace = (word: string): Input => ({
  command: 'str_replace',
  path: PLAN,
  old_str: 'end',
  new_str: `${word} end`,
});
const create = (word: string, path: string): Input => ({ command: 'create', path, file_text: `${word}\n` });
const remove = (path: string): Input => ({ command: 'delete', path });
const rename = (from: string, to: string): Input => ({ command: 'rename', old_path: from, new_path: to });

/** Turns of all commands: after a look and blindly, one after the other and at once, of one file and of several. */
export const SCRIPTS: readonly Script[] = [
  [VIEWS, [insert('w1')], [replace('w2')], [insert('w3'), replace('w4')]],
  [[insert('w1')], [create('w2', '/memories/new.md')], [insert('w3', '/memories/new.md'), replace('w4')]],
  [VIEWS, [insert('w1'), insert('w2'), insert('w3')], [replace('w4'), replace('w5')]],
  [[remove('/memories/old.md')], [rename('/memories/from.md', '/memories/to.md')], [insert('w1')]],
  [
    [
      create('w1', '/memories/new.md'),
      insert('w2', '/memories/new.md'),
      remove('/memories/old.md'),
      rename('/memories/from.md', '/memories/to.md'),
    ],
    [insert('w3', '/memories/to.md'), replace('w4')],
  ],
  [
    [rename('/memories/room', '/memories/hall'), insert('w1')],
    [remove('/memories/heap'), replace('w2')],
  ],
];

const BEFORE: Readonly<Record<string, string>> = {
  [LIST]: 'one\ntwo\n',
  [PLAN]: 'the end\n',
  '/memories/old.md': 'old\n',
  '/memories/from.md': 'from\n',
  '/memories/room/a.md': 'a\n',
  '/memories/room/b.md': 'b\n',
  '/memories/heap/a.md': 'a\n',
  '/memories/heap/b.md': 'b\n',
};
const PATHS: readonly string[] = [
  ...Object.keys(BEFORE),
  ...['/memories/new.md', '/memories/to.md', '/memories/hall/a.md', '/memories/hall/b.md'],
];

/** The deeds of which another writer does one, once. */
export const DEEDS: Readonly<Record<string, (other: TestClient) => Promise<unknown>>> = {
  'appends to the list': (other) => other.append(LIST, 'by another\n'),
  'appends to the plan': (other) => other.append(PLAN, 'by another\n'),
  'appends twice': async (other) => {
    await other.append(LIST, 'by another\n');
    await other.append(LIST, 'once more\n');
  },
  'writes the list anew': async (other) => {
    await other.remove(LIST);
    await other.create(LIST, 'anew\n');
  },
  'moves the list away': (other) => other.rename(LIST, '/memories/away.md'),
  'moves the plan away, and writes another': async (other) => {
    await other.rename(PLAN, '/memories/away.md');
    await other.create(PLAN, 'another end\n');
  },
  'deletes what was made': (other) => other.remove('/memories/new.md'),
  'moves what was made away': (other) => other.rename('/memories/new.md', '/memories/away.md'),
  'makes the same file': (other) => other.create('/memories/new.md', 'by another\n'),
  'writes the old file anew': async (other) => {
    await other.remove('/memories/old.md').catch(() => {});
    await other.create('/memories/old.md', 'by another\n');
  },
  'moves the file back': (other) => other.rename('/memories/to.md', '/memories/from.md'),
  'writes the source anew': (other) => other.create('/memories/from.md', 'by another\n'),
  'writes into the heap': (other) => other.create('/memories/heap/c.md', 'by another\n'),
};

/** The place where the first worker dies, and what another writer does and when; no deed where the worker is alone. */
export interface KilledTurn {
  readonly kind: StoreKind;
  readonly keepsHistory: boolean;
  readonly script: Script;
  readonly seed: number;
  /** The request, from 0, and whether it is applied; without one the worker lives. */
  readonly death?: { readonly request: number; readonly isApplied: boolean };
  readonly beside?: {
    readonly deed: (other: TestClient) => Promise<unknown>;
    /** Before that request, from 0, of the worker that dies or of the next one; without one between the two. */
    readonly request?: number;
    readonly worker: 'first' | 'next';
  };
}

/** The answer that Claude read to a command that writes, and how often the command was made. */
export interface Answer {
  readonly command: unknown;
  readonly says: 'ok' | 'it may have been applied' | 'an error';
  readonly times: number;
}

export interface TurnReport {
  /** The requests of the worker that was killed, or of the one that lived. */
  readonly requests: number;
  readonly answers: readonly Answer[];
  readonly faults: readonly string[];
}

/** Runs the turn, kills its worker, delivers it again, and answers what is wrong then. */
export async function killTurn(turn: KilledTurn): Promise<TurnReport> {
  const { kind, keepsHistory, script, seed, death, beside } = turn;
  // The agent tells the time by its own clock.
  const site = await createSite(kind, seed, undefined, Date.now());
  try {
    const other = await site.client({ keepsHistory });
    await other.open();
    for (const [path, text] of Object.entries(BEFORE)) await other.create(path, text);
    await site.time.pause(1_000);
    const witness = await createWitness(site);
    const begin = (worker: 'first' | 'next') => {
      let sent = 0;
      const around: Around = async (call, proceed) => {
        if (beside?.worker === worker && beside.request === sent) await beside.deed(other).catch(() => {});
        sent += 1;
        return witness.around(call, proceed);
      };
      return { around, sent: () => sent };
    };
    const [first, next] = [begin('first'), begin('next')];
    const died = Promise.withResolvers<'died'>();
    let isDead = false;
    const dying: Around = async (call, proceed) => {
      const isLast = first.sent() === death?.request;
      if (!isDead && (!isLast || death?.isApplied === true)) {
        isDead = isLast;
        const answer = await first.around(call, proceed);
        if (!isLast) return answer;
      }
      isDead = true;
      died.resolve('died');
      return new Promise(() => {});
    };
    let delivery = await Promise.race([deliver(site, { script, around: dying }), died.promise]);
    const requests = first.sent();
    if (delivery === 'died') {
      await site.time.pause(LEASE_MS + 10_000);
      if (beside?.request === undefined) await beside?.deed(other).catch(() => {});
      delivery = await deliver(site, { script, around: next.around });
    }
    return judge(delivery, { script, made: witness.made, requests });
  } finally {
    await site.base[Symbol.asyncDispose]();
  }
}

const LEASE_MS = 90_000;

/** Delivers the turn to a worker of its own. */
async function deliver(
  site: TestSite,
  { script, around }: { readonly script: Script; readonly around: Around },
): Promise<Delivery> {
  const client = await site.client({ beneath: around });
  const { tenant } = client;
  const claude = createScriptedClaude({
    play({ messages }) {
      const calls = script[messages.filter(({ role }) => role === 'assistant').length];
      return calls ? { calls: calls.map((input) => ({ name: 'memory', input })) } : { say: 'Done.' };
    },
  });
  return deliverTurn({
    message: parseTurnMessage({ tenant: 'acme', turn: 't1', prompt: 'Go on.' }),
    memory: memoryOf(client, { actor: 'turn t1' }),
    receipts: createReceipts(tenant),
    conversations: createConversations(tenant),
    client: async () => new Anthropic({ apiKey: 'scripted', fetch: claude, maxRetries: 0 }),
    turn: { model: 'claude-sonnet-5-5' },
    signal: new AbortController().signal,
    leaseMs: LEASE_MS,
    log: createJsonLogger({ write: () => {} }),
  });
}

interface Witness {
  /** How often workers of the turn brought each word into a file, and took each file from its path. */
  readonly made: ReadonlyMap<string, number>;
  readonly around: Around;
}

/** Watches what the workers of a turn change, in the store itself. */
async function createWitness(site: TestSite): Promise<Witness> {
  const { keyring, tenant } = await (await site.client()).open();
  const paths = new Map(
    PATHS.map((path) => [fileKey(tenant.layout, keyring.names, at(path)) as string, at(path)]),
  );
  const made = new Map<string, number>();
  const count = (what: string, by: number): void => {
    made.set(what, (made.get(what) ?? 0) + by);
  };
  const seen = async (
    path: MemoryPath,
  ): Promise<{ readonly text: string; readonly isCopy: boolean } | undefined> => {
    const found = await site.base.get(fileKey(tenant.layout, keyring.names, path));
    if (typeof found !== 'object' || found.body.length === TOMBSTONE_BYTES) return undefined;
    const { content, origin } = open({ keys: keyring.keys, name: logicalName(path), object: found.body });
    return { text: new TextDecoder().decode(content), isCopy: !bytesEqual(origin, NO_ID) };
  };
  const touched = (call: StoreCall): readonly MemoryPath[] => {
    const keys =
      call.verb === 'put' ? [call.key] : call.verb === 'delete' ? call.targets.map(({ key }) => key) : [];
    return keys.flatMap((key) => paths.get(key) ?? []);
  };
  return {
    made,
    async around(call, proceed) {
      const at = touched(call);
      const before = await Promise.all(at.map(seen));
      const answer = await proceed();
      const after = await Promise.all(at.map(seen));
      for (const [index, path] of at.entries()) {
        const [was, is] = [before[index], after[index]];
        if (was !== undefined && is === undefined) count(path, 1);
        if (is === undefined || is.isCopy) continue;
        for (const word of new Set(is.text.match(WORD))) {
          const more = occurrences(is.text, word) - occurrences(was?.text ?? '', word);
          if (more > 0) count(word, more);
        }
      }
      return answer;
    },
  };
}

const TOMBSTONE_BYTES = 40;
const WORD = /\bw\d\b/g;

function occurrences(text: string, word: string): number {
  return [...text.matchAll(WORD)].filter(([found]) => found === word).length;
}

function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Answers the sign that the command was made: its word, or the file that it takes from its path. */
function markOf(input: Input): string | undefined {
  if (input['command'] === 'view') return undefined;
  const [word] = JSON.stringify(input).match(WORD) ?? [];
  if (word !== undefined) return word;
  const path = String(input['path'] ?? input['old_path']);
  return PATHS.includes(path) ? path : `${path}/a.md`;
}

function judge(
  delivery: Delivery | 'died',
  {
    script,
    made,
    requests,
  }: { readonly script: Script; readonly made: ReadonlyMap<string, number>; readonly requests: number },
): TurnReport {
  if (delivery === 'died' || delivery.state !== 'answered') {
    return { requests, answers: [], faults: [`the turn was not answered: ${JSON.stringify(delivery)}`] };
  }
  const results = delivery.answer.messages.flatMap(({ content }) =>
    typeof content === 'object'
      ? content.flatMap((block) => (block.type === 'tool_result' ? [block] : []))
      : [],
  );
  const answers: Answer[] = [];
  const faults: string[] = [];
  for (const [index, input] of script.flat().entries()) {
    const mark = markOf(input);
    if (mark === undefined) continue;
    const { is_error: isError, content } = results[index] ?? expect.unreachable();
    const said = JSON.stringify(content ?? 'nothing');
    const says = isError !== true ? 'ok' : said.includes(SENTENCE) ? 'it may have been applied' : 'an error';
    const times = made.get(mark) ?? 0;
    answers.push({ command: input['command'], says, times });
    const isRight = times <= 1 && (says === 'it may have been applied' || times === (says === 'ok' ? 1 : 0));
    if (!isRight) faults.push(`${JSON.stringify(input)} was made ${times} times, and answered ${said}`);
  }
  return { requests, answers, faults };
}
