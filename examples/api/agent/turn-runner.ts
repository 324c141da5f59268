import type { MessagesClient, ReplyStream, TurnRunner } from 'sealed-memory/agent';

/** Wraps a client so that it tells how often it begins a conversation with Claude. */
export function counted(client: MessagesClient, began: (runner: TurnRunner) => void): MessagesClient {
  const toolRunner: MessagesClient['beta']['messages']['toolRunner'] = (params, options) => {
    const runner: TurnRunner = client.beta.messages.toolRunner(params, options);
    began(runner);
    return runner;
  };
  return { beta: { messages: { toolRunner } } };
}

/** Hears the words of a reply as they arrive. */
export function listen(reply: ReplyStream, write: (text: string) => void): Promise<unknown> {
  reply.on('text', write);
  return reply.finalMessage();
}
