import type { Costed, ErrorLine } from '../../protocol.ts';
import { countAnswer } from './spent.ts';

/** What the server answered instead of a result. */
export class Refused extends Error {
  readonly code: string;
  constructor({ error: { code, message } }: ErrorLine) {
    super(message);
    this.code = code;
  }
}

/** The server does not know this browser, or is gone. */
export const LOCKED = 'locked';
export const GONE = 'gone';

/** Explains the status with which the server refuses a question unread. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [413, 'That is more than the page can send at once. Nothing was changed.'],
  [503, 'The program that shows this page has too much to do. Nothing was changed; try again.'],
]);

interface AskOptions {
  readonly signal?: AbortSignal;
  /** Sees every line before the last one. */
  readonly onLine?: (line: unknown) => void;
}

/** Asks the server a question, and counts what the answer cost. @throws Refused. */
export async function ask<T>(
  name: string,
  input: Readonly<Record<string, unknown>>,
  { signal, onLine }: AskOptions = {},
): Promise<T> {
  const response = await post(`/api/${name}`, input, signal);
  if (response.status === 401) throw new Refused({ error: { code: LOCKED, message: 'Not signed in.' } });
  const refused = REFUSED.get(response.status);
  if (refused !== undefined) throw new Refused({ error: { code: 'limit_exceeded', message: refused } });
  if (!response.ok || response.body === null) throw gone();
  let last: unknown;
  for await (const line of linesOf(response.body, signal)) {
    if (last !== undefined) onLine?.(last);
    last = JSON.parse(line);
  }
  if (isError(last)) throw new Refused(last);
  if (last === undefined) throw gone();
  if (isCosted(last)) countAnswer(last.requests);
  return last as T;
}

/** Follows what never ends: every line at once. @throws Refused when it ends after all. */
export async function follow(
  name: string,
  onLine: (line: unknown) => void,
  signal: AbortSignal,
): Promise<never> {
  const response = await post(`/api/${name}`, {}, signal);
  if (response.status === 401) throw new Refused({ error: { code: LOCKED, message: 'Not signed in.' } });
  if (!response.ok || response.body === null) throw gone();
  for await (const text of linesOf(response.body, signal)) {
    const line: unknown = JSON.parse(text);
    if (isError(line)) throw new Refused(line);
    onLine(line);
  }
  throw gone();
}

/** Whether the token was taken. */
export async function exchange(token: string): Promise<boolean> {
  return (await post('/session', { token })).ok;
}

async function post(url: string, input: object, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw gone();
  }
}

async function* linesOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read().catch((error: unknown) => {
        throw signal?.aborted ? error : gone();
      });
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function gone(): Refused {
  return new Refused({
    error: { code: GONE, message: 'The program that shows this page has ended, or cannot be reached.' },
  });
}

function isError(line: unknown): line is ErrorLine {
  return typeof line === 'object' && line !== null && 'error' in line;
}

function isCosted(line: unknown): line is Costed {
  return typeof line === 'object' && line !== null && 'requests' in line;
}
