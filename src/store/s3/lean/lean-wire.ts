import { watchOf } from '../attempts.ts';
import { readBody } from '../body.ts';
import type { S3ConnectionOptions, S3Connections } from '../connection.ts';
import type { HttpAnswer, S3Wire, WireCall } from '../wire.ts';
import { deletesOf, metaOf, pageOf, readDocument, readObjectHeaders } from './answers.ts';
import { verifyChecksum } from './checksum.ts';
import { exchange } from './exchange.ts';
import {
  deleteAllRequest,
  deleteRequest,
  getRequest,
  headRequest,
  type LeanRequest,
  listRequest,
  putRequest,
} from './requests.ts';
import { loadSettings } from './settings.ts';
import { createSigner } from './signer.ts';

interface LeanWireOptions extends S3ConnectionOptions {
  readonly bucket: string;
  readonly connections: S3Connections;
}

/**
 * The wire made of the parts of the AWS SDK that a request needs: its signature, HTTP handler, credentials, retries and
 * parser of XML. What it sends is what the SDK's own client sends, byte for byte but for headers that name the client
 * and number its calls. It sends no body in parts.
 */
export function openLeanWire(options: LeanWireOptions): Omit<S3Wire, 'putInParts'> {
  const { connections, credentials } = options;
  const settings = loadSettings(options);
  const custom = options.endpoint !== undefined;
  const signer = createSigner({ settings, connections, credentials, custom });
  const context = { signer, connections, watch: watchOf(options) };
  const checksums = options.checksums !== 'when_required';
  const verify = checksums ? verifyChecksum : async (): Promise<void> => {};

  async function retrying<T>(
    request: LeanRequest,
    call: WireCall,
    read: (answer: HttpAnswer) => Promise<T>,
  ): Promise<T> {
    return exchange(context, { request, call, strategy: await settings.retrying(), read });
  }
  async function once<T>(
    request: LeanRequest,
    call: WireCall,
    read: (answer: HttpAnswer) => Promise<T>,
  ): Promise<T> {
    return exchange(context, { request, call, strategy: await settings.once(), read });
  }

  return {
    async get(key, call) {
      const request = getRequest(key, { ifNoneMatch: call.ifNoneMatch, checksums });
      const { meta, answer } = await retrying(request, call, async (answered) => ({
        meta: await readObjectHeaders(answered, verify),
        answer: answered,
      }));
      const { maxBytes, signal } = call;
      const body = await readBody(answer.body, { declared: meta.size, maxBytes, signal });
      await verify(body, answer.headers);
      return { ...meta, size: body.length, body };
    },
    head: (key, call) =>
      retrying(headRequest(key), call, (answer) => readDocument(answer, ({ headers }) => metaOf(headers))),
    put: (key, body, call) =>
      retrying(putRequest(key, body, { mode: call.mode, checksums }), call, (answer) =>
        readDocument(answer, ({ headers }) => headers['etag']),
      ),
    remove: (target, call) =>
      once(deleteRequest(target), call, (answer) => readDocument(answer, () => undefined)),
    removeAll: (targets, call) =>
      once(deleteAllRequest(targets), call, (answer) => readDocument(answer, ({ text }) => deletesOf(text))),
    list: (page, call) =>
      retrying(listRequest(page), call, (answer) => readDocument(answer, ({ text }) => pageOf(text))),
  };
}
