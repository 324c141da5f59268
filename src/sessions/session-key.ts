import { MemoryError } from '../errors.ts';
import type { Names } from '../format/names.ts';

/** The name of one transcript of an agent: texts of the caller's, 1–1,024 characters each. */
export interface SessionKey {
  /** The caller's scope within the tenant, such as a project. */
  readonly projectKey: string;
  readonly sessionId: string;
  /** The transcript of a subagent; absent for the session's main transcript. */
  readonly subpath?: string | undefined;
}

/**
 * The beginning of the ids of a transcript's pages: keyed hashes, so that only the tenant's name key lets somebody
 * guess a name.
 */
export type TranscriptId = string & { readonly __brand: 'TranscriptId' };

export const CLASS = 'sessions';

const MOST_CHARACTERS = 1_024;
const PROJECT = 16;
const SESSION = 22;
const SUBPATH = 16;
const DIGITS = 8;
/** The number of pages that have ids. */
const MOST_PAGES = 10 ** DIGITS;
const MAIN = 'm';
const SUB = 's';
const PAGE = /^([\w-]{38}(?:m|s[\w-]{16}))(\d{8})$/;

/**
 * Copies the fields of a key.
 *
 * @throws MemoryError `invalid_command` for anything that is no key.
 */
export function parseSessionKey(key: unknown): SessionKey {
  if (typeof key !== 'object' || key === null) throw refused('The key of a session must be an object.');
  const { projectKey, sessionId, subpath } = key as Readonly<Record<string, unknown>>;
  return {
    projectKey: nameOf(projectKey, 'projectKey'),
    sessionId: nameOf(sessionId, 'sessionId'),
    ...(subpath !== undefined && { subpath: nameOf(subpath, 'subpath') }),
  };
}

export function parseProjectKey(projectKey: unknown): string {
  return nameOf(projectKey, 'projectKey');
}

function nameOf(name: unknown, field: string): string {
  const isName = typeof name === 'string' && name.length >= 1 && name.length <= MOST_CHARACTERS;
  if (isName && name.isWellFormed()) return name;
  throw refused(`${field} must be a text of 1 to ${MOST_CHARACTERS} characters.`);
}

function refused(message: string): MemoryError {
  return new MemoryError('invalid_command', message);
}

/** Makes the beginning of the ids of all pages of a project. */
export function projectPart(names: Names, projectKey: string): string {
  return names.keyedHash(CLASS, JSON.stringify([projectKey])).slice(0, PROJECT);
}

/** Makes the beginning of the ids of all pages of a session, those of its subagents too. */
export function sessionPart(names: Names, { projectKey, sessionId }: SessionKey): string {
  const session = names.keyedHash(CLASS, JSON.stringify([projectKey, sessionId])).slice(0, SESSION);
  return `${projectPart(names, projectKey)}${session}`;
}

/** Makes the beginning of the ids of the pages of a session's subagents. */
export function subagentsPart(names: Names, key: SessionKey): string {
  return `${sessionPart(names, key)}${SUB}`;
}

export function transcriptId(names: Names, key: SessionKey): TranscriptId {
  const { projectKey, sessionId, subpath } = key;
  const session = sessionPart(names, key);
  if (subpath === undefined) return `${session}${MAIN}` as TranscriptId;
  const sub = names.keyedHash(CLASS, JSON.stringify([projectKey, sessionId, subpath])).slice(0, SUBPATH);
  return `${session}${SUB}${sub}` as TranscriptId;
}

/**
 * Makes the id of a page.
 *
 * @throws MemoryError `limit_exceeded` where the transcript has no room for a further page.
 */
export function pageId(transcript: TranscriptId, number: number): string {
  if (number < MOST_PAGES) return `${transcript}${String(number).padStart(DIGITS, '0')}`;
  throw new MemoryError('limit_exceeded', 'The transcript of a session is as long as it can be.', {
    details: { limit: 'session_pages', value: number + 1, max: MOST_PAGES },
  });
}

interface PageName {
  readonly transcript: TranscriptId;
  readonly number: number;
  /** The part that all transcripts of a session share. */
  readonly session: string;
  readonly isMain: boolean;
}

/** Parses the id of a page; undefined for any other id. */
export function parsePageId(id: string): PageName | undefined {
  const [, transcript, digits] = PAGE.exec(id) ?? [];
  if (transcript === undefined || digits === undefined) return undefined;
  return {
    transcript: transcript as TranscriptId,
    number: Number(digits),
    session: transcript.slice(0, PROJECT + SESSION),
    isMain: transcript.length === PROJECT + SESSION + 1,
  };
}
