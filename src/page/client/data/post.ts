import { type ErrorLine, PLACES, type QuestionName } from '../../protocol.ts';

/** A question that got no result, and why. */
export class QuestionRefused extends Error {
  readonly code: string;
  constructor({ code, message }: ErrorLine['error']) {
    super(message);
    this.code = code;
  }
}

/** The server is gone. */
export const GONE = 'gone';

/** Sends a question. @throws QuestionRefused when the server cannot be reached. */
export function postQuestion(name: QuestionName, input: object, signal?: AbortSignal): Promise<Response> {
  return post(PLACES.questions + name, input, signal);
}

/** Tells whether a fragment may be the token of a new address: those of places begin with `#/`. */
export function isToken(hash: string): boolean {
  return hash.length > 1 && !hash.startsWith('#/');
}

/** Exchanges the token of the address for the cookie; tells whether it was taken. */
export async function exchange(token: string): Promise<boolean> {
  return (await post(PLACES.session, { token })).ok;
}

/** A watch of the tree that the server was asked for, and of which nothing was read yet. */
export interface BegunWatch {
  readonly id: string;
  /** Ends it. */
  readonly ending: AbortController;
  readonly response: Promise<Response>;
}

export function beginWatch(ending = new AbortController()): BegunWatch {
  const id = crypto.randomUUID();
  const response = postQuestion('watch', { id }, ending.signal);
  // Whoever follows the watch hears of its failure.
  response.catch(() => {});
  return { id, ending, response };
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

export function gone(): QuestionRefused {
  return new QuestionRefused({
    code: GONE,
    message: 'The program that shows this page has ended, or cannot be reached.',
  });
}
