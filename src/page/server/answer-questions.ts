import { isForTheOperator, MemoryError } from '../../errors.ts';
import { failureSentence } from '../../language/sentences.ts';
import { countFor, createCounts } from '../../tool/call-counts.ts';
import type { Progress } from '../../tree/tenant.ts';
import type { ErrorLine, LineOf, QuestionName, ResultOf } from '../protocol.ts';
import { type FieldsOf, type GivenFields, readFields } from './read-fields.ts';

/** The means of answering, besides the fields of the question. */
export interface Asking<L = unknown> {
  /** Fires when the page no longer waits, and when the server stops. */
  readonly signal: AbortSignal;
  /** Sends a line before the result. Resolves when there is room for the next one. */
  send(line: L): Promise<void>;
}

/** The questions that the page may ask, by name. Each resolves to the last line. */
export type Questions = Readonly<Record<string, (given: GivenFields, asking: Asking) => Promise<object>>>;

/** The subject of a page: a memory, or an export. */
export interface PageView extends AsyncDisposable {
  readonly questions: Questions;
  /** The most bytes of one question. */
  readonly maxQuestionBytes: number;
}

/** The longest question that writes nothing. */
export const QUESTION_BYTES = 65_536;

/** Answers one question, whose fields were read. */
type Answerer<N extends QuestionName> = (
  fields: FieldsOf<N>,
  asking: Asking<LineOf<N>>,
) => Promise<ResultOf<N>>;

/** Functions that answer the questions of the protocol, or some of them. */
export type Answerers = { readonly [N in QuestionName]?: Answerer<N> };

/** Makes the questions: each reads its fields, and tells beside its result how many requests it took. */
export function questionsOf(answerers: Answerers): Questions {
  const names = Object.keys(answerers) as readonly QuestionName[];
  return Object.fromEntries(names.map((name) => [name, questionOf(name, answerers[name])]));
}

function questionOf<N extends QuestionName>(name: N, answer: Answerers[N]): Questions[string] {
  return async (given, asking) => {
    const counts = createCounts();
    const result = await countFor(counts, async () => answer?.(readFields(name, given), asking));
    return { ...result, requests: counts.requests };
  };
}

const PROGRESS_PAUSE_MS = 100;

/** Tells now and then how far work is; a page that reads slowly is not waited for. */
export function progressTo({ send }: Asking<Progress>): (progress: Progress) => void {
  let toldAt = 0;
  return ({ done, total }) => {
    const now = performance.now();
    if (now - toldAt < PROGRESS_PAUSE_MS) return;
    toldAt = now;
    send({ done, total }).catch(() => {});
  };
}

/** Says for the person at the page why a question failed. */
export function failureLine(error: unknown, name: string, given: GivenFields): ErrorLine {
  if (!(error instanceof MemoryError)) {
    return { error: { code: 'unexpected', message: 'The page met a failure that it does not know.' } };
  }
  const message = isForTheOperator(error)
    ? error.message
    : (pageSentence(error, name, given) ?? toolSentence(error, name, given));
  return { error: { code: error.code, message } };
}

/** Words a failure for a person; undefined where the sentence for the model fits a person as well. */
function pageSentence(
  { code, message, details }: MemoryError,
  name: string,
  { path, to, version }: GivenFields,
): string | undefined {
  const target = String(to ?? path);
  switch (code) {
    case 'invalid_command':
      // A command that cannot be done to what it names has a reason; all else is said of the question itself.
      return (details['problem'] ?? details['reason']) === undefined ? message : undefined;
    case 'not_found':
      if (details['reason'] === 'redacted') return 'The text of this version was taken out for good.';
      return name === 'version' || name === 'restore'
        ? `This version of ${String(path)} is not kept any more.`
        : `There is nothing at ${String(path)} any more.`;
    case 'already_exists':
      return details['reason'] === 'below_file'
        ? `Nothing was written: a part of ${target} is a file, and a file holds no others.`
        : `Nothing was written: ${target} already exists.`;
    case 'is_directory':
      return `Nothing was written: ${target} is a directory.`;
    case 'version_conflict':
      if (path === undefined) return message;
      if (name === 'writeNewest') return 'Nothing was written: others were faster each time. Try again.';
      return details['reason'] === undefined && version !== undefined
        ? `Nothing was written: ${String(path)} was changed by another writer since it was shown.`
        : undefined;
    case 'read_only':
      return 'Nothing was written: this memory can be read only.';
    case 'aborted':
      return 'This was cancelled.';
    default:
      return undefined;
  }
}

/** The command of the tool that is nearest to a question, where that is not `view`. */
const COMMANDS: Readonly<Record<string, string>> = {
  write: 'create',
  restore: 'create',
  remove: 'delete',
  rename: 'rename',
};

/** Makes the sentence of the command that is nearest to the question. */
function toolSentence(error: MemoryError, name: string, { path, to }: GivenFields): string {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : 'view';
  const input = command === 'rename' ? { command, old_path: path, new_path: to } : { command, path };
  return failureSentence({ error, input, wording: 'doc' }).replace(/^Error: /, '');
}
