import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A call of a function, or the words that end the turn. */
type Output = { readonly name: string; readonly arguments: object } | { readonly say: string };

export interface ScriptedResponses extends AsyncDisposable {
  /** Base URL for OpenAI's client. */
  readonly url: string;
  /** The bodies of the requests. */
  readonly sent: readonly Readonly<Record<string, unknown>>[];
}

/**
 * OpenAI's Responses API on a free port of 127.0.0.1: it answers with one list of outputs after the other. As strict as
 * the API where tools can go wrong: a schema in strict mode names every field as required and allows no others, and
 * each call has its output, a text or parts.
 */
export async function startScriptedResponses(
  script: readonly (readonly Output[])[],
): Promise<ScriptedResponses> {
  const sent: Readonly<Record<string, unknown>>[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    sent.push(body);
    const complaint = complaintOf(request.method, request.url, body);
    response.writeHead(complaint ? 400 : 200, { 'content-type': 'application/json' });
    const answer = complaint
      ? { error: { type: 'invalid_request_error', message: complaint, code: null, param: null } }
      : responseOf(sent.length, script[sent.length - 1] ?? []);
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Item {
  readonly type?: string;
  readonly call_id?: string;
  readonly output?: string | readonly { readonly type: string; readonly image_url?: string }[];
}

interface Body {
  readonly input: readonly Item[];
  readonly tools: readonly {
    readonly type: string;
    readonly name: string;
    readonly strict: boolean;
    readonly parameters: {
      readonly properties: Readonly<Record<string, object>>;
      readonly required: readonly string[];
      readonly additionalProperties: unknown;
    };
  }[];
}

function complaintOf(method: string | undefined, url: string | undefined, body: Body): string | undefined {
  if (method !== 'POST' || url !== '/v1/responses') return `Invalid URL (${method} ${url})`;
  for (const { type, name, strict, parameters } of body.tools) {
    if (type !== 'function' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return `Invalid tool ${name}`;
    const { properties, required, additionalProperties } = parameters;
    const isClosed = additionalProperties === false && required.length === Object.keys(properties).length;
    if (strict && !isClosed)
      return `Invalid schema for function '${name}': not closed, as strict mode wants it`;
  }
  const calls = body.input.filter(({ type }) => type === 'function_call').map((item) => item.call_id);
  const outputs = body.input.filter(({ type }) => type === 'function_call_output');
  const missing = calls.find((id) => outputs.filter((item) => item.call_id === id).length !== 1);
  if (missing !== undefined) return `No tool output found for function call ${missing}.`;
  const parts = outputs.flatMap(({ output }) =>
    typeof output === 'string' ? [] : (output ?? [{ type: '' }]),
  );
  const isPart = ({ type, image_url: url = '' }: (typeof parts)[number]): boolean =>
    type === 'input_text' || (type === 'input_image' && /^data:image\/[a-z]+;base64,[\w+/=]+$/.test(url));
  return parts.every(isPart) ? undefined : 'Invalid value in the output of a function call';
}

function responseOf(n: number, outputs: readonly Output[]): object {
  const output = outputs.map((each, i) =>
    'say' in each
      ? {
          type: 'message',
          id: `msg_${n}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: each.say, annotations: [] }],
        }
      : {
          type: 'function_call',
          id: `fc_${n}_${i}`,
          call_id: `call_${n}_${i}`,
          name: each.name,
          arguments: JSON.stringify(each.arguments),
          status: 'completed',
        },
  );
  return {
    id: `resp_${n}`,
    object: 'response',
    created_at: 0,
    status: 'completed',
    model: 'scripted',
    output,
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  };
}
