import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';

import { MemoryError } from '../../errors.ts';

export interface RequestWatch {
  readonly onRequest: ((request: { readonly operation: string }) => void) | undefined;
  readonly acceptsHost: (host: string) => boolean;
}

/** The parts of an HTTP answer that are looked at before the SDK reads its body. */
export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** Runs on every HTTP request of a client, closest to the wire. */
export function watchRequests(client: S3Client, watch: RequestWatch): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const host = (args.request as { readonly hostname: string }).hostname;
      if (!watch.acceptsHost(host)) {
        throw new MemoryError(
          'misconfigured',
          'An endpoint that is not AWS is set for the AWS SDK (AWS_ENDPOINT_URL or a profile): name it in the settings of this program instead.',
        );
      }
      watch.onRequest?.({ operation: operationOf(context['commandName']) });
      const result = await next(args);
      closeAfterRefusal(result.response as HttpAnswer);
      return result;
    },
    { step: 'deserialize', priority: 'low', name: 'watchRequests' },
  );
}

export function isAmazonHost(host: string): boolean {
  return /(^|\.)amazonaws\.(com|com\.cn|eu)$/.test(host);
}

/** MinIO closes the connection after a PUT that met a conflict, and after a GET that was denied. */
const CLOSING: ReadonlySet<number> = new Set([403, 409, 412]);

/**
 * MinIO does not announce that it closes a connection, and the next request on it would die. So the socket goes when
 * the body has been read, before the agent can hand it to another request.
 */
function closeAfterRefusal({ statusCode, body }: HttpAnswer): void {
  if (!CLOSING.has(statusCode)) return;
  const socket = 'socket' in body ? (body.socket as { destroy(): void } | null) : null;
  body.prependOnceListener('end', () => socket?.destroy());
}

function operationOf(commandName: unknown): string {
  return String(commandName).replace(/Command$/, '');
}
