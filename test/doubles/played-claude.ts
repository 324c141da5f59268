import type { IncomingHttpHeaders } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import type { ScriptedPart } from '../../src/testing/claude/reply.ts';
import type {
  ScriptedClaudeOptions,
  ScriptedFault,
  ScriptedScene,
} from '../../src/testing/claude/scripted-claude.ts';

/** What Claude does in one request: a part, a fault, a refusal to throw, or what makes one of the scene. */
export type Played =
  | ScriptedPart
  | ScriptedFault
  | Error
  | ((scene: ScriptedScene) => ScriptedPart | ScriptedFault | Promise<ScriptedPart | ScriptedFault>);

/** One request as it was sent. */
export interface Sent {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>> & { readonly messages: readonly unknown[] };
}

export interface PlayedClaude extends AsyncDisposable {
  readonly url: string;
  /** The SDK's own client; it repeats nothing unless told so. */
  client(options?: { readonly maxRetries?: number }): Anthropic;
  readonly sent: readonly Sent[];
  /** What Claude was shown in each request that was taken. */
  readonly scenes: readonly ScriptedScene[];
}

/** A Claude that plays its parts one after the other, a request each, and has nothing to say after the last. */
export async function playClaude(
  parts: readonly Played[],
  options: Pick<ScriptedClaudeOptions, 'summarise' | 'lacks'> = {},
): Promise<PlayedClaude> {
  const sent: Sent[] = [];
  const scenes: ScriptedScene[] = [];
  const claude = await startScriptedClaude({
    ...options,
    onRequest: ({ headers, body }) => sent.push({ headers, body: JSON.parse(body) as Sent['body'] }),
    play(scene) {
      const part = parts[scenes.push(scene) - 1] ?? new Error('The script is at its end.');
      if (part instanceof Error) throw part;
      return typeof part === 'function' ? part(scene) : part;
    },
  });
  return {
    url: claude.url,
    client: ({ maxRetries = 0 } = {}) => new Anthropic({ apiKey: 'none', baseURL: claude.url, maxRetries }),
    sent,
    scenes,
    [Symbol.asyncDispose]: () => claude[Symbol.asyncDispose](),
  };
}

/** A part in which Claude sends memory commands, all at once. */
export function commands(...inputs: readonly unknown[]): ScriptedPart {
  return { calls: inputs.map((input) => ({ name: 'memory', input })) };
}

/** The results in the last message Claude was shown. */
export function lastResults({
  messages,
}: ScriptedScene): readonly { readonly text: string; readonly isError: boolean }[] {
  return (messages.at(-1)?.content ?? []).flatMap((block) =>
    block.type === 'tool_result' ? [{ text: block.text, isError: block.isError }] : [],
  );
}
