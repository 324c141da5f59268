import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** What came back for one tool call. */
export interface ToolResult {
  readonly content: unknown;
  readonly is_error?: boolean;
}

export interface ScriptedMessages extends AsyncDisposable {
  /** Base URL for the SDK's client. */
  readonly url: string;
  /** The results of every assistant turn so far, in the order of its calls. */
  readonly results: readonly (readonly ToolResult[])[];
}

/**
 * The Messages API on a free port of 127.0.0.1, with an assistant that calls the memory tool: `turns` holds the
 * inputs of each of its turns, all calls of one turn made at once. After the last it ends its turn.
 */
export async function startScriptedMessages(
  turns: readonly (readonly unknown[])[],
): Promise<ScriptedMessages> {
  const results: (readonly ToolResult[])[] = [];
  let replies = 0;
  const reply = (): object => {
    const calls = turns[replies++] ?? [];
    const content = calls.map((input, i) => ({
      type: 'tool_use',
      id: `toolu_${replies}_${i}`,
      name: 'memory',
      input,
    }));
    return {
      id: `msg_${replies}`,
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content: calls.length > 0 ? content : [{ type: 'text', text: 'Done.' }],
      stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    };
  };
  const server = createServer(async (request, response) => {
    const { messages } = JSON.parse(await readText(request)) as {
      readonly messages: readonly { readonly content: string | readonly ToolResult[] }[];
    };
    const last = messages.at(-1)?.content;
    if (replies > 0 && Array.isArray(last)) results.push(last as readonly ToolResult[]);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply()));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    results,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
