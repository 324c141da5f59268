import { ApiRefusal, type JsonObject, parseJson, record } from './api-refusal.ts';
import type { RequestContext } from './messages-request.ts';

const BEDROCK = /^\/model\/([^/]+)\/invoke(-with-response-stream)?$/;
const VERTEX =
  /^(?:\/v1)?\/projects\/[^/]+\/locations\/[^/]+\/publishers\/anthropic\/models\/([^/:]+):(streamRawPredict|rawPredict)$/;

/** Names of headers are in lower case. */
type SentHeaders = Readonly<Record<string, string>>;

/** A request as the API reads it, whichever path it came by. */
interface Arrived extends Pick<RequestContext, 'platform' | 'beta' | 'version'> {
  readonly body: JsonObject;
}

/**
 * Finds model, version and betas where they stand: in path and body on Bedrock ("Claude on Amazon Bedrock",
 * InvokeModel) and on Google Cloud ("Claude on Vertex AI", which takes betas in the header), in body and headers at the
 * API.
 *
 * Throws `ApiRefusal` for another path, and for a request without a key or a version.
 */
export function readRequest(
  { method, url, headers }: { readonly method: string; readonly url: string; readonly headers: SentHeaders },
  text: string,
): Arrived {
  const path = decodeURIComponent(new URL(url).pathname);
  const [, invoked, isStream] = BEDROCK.exec(path) ?? [];
  const [, predicted, verb] = VERTEX.exec(path) ?? [];
  if (method !== 'POST' || (path !== '/v1/messages' && invoked === undefined && predicted === undefined)) {
    throw new ApiRefusal('Not Found', { status: 404, type: 'not_found_error' });
  }
  if (invoked !== undefined) {
    if (!/^(AWS4-HMAC-SHA256|Bearer) \S/.test(headers['authorization'] ?? '')) throw unauthorised();
    const { anthropic_beta: betas, ...body } = inCloud(text, invoked);
    const beta = Array.isArray(betas) ? betas.join(',') : undefined;
    const stream = isStream !== undefined;
    return { platform: 'bedrock', beta, version: body['anthropic_version'], body: { ...body, stream } };
  }
  if (predicted !== undefined) {
    if (!/^Bearer \S/.test(headers['authorization'] ?? '')) throw unauthorised();
    const body = inCloud(text, predicted);
    const stream = verb === 'streamRawPredict';
    return {
      platform: 'vertex',
      beta: headers['anthropic-beta'],
      version: body['anthropic_version'],
      body: { ...body, stream },
    };
  }
  checkHeaders(headers);
  const version = headers['anthropic-version'];
  return { platform: 'api', beta: headers['anthropic-beta'], version, body: record(parseJson(text), 'body') };
}

function inCloud(text: string, model: string): JsonObject {
  const body = record(parseJson(text), 'body');
  if ('model' in body) throw new ApiRefusal('model: Extra inputs are not permitted');
  if (typeof body['anthropic_version'] !== 'string')
    throw new ApiRefusal('anthropic_version: Field required');
  return { ...body, model };
}

function checkHeaders(headers: SentHeaders): void {
  if (!headers['x-api-key'] && !/^Bearer \S/.test(headers['authorization'] ?? '')) throw unauthorised();
  if (!/^\d{4}-\d{2}-\d{2}$/.test(String(headers['anthropic-version']))) {
    throw new ApiRefusal('anthropic-version: header is required');
  }
}

function unauthorised(): ApiRefusal {
  return new ApiRefusal('x-api-key header is required', { status: 401, type: 'authentication_error' });
}
