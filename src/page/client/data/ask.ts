import {
  type Costed,
  costed,
  errorLine,
  type InputOf,
  type LineOf,
  QUESTIONS,
  type QuestionName,
  type ResultOf,
  type TreeChange,
} from '../../protocol.ts';
import type { Shape } from '../../shapes.ts';
import { type BegunWatch, gone, postQuestion, QuestionRefused } from './post.ts';
import { countAnswer } from './spent.ts';

/** The refusal of a server that does not know this browser. */
export const LOCKED = 'locked';

/** Explains the status with which the server refuses a question unread. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [413, 'Nothing was changed: that is more than the page can send at once.'],
  [503, 'Nothing was changed: the program that shows this page has too much to do. Try again.'],
]);

/** Explains the status with which the server refuses a watch, which the page asks for again. */
const WATCH_REFUSED: ReadonlyMap<number, string> = new Map([
  [503, 'The program that shows this page has too much to do.'],
]);

/** The shapes of the lines and the result of a question. */
interface AnswerShapes<N extends QuestionName> {
  readonly line?: Shape<LineOf<N>>;
  readonly result?: Shape<ResultOf<N>>;
}

const SHAPES: { readonly [N in QuestionName]: AnswerShapes<N> } = QUESTIONS;

interface AskOptions<L> {
  readonly signal?: AbortSignal;
  /** Hears every line before the last one. */
  readonly onLine?: (line: L) => void;
}

/**
 * Asks the server a question, and counts what the answer cost.
 *
 * @throws QuestionRefused, also for an answer that the protocol does not have.
 */
export async function ask<N extends QuestionName>(
  name: N,
  input: InputOf<N>,
  { signal, onLine }: AskOptions<LineOf<N>> = {},
): Promise<ResultOf<N> & Costed> {
  const { line: shape, result } = SHAPES[name];
  const body = await bodyOf(postQuestion(name, input, signal), REFUSED);
  let last: unknown;
  for await (const line of linesOf(body, signal)) {
    if (last !== undefined) onLine?.(checked(last, shape));
    last = line;
  }
  if (last === undefined) throw gone();
  const { requests } = checked(last, costed);
  countAnswer(requests);
  return { ...checked(last, result), requests };
}

/** Yields what a watch tells, without an end. @throws QuestionRefused when it ends after all. */
export async function* changesOf({ response: asked, ending }: BegunWatch): AsyncGenerator<TreeChange, never> {
  const body = await bodyOf(asked, WATCH_REFUSED);
  for await (const line of linesOf(body, ending.signal)) yield checked(line, QUESTIONS.watch.line);
  throw gone();
}

/** Answers the body of an answer. @throws QuestionRefused for a refusal; `refused` explains some by their status. */
async function bodyOf(
  asked: Promise<Response>,
  refused: ReadonlyMap<number, string>,
): Promise<ReadableStream<Uint8Array>> {
  const { status, ok, body } = await asked;
  if (status === 401) throw new QuestionRefused({ code: LOCKED, message: 'Not signed in.' });
  const message = refused.get(status);
  if (message !== undefined) throw new QuestionRefused({ code: 'limit_exceeded', message });
  if (!ok || body === null) throw gone();
  return body;
}

/** Passes on a line that has the shape. @throws QuestionRefused for any other. */
function checked<T>(line: unknown, shape: Shape<T> | undefined): T {
  if (errorLine(line)) throw new QuestionRefused(line.error);
  if (shape?.(line)) return line;
  const message = 'The program that shows this page gave an answer that the page does not understand.';
  throw new QuestionRefused({ code: 'not_understood', message });
}

/** Reads JSON line by line. */
async function* linesOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown, void> {
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
      yield* lines.map(parsed);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Parses a line; null for a text that is no JSON, as no line of the protocol is null. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
