import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type {
  $Command,
  S3ClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes,
} from '@aws-sdk/client-s3';

/**
 * Lets `refusal` judge every attempt of a command at the last moment there is: behind credentials, signing, the SDK's
 * pauses and the queue for a connection, once that connection stands, and before the first byte of the request. An
 * error that it gives ends the attempt unsent, and the command with it.
 */
export function holdUntilConnected<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
  command: $Command<I, O, S3ClientResolvedConfig>,
  refusal: () => Error | undefined,
): void {
  command.middlewareStack.add(
    (next) => async (args) => {
      const early = refusal();
      if (early !== undefined) throw early;
      const request = args.request as { readonly body?: unknown };
      return next({ ...args, request: { ...request, body: heldBack(request.body, refusal) } });
    },
    { step: 'deserialize', priority: 'low', name: 'holdUntilConnected' },
  );
}

/**
 * The body as the SDK's HTTP handler takes it. It pipes a stream into the request at once, where all would wait in the
 * queue for a connection; this one writes nothing, headers included, before the connection is there.
 */
function heldBack(body: unknown, refusal: () => Error | undefined): Readable {
  const carrier = new Readable({ read: () => {} });
  const pipe = (request: ClientRequest): ClientRequest => {
    whenConnected(request, () => {
      const late = refusal();
      if (late !== undefined) request.destroy(late);
      else request.end(bytesOf(body));
    });
    return request;
  };
  return Object.assign(carrier, { pipe });
}

function whenConnected(request: ClientRequest, act: () => void): void {
  request.once('socket', (socket: Socket) => {
    if (!socket.connecting) act();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', act);
  });
}

function bytesOf(body: unknown): Uint8Array | string {
  return typeof body === 'string' || body instanceof Uint8Array ? body : '';
}
