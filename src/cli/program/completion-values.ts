import { existsSync } from 'node:fs';
import { MEMORY_ROOT } from '../../language/path.ts';
import { openMemoryUntil } from '../../open/open-memory.ts';
import { optionsFromEnvironment } from '../../open/options/environment.ts';
import { parseStoreLocation } from '../../store/open-store.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import type { Flags } from '../run/invocation.ts';
import { readEnvironment } from '../run/settings.ts';
import { typedPath } from '../run/typed.ts';
import { shownVersion, timeOf } from '../show/shown.ts';
import type { Slot } from './completion-slot.ts';

export interface Candidate {
  readonly value: string;
  /** The words that explain the value. */
  readonly told: string;
}

/** The most values that a person reads through. */
const MOST_LISTED = 1_000;
const MOST_VERSIONS = 20;
const MOST_DEEDS = 50;
/** The most requests that one press of a key may cost. */
const MOST_REQUESTS = 120;

/** Finds the values that may stand at a place. @throws what the store fails with. */
export async function candidatesFor(slot: Slot, controller: AbortController): Promise<readonly Candidate[]> {
  if (slot.kind === 'file') return [];
  if (slot.kind === 'word') return slot.words.map(([value, told]) => ({ value, told }));
  const options = await readableOptions(slot.flags);
  if (options === undefined) return [];
  const { signal } = controller;
  let requests = 0;
  const onRequest = (): void => {
    requests += 1;
    if (requests > MOST_REQUESTS) controller.abort();
  };
  await using memory = await openMemoryUntil({ ...options, onRequest }, signal);
  switch (slot.kind) {
    case 'path':
      return await pathsLike(memory, slot.current, signal);
    case 'strict path':
      return slot.current.startsWith('/') || slot.current === ''
        ? await pathsLike(memory, slot.current || '/', signal)
        : [];
    case 'version':
      return await versionsOf(memory, slot, signal);
    case 'side':
      return [
        ...(await pathsLike(memory, slot.current, signal)),
        ...(await versionsOf(memory, slot, signal)),
      ];
    case 'actor':
      return await actorsOf(memory, signal);
  }
}

/** Options that write nothing: no store, no event, no file; undefined where there is nothing to read. */
async function readableOptions(flags: Flags) {
  const env = readEnvironment(flags);
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const { onEvent: _, ...options } = optionsFromEnvironment(env, { logger: silent });
  const location = parseStoreLocation(String(options.store), 'store');
  const isThere = location.kind === 's3' || (location.kind === 'sqlite' && existsSync(location.path));
  return isThere ? { ...options, readOnly: true } : undefined;
}

/** Lists the directory that was typed, each name after the part that was typed before it. */
async function pathsLike(
  memory: Memory,
  current: string,
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const typed = current.slice(0, current.lastIndexOf('/') + 1);
  if (/^\/+$/.test(typed)) return [{ value: `${typed}${MEMORY_ROOT.slice(1)}/`, told: '' }];
  const directory = typedPath(typed === '' ? '.' : typed);
  const found: Candidate[] = [];
  for await (const { path, type } of memory.files.list(directory, { signal })) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const value = `${typed}${name}${type === 'directory' ? '/' : ''}`;
    if (!value.startsWith('-')) found.push({ value, told: '' });
    if (found.length >= MOST_LISTED) break;
  }
  // A listing comes in the order of encrypted names.
  return found.sort((left, right) => (left.value < right.value ? -1 : 1));
}

/** The versions of the file that was typed before, as they are shown. */
async function versionsOf(
  memory: Memory,
  { given: [path = ''] }: Slot,
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const entries = await memory.history.list(typedPath(path), { signal, limit: MOST_VERSIONS });
  return entries.flatMap((entry) =>
    entry.kind === 'written' ? [{ value: shownVersion(entry.version), told: timeOf(entry.time) }] : [],
  );
}

async function actorsOf(memory: Memory, signal: AbortSignal): Promise<readonly Candidate[]> {
  const entries = await memory.history.list(undefined, { signal, limit: MOST_DEEDS });
  const writers = new Set(entries.flatMap(({ writer }) => writer ?? []));
  return [...writers].map((value) => ({ value, told: '' }));
}
