import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../src/open/options/environment.ts';
import type { ConversationReport } from './conversation.ts';
import type { ConversationName } from './script.ts';

const CONVERSATION = fileURLToPath(new URL('conversation.ts', import.meta.url));

/**
 * Runs one conversation in a new process that prints to this one's output. Undefined when it failed and said why, or
 * was stopped by `signal`.
 */
export function runConversation(
  name: ConversationName,
  options: { readonly env: Environment; readonly signal: AbortSignal },
): Promise<ConversationReport | undefined> {
  if (options.signal.aborted) return Promise.resolve(undefined);
  const child = spawn(process.execPath, [CONVERSATION, name], {
    env: options.env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const stop = () => child.kill();
  options.signal.addEventListener('abort', stop);
  return new Promise((resolve, reject) => {
    let report: ConversationReport | undefined;
    child.once('error', reject);
    child.once('message', (message) => {
      report = message as ConversationReport;
    });
    child.once('close', (code, killedBy) => {
      options.signal.removeEventListener('abort', stop);
      if (killedBy && !options.signal.aborted) {
        reject(new Error(`Conversation ${name} was ended by ${killedBy}.`));
      }
      resolve(code === 0 ? report : undefined);
    });
  });
}

/** In a conversation: no longer than the process that started it. */
export function exitWithParent(): void {
  process.once('disconnect', () => process.exit(1));
  process.channel?.unref();
  quitQuietlyWithoutReader();
}

/** Ends without a stack trace when the output is a pipe that is not read any more. */
export function quitQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(1);
    throw error;
  });
}

/** One sentence, and exit code 1. */
export function fail(error: unknown): void {
  const sentence = error instanceof Error ? error.message : String(error);
  process.stderr.write(`demo: ${sentence.replaceAll(/\s+/g, ' ')}\n`);
  process.exitCode = 1;
}
