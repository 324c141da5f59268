import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type { BetaMessage, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { loadToolError, type ToolErrorClass } from '../tool/memory-tool.ts';

/**
 * What a turn needs of a client: the tool runner of its beta messages. Clients of Anthropic's API, Bedrock and Vertex
 * have it; batches, token counting, files and server-held message threads are not used.
 */
export interface MessagesClient {
  readonly beta: {
    readonly messages: {
      toolRunner(
        params: BetaToolRunnerParams & { readonly stream: true },
        options?: { readonly signal?: AbortSignal | null },
      ): TurnRunner;
    };
  };
}

/** The conversation loop of the SDK, as far as a turn drives it. */
export interface TurnRunner extends AsyncIterable<ReplyStream> {
  readonly params: { readonly messages: readonly BetaMessageParam[] };
  /** Runs the tools that the current reply calls, once. */
  generateToolResponse(): Promise<unknown>;
}

/** One streamed reply. */
export interface ReplyStream {
  on(event: 'connect', listener: () => void): unknown;
  finalMessage(): Promise<BetaMessage>;
}

/**
 * The class whose instances the client's runner hands to the model as they are. It matches by `instanceof`, and a
 * client may bring its own copy of the SDK, so the copy is asked first.
 */
export async function toolErrorOf(client: MessagesClient): Promise<ToolErrorClass> {
  const { ToolError: own } = client.beta.messages.constructor as { readonly ToolError?: ToolErrorClass };
  return own ?? loadToolError();
}
