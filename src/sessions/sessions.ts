import { hasCode, unlessDamaged } from '../errors.ts';
import { createRecent } from '../recent.ts';
import { KEYS_PER_REQUEST } from '../store/port.ts';
import { inTurns } from '../time.ts';
import { eachConcurrently, untilDone } from '../tree/concurrency.ts';
import { deleteObjects } from '../tree/confirmed-put.ts';
import {
  type CallOptions,
  openToWrite,
  openWork,
  refuseWriting,
  type Tenant,
  type Work,
} from '../tree/tenant.ts';
import { appendLines } from './append-lines.ts';
import { foldLines, type SessionFold } from './fold.ts';
import { parseLines } from './page.ts';
import {
  parseProjectKey,
  parseSessionKey,
  projectPart,
  type SessionKey,
  sessionPart,
  subagentsPart,
  type TranscriptId,
  transcriptId,
} from './session-key.ts';
import { type KnownTranscript, type ListedPage, listPages, readPage, readTranscript } from './transcript.ts';

export type SessionOptions = Pick<CallOptions, 'signal'>;

export interface ListedSession {
  readonly sessionId: string;
  /**
   * The time of the last write, by its writer's clock; milliseconds since the epoch. A change of keys does not count.
   */
  readonly modified: number;
  /** The summary of its lines by the fold of the call; undefined without one. */
  readonly summary: unknown;
}

/**
 * Transcripts of agents, sealed beside the tenant's files. A transcript is a row of lines, each of them a JSON object
 * as text, which only grows. Any number of processes may append to one at once. All reject with `MemoryError`:
 * `invalid_command` for a malformed key or line, and the errors of the store and the keyring.
 */
export interface Sessions {
  /**
   * Appends the lines, in the order of the calls, without those whose `uuid` the transcript has already. When it
   * resolves they are stored. Lines of up to 1 MiB together are written as a whole or not at all.
   *
   * @throws MemoryError `limit_exceeded` for a line of more than 15 MiB; `version_conflict` when other processes were
   * faster at every attempt; `outcome_unknown` when no answer tells whether lines were written of which none has a
   * uuid.
   */
  append(
    key: SessionKey,
    lines: readonly string[],
    options?: SessionOptions & { readonly fold?: SessionFold | undefined },
  ): Promise<void>;
  /** Loads all lines in their order; undefined for a transcript that was never written, or deleted. */
  load(key: SessionKey, options?: SessionOptions): Promise<readonly string[] | undefined>;
  /** Lists the sessions of a project, in no order. One that cannot be read is logged and left out. */
  list(
    projectKey: string,
    options?: SessionOptions & { readonly fold?: SessionFold | undefined },
  ): Promise<readonly ListedSession[]>;
  /** Lists the subagents of a session that have a transcript, in no order. */
  subpaths(key: SessionKey, options?: SessionOptions): Promise<readonly string[]>;
  /**
   * Deletes a session with its subagents, or, with `subpath`, the transcript of one of them. A delete that was cut off
   * may leave a part, from the beginning on: delete it once more.
   */
  remove(key: SessionKey, options?: SessionOptions): Promise<void>;
}

interface KnownBound {
  /** The most uuids of all transcripts together. */
  readonly uuids: number;
  /** The number of transcripts, the last ones used, that are known however long they are. */
  readonly transcripts: number;
}

/**
 * The bound of remembered transcripts. A forgotten transcript is read whole before the next write to it. A session and
 * its subagents write in turn, and the bound lets each stay, however long it is: a line takes about 80 bytes here, far
 * less than loading it does.
 */
const KNOWN: KnownBound = { uuids: 200_000, transcripts: 32 };

/** Makes the transcripts of a tenant. A host's calls come through `openSessions`, which loads this module. */
export function createSessions(tenant: Tenant, bound: KnownBound = KNOWN): Sessions {
  const known = createRecent<TranscriptId, KnownTranscript>({
    most: bound.uuids,
    least: bound.transcripts,
    sizeOf: (pages) => pages.reduce((sum, { uuids }) => sum + uuids.size, 1),
  });
  /** The last append to each transcript. */
  const appending = new Map<string, Promise<void>>();

  const inOrder = async (key: SessionKey, action: () => Promise<void>): Promise<void> => {
    const name = JSON.stringify(key);
    const turn = (appending.get(name) ?? Promise.resolve()).then(action, action);
    appending.set(name, turn);
    try {
      await turn;
    } finally {
      if (appending.get(name) === turn) appending.delete(name);
    }
  };

  const reading = async <T>(
    { signal }: SessionOptions,
    nothing: T,
    read: (work: Work) => Promise<T>,
  ): Promise<T> => {
    const work = await openWork(tenant, { signal });
    return work === undefined ? nothing : read(work);
  };

  return Object.freeze<Sessions>({
    async append(key, texts, { signal, fold } = {}) {
      const named = parseSessionKey(key);
      const given = [...texts];
      refuseWriting(tenant);
      if (given.length === 0) return;
      const appendAll = async (): Promise<void> => {
        const lines = await inTurns(parseLines(given), signal);
        const work = await openToWrite(tenant, { signal });
        const transcript = transcriptId(work.keyring.names, named);
        const before = known.get(transcript);
        known.set(transcript, await appendLines(work, { key: named, lines, fold, known: before }));
      };
      await inOrder(named, appendAll);
    },
    async load(key, options = {}) {
      const named = parseSessionKey(key);
      return reading(options, undefined, async (work) => {
        const transcript = transcriptId(work.keyring.names, named);
        const read = await readTranscript(work, transcript);
        known.set(transcript, read.known);
        return read.lines.length === 0 ? undefined : read.lines.map(({ text }) => text);
      });
    },
    async list(projectKey, { fold, ...options } = {}) {
      const project = parseProjectKey(projectKey);
      return reading(options, [], (work) => listSessions(work, project, fold));
    },
    async subpaths(key, options = {}) {
      const named = parseSessionKey(key);
      return reading(options, [], async (work) => {
        const listed = await listPages(work, subagentsPart(work.keyring.names, named));
        const found: string[] = [];
        await eachTranscript(work, listed, async ({ last }) => {
          const { subpath } = (await readPage(work, last))?.page.key ?? {};
          if (subpath !== undefined) found.push(subpath);
        });
        return found;
      });
    },
    async remove(key, options = {}) {
      const named = parseSessionKey(key);
      refuseWriting(tenant);
      await reading(options, undefined, (work) => removePages(work, named));
    },
  });
}

async function listSessions(
  work: Work,
  project: string,
  fold: SessionFold | undefined,
): Promise<readonly ListedSession[]> {
  const { names } = work.keyring;
  const listed = await listPages(work, projectPart(names, project));
  const found: ListedSession[] = [];
  const mains = listed.filter(({ isMain }) => isMain);
  await eachTranscript(work, mains, async ({ last, first }) => {
    const read = await readPage(work, last);
    if (read === undefined) return;
    const { key, summary, first: summarisedFrom } = read.page;
    const isSummary = summary?.by === fold?.by && summarisedFrom === first;
    const summarise = async (): Promise<unknown> => {
      const { lines } = await readTranscript(work, last.transcript);
      return fold && foldLines(fold, { key, lines })?.data;
    };
    found.push({
      sessionId: key.sessionId,
      modified: read.mtime,
      summary: fold === undefined ? undefined : isSummary ? summary?.data : await summarise(),
    });
  });
  return found;
}

/** The last of a transcript's listed pages, and the number of the first one. */
interface Ends {
  readonly last: ListedPage;
  readonly first: number;
}

/** Calls `visit` for each transcript of the pages. A damaged one is logged and passed over. */
async function eachTranscript(
  work: Work,
  pages: readonly ListedPage[],
  visit: (ends: Ends) => Promise<void>,
): Promise<void> {
  const ends = new Map<TranscriptId, Ends>();
  for (const page of pages) {
    ends.set(page.transcript, { last: page, first: ends.get(page.transcript)?.first ?? page.number });
  }
  const visitOne = (each: Ends): Promise<void> =>
    unlessDamaged(visit(each), ({ code }) =>
      work.tenant.logger.error('a session could not be read', { code }),
    );
  await eachConcurrently(work.tenant, [...ends.values()], visitOne, ({ last }) => last.object.size);
}

/**
 * Deletes pages until a listing shows none: lines that are appended meanwhile go, too. Subagents go before the session
 * that tells of them.
 */
async function removePages(work: Work, key: SessionKey): Promise<void> {
  const { names } = work.keyring;
  const part = key.subpath === undefined ? sessionPart(names, key) : transcriptId(names, key);
  await untilDone(work, async () => {
    const listed = await listPages(work, part);
    if (listed.length === 0) return undefined;
    // The last page goes first, so that a delete that is cut off leaves the beginning of the transcript.
    const [mains, subs] = [listed.filter(({ isMain }) => isMain), listed.filter(({ isMain }) => !isMain)];
    for (const group of [subs, mains.toReversed()]) await removeListed(work, group);
    return 'again';
  });
}

async function removeListed(work: Work, pages: readonly ListedPage[]): Promise<void> {
  const { signal } = work.call;
  for (let start = 0; start < pages.length; start += KEYS_PER_REQUEST) {
    const batch = pages.slice(start, start + KEYS_PER_REQUEST);
    const targets = batch.map(({ object: { key, etag } }) => ({ key, ifMatch: etag }));
    for (const failure of await deleteObjects(work, targets, { signal })) {
      // A page that has changed, or may be gone, is listed once more.
      if ('error' in failure && !hasCode(failure.error, 'outcome_unknown')) throw failure.error;
    }
  }
}
