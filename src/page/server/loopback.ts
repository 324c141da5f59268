import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { misconfigured } from '../../errors.ts';
import { nameFileCode } from '../../store/failures.ts';
import { type BoundedServer, createBoundedServer, type ServerBounds } from './bounded-server.ts';

/** The address to which programs of this machine alone can connect. */
const LOOPBACK = '127.0.0.1';

/** A bounded server to which programs of this machine alone can connect. */
export interface LocalServer extends BoundedServer {
  readonly port: number;
  /** The beginning of its URLs, without a slash at its end. */
  readonly origin: string;
  /**
   * Returns why a request comes from a page of another site; undefined for any other request. A page whose name was made
   * to lead to this machine (DNS rebinding) tells itself by Host and Origin.
   */
  foreignSiteOf(headers: IncomingHttpHeaders): string | undefined;
  /** Ends the serving, and cuts what is still running. */
  close(): void;
}

/**
 * Makes a server that listens on loopback.
 *
 * @throws MemoryError `misconfigured` when the port cannot be had, which names the `option` that chooses it.
 */
export async function listenOnLoopback(
  bounds: ServerBounds,
  { port: wanted, option }: { /** 0: any that is free. */ readonly port: number; readonly option: string },
): Promise<LocalServer> {
  const bounded = createBoundedServer(bounds);
  const { server } = bounded;
  try {
    server.listen({ host: LOOPBACK, port: wanted });
    await once(server, 'listening');
  } catch (error) {
    const code = nameFileCode(error);
    throw misconfigured(`Port ${wanted} of ${LOOPBACK} cannot be had (${code}): give ${option} another one.`);
  }
  const { port } = server.address() as AddressInfo;
  return {
    ...bounded,
    port,
    origin: `http://${LOOPBACK}:${port}`,
    foreignSiteOf: (headers) => foreignSiteOf(headers, port),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Judges a request to a server on a port of loopback, as `LocalServer` does. */
export function foreignSiteOf({ host = '', origin }: IncomingHttpHeaders, port: number): string | undefined {
  const given = host.toLowerCase();
  if (given !== `${LOOPBACK}:${port}` && given !== `localhost:${port}`) {
    return 'The Host header does not name this server.';
  }
  if (origin !== undefined && origin !== `http://${given}`) return 'Pages of that Origin are not served.';
  return undefined;
}
