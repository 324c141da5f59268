import type { ObjectStore } from '../../port.ts';
import { watchOf } from '../attempts.ts';
import { readBody } from '../body.ts';
import type { OpenS3Options } from '../connection.ts';
import { judgedStore } from '../judged-store.ts';
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

/** An ordinary bucket, one request for each body, through the lean wire. */
export function openLeanStore(options: OpenS3Options): ObjectStore {
  return judgedStore(openLeanWire(options), options);
}

/**
 * The wire made of the parts of the AWS SDK that a request needs: its signature, HTTP handler, credentials, retries and
 * parser of XML. What it sends is what the SDK's own client sends, byte for byte but for headers that name the client
 * and number its calls.
 */
export function openLeanWire(options: OpenS3Options): S3Wire {
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
