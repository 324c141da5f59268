import { randomUUID } from 'node:crypto';
import {
  type McpServerFactory,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** The most sessions at once, as some clients never end theirs: the one that began first is ended for a new one. */
const MAX_SESSIONS = 64;
const SESSION_HEADER = 'mcp-session-id';

/** The JSON that came with a request. */
export interface ParsedBody {
  readonly parsedBody: unknown;
}

interface McpSessions {
  fetch(request: Request, body?: ParsedBody): Promise<Response>;
  /** Ends every session; what is still running is cancelled. */
  close(): Promise<void>;
}

/**
 * Serves clients of the protocol before 2026-07-28 over HTTP. Each has a session, without which a message that cancels
 * a request could not be told from another client's.
 */
export function createSessions(factory: McpServerFactory): McpSessions {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  const begin = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      async onsessioninitialized(id) {
        const [oldest] = sessions.values();
        if (oldest !== undefined && sessions.size >= MAX_SESSIONS) await oldest.close();
        sessions.set(id, transport);
      },
    });
    const server = await factory({ era: 'legacy' });
    await server.connect(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
      onclose?.();
    };
    return transport;
  };

  return {
    async fetch(request, body) {
      const id = request.headers.get(SESSION_HEADER);
      const transport = id === null ? await begin() : sessions.get(id);
      if (transport !== undefined) return transport.handleRequest(request, body);
      const error = { code: -32_001, message: 'There is no such session: begin another one.' };
      return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 404 });
    },
    async close() {
      await Promise.all([...sessions.values()].map((transport) => transport.close()));
    },
  };
}
