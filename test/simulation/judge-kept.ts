import { hasCode } from '../../src/errors.ts';
import type { OpenedObject } from '../../src/format/object.ts';
import { classLogicalName, type ObjectKey, parseClassKey } from '../../src/format/object-keys.ts';
import { createHistory, type History as KeptHistory } from '../../src/history/history.ts';
import type { HistoryEntry, MovedEntry, WrittenEntry } from '../../src/history/past/entries.ts';
import { decodeHistoryRecord } from '../../src/history/save/history-record.ts';
import { VERSION_SAVER } from '../../src/history/save/version-saver.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyringCache } from '../../src/keys/keyring-cache.ts';
import { decodeFields } from '../../src/tree/records/sealed-record.ts';
import { createSightings } from '../../src/tree/sightings.ts';
import type { Tenant } from '../../src/tree/tenant.ts';
import { createTree } from '../../src/tree/tree.ts';
import { createVersionCaches } from '../../src/tree/version-cache.ts';
import { silentLogger } from '../stage/silent-logger.ts';
import type { Weather } from './faults.ts';
import type { Command, History, Operation } from './history.ts';
import type { Complaint } from './judge.ts';
import { type Ending, type Lived, liveOf } from './lived-versions.ts';
import { isTrueOf, type Openers, savedVersions } from './saved-versions.ts';
import type { Server } from './server.ts';
import { createServerStore } from './server-store.ts';
import { LAYOUT, ROOT_KEY } from './tenant.ts';

export interface KeptEvidence extends Openers {
  readonly history: History;
  readonly server: Server;
  readonly weather: Weather['name'];
}

type Fault = readonly [problem: string, ...details: string[]];

/**
 * Compares the log with every version that ever lay in the store: each replaced or deleted text must be readable byte
 * for byte, each version must name the one before it and its actor, and the log must tell nothing that did not happen.
 */
export async function judgeKept(evidence: KeptEvidence): Promise<Complaint> {
  const { history, server } = evidence;
  if (server.get(LAYOUT.keyring) === undefined) return undefined;
  const lived = liveOf(history, evidence.openAt);
  const [broken] = lived.broken;
  if (broken !== undefined) return complaintOf(['an id does not name one version', broken]);
  if (history.keptSince === undefined) return undefined;
  const kept = openKept(server);
  const whole = await kept.list();
  const byPath = new Map<string, readonly HistoryEntry[]>();
  for (const path of lived.paths) byPath.set(path, await kept.list(path));
  const texts = await readAll(kept, whole);
  const log: Log = {
    whole,
    byPath,
    texts,
    ids: new Map(whole.filter(isWritten).map((entry, at) => [entry.version, { entry, at }])),
  };
  const fault =
    savedOtherwise(evidence, lived) ??
    missing(evidence, lived, log) ??
    invented(lived, log) ??
    outOfOrder(evidence, lived, log) ??
    wrongWriter(evidence, lived, log) ??
    wrongMoves(evidence, lived, log) ??
    writtenOver(evidence) ??
    undecided(evidence);
  return fault && complaintOf(fault);
}

function complaintOf([problem, ...details]: Fault): Complaint {
  return { problem: `history: ${problem}`, details, undecided: false };
}

interface Log {
  readonly whole: readonly HistoryEntry[];
  readonly byPath: ReadonlyMap<string, readonly HistoryEntry[]>;
  /** The texts that `read` answers for written versions. */
  readonly texts: ReadonlyMap<string, string>;
  readonly ids: ReadonlyMap<string, { readonly entry: WrittenEntry; readonly at: number }>;
}

/** Finds a version that was saved with another text than its id names, whichever attempt of its writer was read. */
function savedOtherwise({ history, ...openers }: KeptEvidence, lived: Lived): Fault | undefined {
  const otherwise = savedVersions(history, openers).find((record) => !isTrueOf(lived, record));
  return otherwise && ['a version was saved as another one', otherwise.version.path];
}

/** Finds a version that was replaced or deleted, or lies there now, and cannot be read. */
function missing({ history }: KeptEvidence, lived: Lived, log: Log): Fault | undefined {
  const since = history.keptSince ?? Number.POSITIVE_INFINITY;
  const asked = [...history.redactions.keys()].map((id) => lived.versions.get(id)?.text);
  const isAsked = (text: string): boolean => asked.includes(text);
  for (const [id, state] of history.redactions) {
    // A create that a network delivers too late brings the version back itself.
    const isBack = lived.versions.get(id)?.unreadable === true;
    if (state === 'done' && !isBack && log.ids.get(id)?.entry.text === 'kept')
      return ['a redacted text is there again', id, String(lived.versions.get(id)?.text)];
  }
  for (const ending of lived.endings) {
    if (ending.kind === 'carried' || (ending.operation?.start ?? 0) < since) continue;
    const { path, version: id } = ending;
    const version = lived.versions.get(id);
    if (version === undefined || version.unreadable) continue;
    const told = log.ids.get(id);
    if (told === undefined) return ['a version is missing', describe(ending, lived)];
    const isOut = told.entry.text === 'redacted';
    if (isOut ? !isAsked(version.text) : log.texts.get(id) !== version.text)
      return ['a version has another text', describe(ending, lived)];
    if (!log.byPath.get(path)?.some((entry) => isWritten(entry) && entry.version === id))
      return ['a version is not in the log of its path', describe(ending, lived)];
  }
  for (const [path, id] of lived.current) {
    if (lived.versions.get(id)?.unreadable) continue;
    const entry = log.ids.get(id)?.entry;
    if (entry?.end !== 'current') return ['a file is not in the log as it is', `${path} ${id} ${entry?.end}`];
    if (!log.byPath.get(path)?.some((each) => isWritten(each) && each.version === id))
      return ['a file is not in its own log', path];
  }
  return undefined;
}

/** Finds an entry of the log that never happened. */
function invented(lived: Lived, log: Log): Fault | undefined {
  const current = new Set(lived.current.values());
  for (const { entry } of log.ids.values()) {
    const version = lived.versions.get(entry.version);
    if (version === undefined) return ['a version never was', entry.version];
    if (entry.text === 'kept' && !log.texts.has(entry.version))
      return ['a version that is told of cannot be read', entry.path, entry.version];
    if (entry.end === 'current' && !current.has(entry.version)) return ['a version is gone', entry.version];
  }
  for (const [path, entries] of log.byPath) {
    const strange = entries.find(({ version, kind }) => kind === 'written' && !log.ids.has(version));
    if (strange !== undefined)
      return ['a path has a version that the whole log lacks', `${path} ${strange.version}`];
  }
  return undefined;
}

/** Finds a version that does not name the one that it replaced, or does not come after it. */
function outOfOrder({ history }: KeptEvidence, lived: Lived, log: Log): Fault | undefined {
  const current = new Set(lived.current.values());
  const since = history.keptSince ?? Number.POSITIVE_INFINITY;
  for (const ending of lived.endings) {
    if (ending.kind !== 'replaced' || (ending.operation?.start ?? 0) < since) continue;
    const next = log.ids.get(ending.by);
    if (next === undefined) continue;
    const where = describe(ending, lived);
    if (next.entry.previous !== ending.version)
      return ['a version names another before it', where, String(next.entry.previous)];
    const before = log.ids.get(ending.version);
    if (before === undefined) continue;
    // The newest come first.
    if (before.at < next.at) return ['a version comes before the one that it replaced', where];
    const end = current.has(ending.version) ? 'current' : 'replaced';
    if (before.entry.end !== end) return ['a version has another end', where, before.entry.end];
  }
  return undefined;
}

/** Finds a version whose addition its writer did not ask for, by one command once. */
function wrongWriter({ history }: KeptEvidence, lived: Lived, log: Log): Fault | undefined {
  const since = history.keptSince ?? Number.POSITIVE_INFINITY;
  const asked = new Map(
    history.operations.flatMap((operation) =>
      tokensOf(operation.restores ? '' : addedBy(operation.command)).map(
        (token) => [token, operation] as const,
      ),
    ),
  );
  const introduced = new Set<string>();
  for (const { entry } of log.ids.values()) {
    const version = lived.versions.get(entry.version);
    if (version === undefined) continue;
    const before = version.previous === undefined ? undefined : lived.versions.get(version.previous)?.text;
    const added = tokensOf(version.text).filter(
      (token) => before === undefined || !tokensOf(before).includes(token),
    );
    for (const token of added) {
      introduced.add(token);
      const asker = asked.get(token);
      if (asker === undefined) return ['a version has what none asked for', token];
      const operation = version.operation?.restores ? version.operation : asker;
      if ((version.operation?.start ?? 0) < since) continue;
      if (entry.writer !== operation.actor)
        return ['a version names another writer', `${token} of ${operation.actor} by ${entry.writer}`];
    }
  }
  // A text that was replaced in the round that wrote it is in no version; one that an early command replaced is not
  // kept.
  const replaced = new Set(
    history.operations.flatMap(({ command }) => (command.command === 'str_replace' ? [command.old_str] : [])),
  );
  const early = lived.endings
    .filter(({ operation }) => (operation?.start ?? 0) < since)
    .map(({ version }) => lived.versions.get(version)?.text ?? '');
  for (const [token, { result, start }] of asked) {
    if (!result?.ok || start < since || introduced.has(token) || replaced.has(token)) continue;
    if (early.some((text) => text.includes(token)) || lived.unreadableToken(token)) continue;
    return ['what was acknowledged is in no version', token];
  }
  return undefined;
}

/**
 * Finds a rename or delete that the log tells and that did not happen as often; in a calm, also one that the log leaves
 * out.
 */
function wrongMoves({ history, weather }: KeptEvidence, lived: Lived, log: Log): Fault | undefined {
  const told = new Map<string, number>();
  for (const entry of log.whole) {
    if (isWritten(entry)) continue;
    const key = keyOf(entry);
    told.set(key, (told.get(key) ?? 0) + 1);
  }
  for (const [key, times] of told) {
    // A copy that stays beside its source came there by a rename, too.
    const happened = lived.moves.get(key) ?? (lived.stayed.has(key) ? 1 : 0);
    if (happened < times)
      return ['a rename or delete is told of too often', `${key}: ${times} instead of ${happened}`];
  }
  if (weather !== 'calm') return undefined;
  const since = history.keptSince ?? Number.POSITIVE_INFINITY;
  for (const { operation, kind, version, path, to } of lived.endings) {
    if (operation === undefined || operation.start < since || !operation.result?.ok) continue;
    if (kind === 'replaced' || (kind === 'carried' && to === undefined)) continue;
    const kindTold = to === undefined ? 'deleted' : 'renamed';
    const key = keyOf({ kind: kindTold, path, version, to });
    if (!told.has(key)) return ['a rename or delete is not told of', key];
  }
  return undefined;
}

/** Finds a saved record that was written over: a redacted text could come back so. */
function writtenOver({ history }: KeptEvidence): Fault | undefined {
  const keys = new Set<ObjectKey>();
  for (const { key, unconditional } of history.records) {
    if (!key.startsWith(`${LAYOUT.tenantPrefix}history/`)) continue;
    if (unconditional && keys.has(key)) return ['a record is written over', key];
    keys.add(key);
  }
  return undefined;
}

/** Finds the rename of a directory that was written down before it only went forward. */
function undecided({ history, openAs }: KeptEvidence): Fault | undefined {
  const moving = new Set<string>();
  for (const { key, body } of history.records) {
    const record = parseClassKey(LAYOUT, key);
    if (record === undefined) continue;
    const { cls, id } = record;
    if (cls === 'journal' && id !== 'register') continue;
    const { content } = openAs(classLogicalName(cls, id), body);
    if (cls === 'journal') {
      const entry = decodeFields(content);
      if (entry?.['phase'] === 'moving') moving.add(String(entry['id']).slice(0, EVENT_CHARACTERS));
      continue;
    }
    const kept = decodeHistoryRecord(content);
    if (kept?.kind !== 'moved' || kept.files.every(([path]) => path === kept.from)) continue;
    if (!moving.has(id.slice(-EVENT_CHARACTERS)))
      return ['a rename is written down that may be taken back', `${kept.from} to ${kept.to}`];
  }
  return undefined;
}

/** The characters of a rename's id in the ids of its records. */
const EVENT_CHARACTERS = 8;

function keyOf({
  kind,
  path,
  version,
  to,
}: Pick<MovedEntry, 'kind' | 'path' | 'version'> & { readonly to?: string | undefined }): string {
  return `${kind} ${version} ${path} ${to ?? ''}`;
}

function openKept(server: Server): KeptHistory {
  const store = createServerStore(server);
  const refuse = (): never => {
    throw new Error('a judge waits for nothing');
  };
  const tenant: Tenant = {
    store,
    layout: LAYOUT,
    keyrings: createKeyringCache({
      store,
      layout: LAYOUT,
      rootKeys: [envRootKey(ROOT_KEY)],
      nameMode: 'plain',
    }),
    sightings: createSightings(),
    cache: createVersionCaches(0)(),
    maxFileBytes: 100_000,
    readOnly: true,
    concurrency: 32,
    concurrentBytes: 33_554_432,
    clock: () => 0,
    monotonic: () => 0,
    stamps: { now: refuse, storeTime: () => 0, skew: () => 0 },
    random: refuse,
    pause: refuse,
    logger: silentLogger,
    loadSaver: async () => VERSION_SAVER,
  };
  return createHistory(tenant, createTree(tenant));
}

async function readAll(
  kept: KeptHistory,
  entries: readonly HistoryEntry[],
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const entry of entries) {
    if (!isWritten(entry)) continue;
    const text = await kept.read(entry).then(
      (version) => version.text(),
      (error: unknown) => {
        if (hasCode(error, 'not_found')) return undefined;
        throw error;
      },
    );
    if (text !== undefined) texts.set(entry.version, text);
  }
  return texts;
}

function isWritten(entry: HistoryEntry): entry is WrittenEntry {
  return entry.kind === 'written';
}

/** Decodes the text that an opened object holds. */
export function textIn({ content }: Pick<OpenedObject, 'content'>): string {
  return new TextDecoder().decode(content);
}

const TOKEN = /t\d+\./g;

function tokensOf(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

function addedBy(command: Command): string {
  switch (command.command) {
    case 'create':
      return command.file_text;
    case 'str_replace':
      return command.new_str;
    case 'insert':
      return command.insert_text;
    default:
      return '';
  }
}

function describe({ path, version, kind, operation }: Ending, lived: Lived): string {
  const text = JSON.stringify(lived.versions.get(version)?.text);
  return `${path} ${version} ${text}, ${kind} by ${operation === undefined ? 'an operator' : label(operation)}`;
}

function label({ process, id }: Operation): string {
  return `${process}#${id}`;
}
