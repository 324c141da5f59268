import { type ScriptedClaude, startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';

/** What came back for one tool call. */
export interface ToolResult {
  readonly content: unknown;
  readonly is_error?: boolean;
}

export interface ScriptedMessages extends ScriptedClaude {
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
  let sent = '';
  const claude = await startScriptedClaude({
    onRequest: ({ body }) => {
      sent = body;
    },
    play() {
      const { messages } = JSON.parse(sent) as {
        readonly messages: readonly { readonly content: string | readonly ToolResult[] }[];
      };
      const last = messages.at(-1)?.content;
      if (replies > 0 && typeof last === 'object') results.push(last);
      const calls = (turns[replies++] ?? []).map((input) => ({ name: 'memory', input }));
      return calls.length > 0 ? { calls } : { say: 'Done.' };
    },
  });
  return { url: claude.url, results, [Symbol.asyncDispose]: () => claude[Symbol.asyncDispose]() };
}
