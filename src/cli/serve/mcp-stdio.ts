import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type McpServerFactory,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { decodeText } from '../../language/text.ts';
import { createUnread, type Line, MAX_LINE_BYTES, MAX_RUNNING, splitLines } from './lines.ts';

interface StdioOptions {
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when the line is written; rejects when the reader has closed the stream. */
  readonly write: (line: string) => Promise<void>;
  readonly factory: McpServerFactory;
  /** Hears why a message of the client was not taken. */
  readonly onRefused: (reason: string) => void;
  readonly maxLineBytes?: number | undefined;
}

/**
 * Serves one client over lines of JSON. Resolves at the end of the input, once every request was answered. Rejects when
 * the input fails or an answer cannot be written; requests that are still running are cancelled then.
 */
export async function serveLines(options: StdioOptions): Promise<void> {
  const { input, write, factory, onRefused, maxLineBytes = MAX_LINE_BYTES } = options;
  const unread = createUnread();
  const pending = createPending();
  const transport: Transport = {
    start: async () => {},
    close: async () => transport.onclose?.(),
    async send(message) {
      try {
        await write(serializeMessage(message));
      } catch (error) {
        unread.report(error);
        throw error;
      } finally {
        pending.answered(message);
      }
    },
  };
  const served = serveStdio(factory, { transport, onerror: ({ message }) => onRefused(message) });
  const lines = splitLines(input, maxLineBytes);
  try {
    for (;;) {
      const { value: line } = await unread.orThrow(lines.next());
      if (line === undefined) break;
      const message = parseLine(line);
      if (message === 'blank') continue;
      if ('refused' in message) {
        onRefused(message.refused.error.message);
        await write(`${JSON.stringify(message.refused)}\n`);
        continue;
      }
      pending.received(message);
      transport.onmessage?.(message);
      await unread.orThrow(pending.atMost(MAX_RUNNING));
    }
    await unread.orThrow(pending.atMost(0));
  } finally {
    await served.close();
  }
}

/** The requests that wait for their answer. */
interface Pending {
  received(message: JSONRPCMessage): void;
  answered(message: JSONRPCMessage): void;
  /** Resolves when no more than so many wait. */
  atMost(count: number): Promise<void>;
}

function createPending(): Pending {
  const ids = new Set<string | number>();
  let changed = Promise.withResolvers<void>();
  const remove = (id: string | number | undefined): void => {
    if (id === undefined || !ids.delete(id)) return;
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    received(message) {
      // A subscription is answered when the connection ends.
      if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') ids.add(message.id);
      // No answer follows to what was cancelled.
      if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
        remove(message.params?.['requestId'] as string | number | undefined);
      }
    },
    answered(message) {
      if ('id' in message && !('method' in message)) remove(message.id);
    },
    async atMost(count) {
      while (ids.size > count) await changed.promise;
    },
  };
}

/** An answer to a line that holds no request, which has no id to be told by unless it could be read. */
interface Refused {
  readonly refused: {
    readonly jsonrpc: '2.0';
    readonly id: string | number | null;
    readonly error: { readonly code: number; readonly message: string };
  };
}

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

function parseLine(line: Line): JSONRPCMessage | Refused | 'blank' {
  if (line === 'too_long') return refusal(INVALID_REQUEST, 'The message is too long.');
  const text = decodeText(line);
  if (text === undefined) return refusal(PARSE_ERROR, 'The message is not UTF-8.');
  if (/^[ \t\r]*$/.test(text)) return 'blank';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refusal(PARSE_ERROR, 'The message is not JSON.');
  }
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return refusal(INVALID_REQUEST, 'The message is no request of JSON-RPC.', idOf(value));
  }
}

function refusal(code: number, message: string, id: string | number | null = null): Refused {
  return { refused: { jsonrpc: '2.0', id, error: { code, message } } };
}

function idOf(value: unknown): string | number | null {
  const id: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'id') : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
