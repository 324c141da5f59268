import { once } from 'node:events';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { misconfigured } from '../../errors.ts';
import { fileCodeOf } from '../../store/failures.ts';

/** The address to which programs of this machine alone can connect. */
export const LOOPBACK = '127.0.0.1';

/**
 * Lets a server listen on loopback; returns its port.
 *
 * @throws MemoryError `misconfigured` when the port cannot be had, which names the `option` that chooses it.
 */
export async function listenOnLoopback(
  server: Server,
  { port, option }: { /** 0: any that is free. */ readonly port: number; readonly option: string },
): Promise<number> {
  try {
    server.listen({ host: LOOPBACK, port });
    await once(server, 'listening');
  } catch (error) {
    const code = fileCodeOf(error) ?? 'unknown error';
    throw misconfigured(`Port ${port} of ${LOOPBACK} cannot be had (${code}): give ${option} another one.`);
  }
  return (server.address() as AddressInfo).port;
}

/**
 * Returns why a request comes from a page of another site; undefined for any other request. A page whose name was made
 * to lead to this machine (DNS rebinding) tells itself by Host and Origin.
 */
export function foreignSiteOf({ host = '', origin }: IncomingHttpHeaders, port: number): string | undefined {
  const given = host.toLowerCase();
  if (given !== `${LOOPBACK}:${port}` && given !== `localhost:${port}`) {
    return 'The Host header does not name this server.';
  }
  if (origin !== undefined && origin !== `http://${given}`) return 'Pages of that Origin are not served.';
  return undefined;
}
