// Replies of the worker (mode `inline`) become messages in the thread that asked.
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';

export interface SlackRepliesOptions {
  readonly botToken: (tenant: string) => Promise<string>;
  /** Hears what Slack refused, by its code; such a reply stays in the queue. */
  readonly onRefusal: (code: string) => void;
  /** Slack's address; tests give another one. */
  readonly origin?: string;
}

/** A reply of the worker, as far as it matters here. */
interface Reply {
  readonly tenant: string;
  readonly turn: string;
  readonly outcome: string;
  readonly text?: string;
}

/** The most characters of one message. */
const MOST_CHARACTERS = 40_000;
const WITHIN_MS = 10_000;

/** Makes the handler of the queue of replies; the event source must have `ReportBatchItemFailures`. */
export function createSlackReplies(
  options: SlackRepliesOptions,
): (event: SQSEvent) => Promise<SQSBatchResponse> {
  return async ({ Records }) => {
    const batchItemFailures: { itemIdentifier: string }[] = [];
    for (const { messageId, body } of Records) {
      const code = await post(options, JSON.parse(body)).catch(() => 'unreachable');
      if (code === undefined) continue;
      options.onRefusal(code);
      batchItemFailures.push({ itemIdentifier: messageId });
    }
    return { batchItemFailures };
  };
}

/** Posts an answer, and tells Slack's code where it is refused. A turn of another sender's is passed over. */
async function post(
  { botToken, origin = 'https://slack.com' }: SlackRepliesOptions,
  { tenant, turn, outcome, text }: Reply,
): Promise<string | undefined> {
  const [, channel, thread_ts] = /^slack\/\w+\/(\w+)\/([\d.]+)$/.exec(turn) ?? [];
  if (channel === undefined) return undefined;
  const response = await fetch(`${origin}/api/chat.postMessage`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await botToken(tenant)}`,
      'content-type': 'application/json; charset=utf-8',
    },
    body: JSON.stringify({ channel, thread_ts, text: plain(text || `I have no answer (${outcome}).`) }),
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  if (!response.ok) return `http_${response.status}`;
  const { ok, error } = (await response.json()) as { readonly ok: boolean; readonly error?: string };
  return ok ? undefined : String(error);
}

/** The words without Slack's control sequences: no text of a model calls a whole channel (`<!channel>`). */
function plain(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.length <= MOST_CHARACTERS ? escaped : `${escaped.slice(0, MOST_CHARACTERS - 1)}…`;
}
