import { pipeline, type Readable, Transform } from 'node:stream';
import {
  type $Command,
  S3Client,
  type S3ClientConfig,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import { concat } from '../../../format/encoding.ts';
import { throwIfAborted, untilAborted } from '../../../time.ts';
import { followed, type HttpAttempt, type RequestWatch, readAttempt, watched, watchOf } from '../attempts.ts';
import { credentialsInTime, type OpenS3Options } from '../connection.ts';
import type { HttpAnswer, WireCall } from '../wire.ts';

export interface S3Clients {
  /** Retries what failed in passing, three attempts in all. */
  readonly retrying: S3Client;
  /** Sends a request once, whatever becomes of it. */
  readonly once: S3Client;
}

/** Two clients over one pool of kept-alive connections and one source of credentials. */
export function createS3Clients(options: OpenS3Options): S3Clients {
  const custom = options.endpoint !== undefined;
  const requestHandler = options.connections;
  const checksums = options.checksums === 'when_required' ? 'WHEN_REQUIRED' : 'WHEN_SUPPORTED';
  const { region: ambientRegion } = new S3Client({ requestHandler }).config;
  const region = options.region ?? (custom ? () => ambientRegion().catch(() => 'us-east-1') : ambientRegion);
  // Services that exchange credentials for others are asked in the same region.
  const ambient = new S3Client({ requestHandler, region }).config;
  const config: S3ClientConfig = {
    requestHandler,
    forcePathStyle: options.forcePathStyle ?? custom,
    requestChecksumCalculation: checksums,
    responseChecksumValidation: checksums,
    // Waiting for "100 Continue" costs a connection of its own for each large body.
    expectContinueHeader: false,
    region,
    credentials:
      options.credentials ??
      (custom ? credentialsInTime(ambient.credentials) : (identity) => ambient.credentials(identity)),
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
  };
  const clients = [
    new S3Client({ ...config, maxAttempts: 3 }),
    new S3Client({ ...config, maxAttempts: 1 }),
  ] as const;
  for (const client of clients) watchRequests(client, watchOf(options));
  const [retrying, once] = clients;
  return { retrying, once };
}

/** Runs on every HTTP request of a client, closest to the wire. */
export function watchRequests(client: S3Client, watch: RequestWatch): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const { hostname } = args.request as HttpAttempt;
      const operation = String(context['commandName']).replace('Command', '');
      let result: Awaited<ReturnType<typeof next>> | undefined;
      await watched(watch, { operation, hostname }, async () => {
        result = await next(args);
        return result.response as HttpAnswer;
      });
      return result as Awaited<ReturnType<typeof next>>;
    },
    { step: 'deserialize', priority: 'low' },
  );
}

/** Finds credentials while the signal allows it; the SDK itself would wait on. It remembers what it found. */
export async function prepare(client: S3Client, signal: AbortSignal | undefined): Promise<void> {
  await untilAborted(client.config.credentials(), signal);
}

/** Sends a command; the trace of `call` follows its attempts, also across several sends. */
export async function send<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  client: S3Client,
  command: $Command<I, O, S3ClientResolvedConfig>,
  call: WireCall,
): Promise<O> {
  const { signal } = call;
  throwIfAborted(signal);
  await prepare(client, signal);
  follow(command, call);
  return client.send(command, signal === undefined ? {} : { abortSignal: signal });
}

function follow<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  command: $Command<I, O, S3ClientResolvedConfig>,
  call: WireCall,
): void {
  command.middlewareStack.add(
    (next) => async (args) => {
      let result: Awaited<ReturnType<typeof next>> | undefined;
      await followed(call, args.request as HttpAttempt, async (request) => {
        result = await next({ ...args, request });
        return result.response as HttpAnswer;
      });
      return result as Awaited<ReturnType<typeof next>>;
    },
    { step: 'deserialize', priority: 'low', name: 'followAttempts' },
  );
  // Inside the SDK's retries, and around what reads an answer.
  command.middlewareStack.add((next) => (args) => readAttempt(call, () => next(args)), {
    step: 'finalizeRequest',
    name: 'readAttempts',
  });
}

/** The bytes at the beginning of a document among which its root stands. */
const BEGINNING_BYTES = 1_024;

/**
 * Notes how the answer to a command begins, which the SDK parses and does not show. Returns a function that gives it
 * once the command is answered.
 */
export function noteBeginning<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  command: $Command<I, O, S3ClientResolvedConfig>,
): () => string {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const note = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      if (size < BEGINNING_BYTES) chunks.push(chunk.slice(0, BEGINNING_BYTES - size));
      size += chunk.length;
      done(null, chunk);
    },
  });
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as { body: Readable };
      response.body = pipeline(response.body, note, () => {});
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'noteBeginning' },
  );
  return () => new TextDecoder().decode(concat(...chunks));
}
