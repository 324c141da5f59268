import { MemoryError } from '../../errors.ts';
import { type Invocation, wrongCall } from './invocation.ts';

/** The options that answer in advance: `dryRun` writes nothing, `yes` writes without asking. */
export interface Consent {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface Question {
  /** The words before the question. */
  readonly warning?: string;
  /** The words of the refusal where no person can be asked. */
  readonly refusal?: string;
}

/** Asks before anything is changed. @throws MemoryError as `wrongCall`, for another answer, and without a terminal. */
export async function requireYes(
  invocation: Pick<Invocation, 'terminal' | 'signal'>,
  { warning = '', refusal = 'this is the plan alone: give --yes to write it' }: Question = {},
): Promise<void> {
  const { terminal } = invocation;
  if (!terminal.isInteractive || !terminal.isForEyes) {
    throw wrongCall(`${refusal}; nothing was changed`);
  }
  if ((await answerTo(`${warning}Type yes to go on: `, invocation)) !== 'yes') {
    throw wrongCall('that is not yes; nothing was changed');
  }
}

/** Asks a person and returns the answer. @throws MemoryError `aborted` at Ctrl-C, which is no answer. */
export async function answerTo(
  question: string,
  { terminal, signal }: Pick<Invocation, 'terminal' | 'signal'>,
): Promise<string> {
  await terminal.out(question);
  const answer = await readLine(terminal.stdin).catch((error: unknown) => {
    if (signal.aborted) return '';
    throw error;
  });
  if (!signal.aborted) return answer;
  await terminal.out('\n');
  throw new MemoryError('aborted', 'The question was not answered.');
}

/** Reads what a person types up to the end of the line. */
async function readLine(stdin: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of stdin) {
    text += decoder.decode(bytes, { stream: true });
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end).trim();
  }
  return text.trim();
}
