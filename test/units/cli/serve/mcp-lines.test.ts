import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { serveLines } from '../../../../src/cli/serve/mcp-stdio.ts';

const encode = (message: object): Uint8Array =>
  new TextEncoder().encode(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const HELLO = encode({
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});
const CALL = encode({ id: 1, method: 'tools/call', params: { name: 'any', arguments: {} } });

/** A server whose one tool does what a test wants. */
const serverWith = (tool: (context: ServerContext) => Promise<void>) => (): McpServer => {
  const mcp = new McpServer({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  mcp.server.setRequestHandler('tools/call', async (_request, context) => {
    await tool(context);
    return { content: [] };
  });
  return mcp;
};

/** Writes to an array, as JSON. */
function collector() {
  const written: Readonly<Record<string, unknown>>[] = [];
  return { written, write: async (line: string) => void written.push(JSON.parse(line)) };
}
const onRefused = (): void => {};

describe('serveLines', () => {
  it('answers what still runs when the input ends', async () => {
    const { written, write } = collector();
    const [called, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* input() {
      yield HELLO;
      yield CALL;
      await called.promise;
      // The input has ended by then, and the call is running.
      setImmediate(() => setImmediate(ended.resolve));
    }
    const factory = serverWith(async () => {
      called.resolve();
      await ended.promise;
    });
    await serveLines({ input: input(), write, factory, onRefused });
    expect(written.map(({ id, error }) => [id, error])).toEqual([
      [0, undefined],
      [1, undefined],
    ]);
  });

  it('passes over a line that is too long, says so, and goes on', async () => {
    const { written, write } = collector();
    const refused: string[] = [];
    async function* input() {
      yield HELLO;
      yield encode({ id: 7, method: 'x'.repeat(1_000) });
      yield CALL;
    }
    await serveLines({
      input: input(),
      write,
      factory: serverWith(async () => {}),
      maxLineBytes: 500,
      onRefused: (reason) => void refused.push(reason),
    });
    expect(written.map(({ id }) => id).sort()).toEqual([0, 1, null]);
    expect(written).toContainEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32_600, message: 'The message is too long.' },
    });
    expect(refused).toEqual(['The message is too long.']);
  });

  it('rejects when an answer cannot be written, with the input still open, and cancels what runs', async () => {
    const [called, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* input() {
      yield CALL;
      await called.promise;
      yield HELLO;
      await new Promise(() => {});
    }
    const factory = serverWith(async ({ mcpReq: { signal } }) => {
      signal.addEventListener('abort', () => cancelled.resolve());
      called.resolve();
      await cancelled.promise;
    });
    const write = async (): Promise<void> => {
      throw new Error('the reader is gone');
    };
    await expect(serveLines({ input: input(), write, factory, onRefused })).rejects.toThrow(
      'the reader is gone',
    );
    await cancelled.promise;
  });
});
