import { checkpointTree, writeCheckpoint } from '../../src/admin/checkpoints/checkpoint.ts';
import { expireTree } from '../../src/admin/expiry/expire.ts';
import { exportTree } from '../../src/admin/export/export-tree.ts';
import type { Finding } from '../../src/admin/findings.ts';
import { migrateObjects } from '../../src/admin/keys/migrate.ts';
import { rewrapRoot, rotateKey } from '../../src/admin/keys/rotate.ts';
import { shredTenant } from '../../src/admin/keys/shred.ts';
import { turnTenantHistory } from '../../src/admin/keys/turn-history.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { MemoryError } from '../../src/errors.ts';
import { toBase64url } from '../../src/format/encoding.ts';
import { createHistory, type History } from '../../src/history/history.ts';
import type { HistoryEntry } from '../../src/history/past/entries.ts';
import { createKeyringEditor } from '../../src/keys/keyring-editor.ts';
import { createSessions } from '../../src/sessions/sessions.ts';
import { keyOf } from '../stage/bucket.ts';
import { historyOf } from '../stage/history-site.ts';
import type { Around } from '../stage/store-wrappers.ts';
import { bytes, TEST_ROOT_KEY, type TestClient } from '../stage/test-tree.ts';
import { whereTextIs } from '../stage/traces.ts';
import { COUNT, KEY } from '../units/sessions/session-load.ts';
import { editorOf, newProcess, type Place, pathOf, ROOT_KEYS, SECRET } from './tenant.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** How long processes go on with a keyring. */
const TTL_MS = 5 * MINUTE;
const actor = 'cyd';

/** One verb of an operator. */
export interface Verb {
  /** Does what has to happen before anybody meets. */
  readonly prepare?: (place: Place) => Promise<unknown>;
  /** Runs the verb; what it answers that it must not answer, whoever acts beside it. */
  run(place: Place): Promise<readonly unknown[]>;
  /** Codes with which it may refuse, or end before it is done. */
  readonly refusals?: readonly string[];
  /** True where a rename takes a part of what is written along, as in neither order. */
  readonly isMoving?: true;
  /** True where it may leave everything to its next run, because others have written it meanwhile. */
  readonly mayLeaveAll?: true;
  /** A finding that says what a death has left, where nobody finishes it: both ends are true then. */
  readonly halfDone?: Finding['kind'];
  /** Answers what is wrong with the tenant that a death has left, before the verb runs again. */
  readonly judgeDeath?: (place: Place) => Promise<readonly unknown[]>;
  /** Answers what is wrong with the tenant that the verb has left, once nobody acts any more. */
  readonly judge?: (place: Place) => Promise<readonly unknown[]>;
}

const quiet = async (run: Promise<unknown>): Promise<readonly unknown[]> => {
  await run;
  return [];
};

/** The versions of before that a log lacks: that one was renamed does not show it. */
const lacking = (entries: readonly HistoryEntry[], versions: Iterable<string>): readonly unknown[] => {
  const written = entries.filter(({ kind }) => kind === 'written');
  const listed = new Set(written.map(({ version }) => version));
  return [...versions].flatMap((version) => (listed.has(version) ? [] : [{ lacking: version }]));
};

const findingsOf = async ({ operator }: Place, options: Parameters<typeof verifyTree>[1]) =>
  (await verifyTree(operator.tenant, options)).findings.filter(
    ({ kind }) => kind !== 'rename' && kind !== 'duplicate',
  );

async function rotate({ operator }: Place): Promise<void> {
  const { tenant } = operator;
  await rotateKey({ editor: editorOf(operator), clock: tenant.stamps.now, random: tenant.random });
}

async function migrate(place: Place, reencrypt: boolean): Promise<readonly Finding[]> {
  await rotate(place);
  const { tenant } = place.operator;
  const { problems } = await migrateObjects(tenant, {
    editor: editorOf(place.operator),
    reencrypt,
    wait: true,
    ttlMs: TTL_MS,
  });
  return problems;
}

const turn = ({ operator }: Place, to: 'off' | 'anew'): Promise<readonly unknown[]> =>
  quiet(turnTenantHistory({ editor: editorOf(operator), stamps: operator.tenant.stamps }, to));

/** A rename whose process dies on its way to the first delete. */
async function cutOff({ site }: Place, from: string, to: string): Promise<void> {
  const renamer = await newProcess(site);
  const dies: Around = async (call, proceed) => {
    const isRemoval = call.verb === 'delete' || (call.verb === 'put' && call.body.length === 40);
    if (isRemoval) throw new MemoryError('aborted', 'the process is dead');
    await site.time.pause(2);
    return proceed();
  };
  renamer.intercept(dies);
  await renamer.tree.rename({ from: pathOf(from), to: pathOf(to) }).catch(() => undefined);
}

/** The files that nobody misses since the newest line, though all are gone that lay there before it. */
async function unmissed({ site, lines, first }: Place): Promise<readonly unknown[]> {
  const reader = await newProcess(site);
  const old = [...(await filesOf(reader))].filter(([, { id }]) => first.has(id));
  for (const [path] of old) await site.base.delete([{ key: await keyOf(reader, path) }]);
  const { findings } = await verifyTree((await newProcess(site)).tenant, { since: lines.at(-1) });
  // One that was renamed is missed where the line has it.
  const missed = new Set(
    findings.flatMap((finding) =>
      finding.kind === 'since' ? [finding.path as string, finding.expected?.version] : [],
    ),
  );
  return old.flatMap(([path, { id }]) => (missed.has(path) || missed.has(id) ? [] : [{ unmissed: path }]));
}

/** Compares what was exported with what lay in the tree all the time. */
async function exportAll({ site, operator }: Place): Promise<readonly unknown[]> {
  const reader = await newProcess(site);
  const before = await filesOf(reader);
  const exported = new Map<string, string>();
  const { findings } = await exportTree(operator.tenant, { to: '' }, async () => ({
    async write({ segments, content }) {
      exported.set(`/memories/${segments.join('/')}`, new TextDecoder().decode(content));
      return undefined;
    },
    finish: async () => {},
    abandon: async () => {},
  }));
  const after = await filesOf(reader);
  const told = new Set(findings.flatMap((finding) => ('path' in finding ? [finding.path as string] : [])));
  const places = (files: ReadonlyMap<string, { readonly id: string }>, id: string) =>
    [...files].filter(([, file]) => file.id === id).map(([path]) => path);
  // A version that lay somewhere at the begin and lies somewhere at the end was there all the time.
  return [...after].flatMap(([, { id, text }]) => {
    const paths = [...places(before, id), ...places(after, id)];
    const isThere = paths.some((path) => exported.get(path) === text || told.has(path));
    return places(before, id).length === 0 || isThere ? [] : [{ missing: paths }];
  });
}

async function filesOf(client: TestClient) {
  const files = new Map<string, { readonly id: string; readonly text: string }>();
  for (const path of await client.paths()) {
    const version = await client.tree.readVersion(pathOf(path.slice('/memories/'.length)));
    if (version === undefined) continue;
    files.set(path, { id: toBase64url(version.id), text: new TextDecoder().decode(version.content) });
  }
  return files;
}

/** The files of the renamed directory that nothing says were renamed. */
async function untoldMoves({ site }: Place): Promise<readonly unknown[]> {
  const reader = await newProcess(site);
  const told = new Set(
    (await historyOf(reader).list()).flatMap((entry) => ('to' in entry ? [entry.to] : [])),
  );
  const below = await reader.paths('/memories/g');
  return below.flatMap((path) => (told.has(path) ? [] : [{ untold: path }]));
}

/** The verbs of operators that read or write more than one object. */
export const VERBS: Readonly<Record<string, Verb>> = {
  'keys rotate': { run: (place) => quiet(rotate(place)) },
  'keys migrate': { run: (place) => migrate(place, false) },
  'keys migrate --reencrypt': { run: (place) => migrate(place, true) },
  verify: { run: (place) => findingsOf(place, {}) },
  'verify --since': { run: (place) => findingsOf(place, { since: place.lines.at(-1) }) },
  'verify --repair': {
    async prepare(place) {
      await cutOff(place, 'c', 'g');
      await cutOff(place, 'd', 'h');
      await place.site.time.pause(2 * MINUTE);
    },
    run: (place) => findingsOf(place, { repair: true }),
    isMoving: true,
  },
  checkpoint: {
    async run({ operator, lines }) {
      lines.push((await writeCheckpoint(operator.tenant)).line);
      return [];
    },
    judge: unmissed,
  },
  'checkpoint --since': {
    async run({ operator, lines }) {
      const report = await checkpointTree(operator.tenant, { since: lines.at(-1) });
      if (report.line !== undefined) lines.push(report.line);
      return report.findings;
    },
  },
  expire: {
    async prepare({ site }) {
      const { tenant } = await newProcess(site);
      await expireTree(tenant, { afterDays: 1 });
      await site.time.pause(48 * HOUR);
      await expireTree(tenant, { afterDays: 1 });
      await site.time.pause(2 * HOUR);
    },
    run: ({ operator }) => quiet(expireTree(operator.tenant, { afterDays: 1, historyDays: 300 })),
    // A migration has bound its marks again, or the files.
    refusals: ['unavailable'],
    mayLeaveAll: true,
  },
  export: { run: exportAll },
  log: { run: async ({ operator, known }) => lacking(await historyOf(operator).list(), known) },
  'log --limit': {
    run: async ({ operator, known }) =>
      lacking(await historyOf(operator).list(undefined, { limit: 40 }), known),
  },
  'log PATH': {
    run: async ({ operator, version }) => lacking(await historyOf(operator).list('/memories/a'), [version]),
  },
  trace: { run: ({ operator }) => quiet(historyOf(operator).trace({ path: '/memories/a' })) },
  'tenant history off': { run: (place) => turn(place, 'off') },
  'tenant history anew': { run: (place) => turn(place, 'anew') },
  undo: { run: ({ operator }) => quiet(historyOf(operator).undo({ writer: 'bad', actor })) },
  'undo --force': {
    run: ({ operator }) => quiet(historyOf(operator).undo({ writer: 'bad', actor, force: true })),
  },
  'restore-at': { run: ({ operator, moment }) => quiet(historyOf(operator).restoreAt(moment, { actor })) },
  'restore-at --below': {
    run: ({ operator, moment }) =>
      quiet(historyOf(operator).restoreAt(moment, { actor, below: '/memories/d' })),
    // A file that left the directory half-way was restored there, or not.
    isMoving: true,
  },
  restore: {
    run: ({ operator, version }) =>
      quiet(historyOf(operator).restore({ path: '/memories/a', version }, { actor })),
    refusals: ['version_conflict', 'already_exists'],
  },
  'rm -r': {
    run: ({ operator }) => quiet(operator.tree.remove(pathOf('d'), { actor })),
    refusals: ['not_found'],
  },
  mv: {
    run: ({ operator }) => quiet(operator.tree.rename({ from: pathOf('d'), to: pathOf('g') }, { actor })),
    refusals: ['not_found', 'already_exists', 'outcome_unknown', 'version_conflict'],
    isMoving: true,
    judge: untoldMoves,
  },
};

/** History that reaches the versions which the bucket keeps. */
const erasing = ({ operator: { tenant, tree }, kept: { versions } }: Place): History =>
  createHistory(tenant, tree, { versions });

/** Redacts one of the versions of a file, which all had these texts: the newest is number 0. */
function redaction(texts: readonly string[], number: number): Verb {
  const path = '/memories/d/k';
  return {
    async prepare({ writer }) {
      for (const text of texts) await writer.tree.overwrite(pathOf('d/k'), bytes(text), { actor });
    },
    async run(place) {
      const log = await historyOf(place.writer).list(path);
      const named = log.filter(({ kind }) => kind === 'written')[number];
      if (named === undefined) throw new Error('there is no such version');
      return quiet(erasing(place).redact({ path, version: named.version }, { actor }));
    },
    async judge({ kept, operator: { layout } }) {
      return whereTextIs(kept.all(), { layout, rootKey: TEST_ROOT_KEY }, SECRET);
    },
  };
}

const lineOf = (uuid: string, size = 1): string => JSON.stringify({ uuid, text: 'x'.repeat(size) });

/** Appends two lines to a session that begins with others, and sends them again. */
function appending(before: readonly string[]): Verb {
  const lines = [lineOf('x'), lineOf('y')];
  const whole = [...before, ...lines];
  const append = ({ tenant }: TestClient, added: readonly string[]) =>
    createSessions(tenant).append(KEY, added, { fold: COUNT });
  const load = async ({ site }: Place) => {
    const { tenant } = await newProcess(site);
    const sessions = createSessions(tenant);
    const listed = await sessions.list(KEY.projectKey, { fold: COUNT });
    return JSON.stringify([(await sessions.load(KEY)) ?? [], listed.map(({ summary }) => summary)]);
  };
  const loaded = (texts: readonly string[]): string =>
    JSON.stringify([texts, texts.length === 0 ? [] : [texts.length]]);
  return {
    prepare: ({ writer }) => append(writer, before),
    run: ({ operator }) => quiet(append(operator, lines)),
    async judgeDeath(place) {
      const left = await load(place);
      return left === loaded(before) || left === loaded(whole) ? [] : [{ left }];
    },
    async judge(place) {
      const left = await load(place);
      return left === loaded(whole) ? [] : [{ left }];
    },
  };
}

/** More verbs that are killed and run again. Other suites judge what others do beside these. */
export const ALONE: Readonly<Record<string, Verb>> = {
  'keys rewrap-root': {
    run({ operator }) {
      const { store, layout, stamps, random } = operator.tenant;
      const rootKeys = ROOT_KEYS.toReversed();
      const editor = createKeyringEditor({ store, layout, rootKeys, clock: stamps.now, random });
      return quiet(rewrapRoot({ editor, rootKeys }));
    },
  },
  'tenant shred': {
    async prepare(place) {
      await rotate(place);
    },
    run: ({ operator: { tenant }, kept: { versions } }) =>
      quiet(shredTenant({ ...tenant, versions }, { ttlMs: 15_000 })),
    async judge({ kept: { versions }, operator: { layout } }) {
      const left: unknown[] = [];
      for await (const page of versions.list(layout.keyring)) left.push(...page);
      return left.length === 1 ? [] : left;
    },
  },
  'redact a text that was there once': redaction([SECRET, 'clean'], 1),
  'redact the later of two': redaction([SECRET, 'clean', SECRET, 'clean again'], 1),
  'redact the earlier of two': redaction([SECRET, 'clean', SECRET, 'clean again'], 3),
  'the first append to a session': appending([]),
  'an append to a session': appending([lineOf('a')]),
  'an append to a session whose page is full': appending([lineOf('a', 80_000)]),
  'an edit': {
    run: ({ operator }) =>
      quiet(
        operator.tree.edit(
          pathOf('a'),
          (content) => {
            if (Buffer.from(content).toString() !== 'poison')
              throw new MemoryError('no_match', 'no such text');
            return { content: bytes('cured'), result: undefined };
          },
          { actor },
        ),
      ),
    refusals: ['no_match'],
  },
  'an overwrite': {
    run: ({ operator }) => quiet(operator.tree.overwrite(pathOf('a'), bytes('new'), { actor })),
  },
  'a create': {
    run: ({ operator }) => quiet(operator.tree.create(pathOf('new/file'), bytes('new'), { actor })),
    refusals: ['already_exists'],
  },
  rm: {
    run: ({ operator }) => quiet(operator.tree.remove(pathOf('a'), { actor })),
    refusals: ['not_found'],
  },
  'mv of a file': {
    run: ({ operator }) => quiet(operator.tree.rename({ from: pathOf('a'), to: pathOf('e') }, { actor })),
    refusals: ['not_found', 'already_exists'],
    halfDone: 'duplicate',
  },
};
