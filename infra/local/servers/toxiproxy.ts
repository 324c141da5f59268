import { startGuarded } from '../programs/guarded-process.ts';

/** One way of spoiling a connection, as Toxiproxy names it and its attributes. */
export interface Toxic {
  readonly type: 'latency' | 'bandwidth' | 'slow_close' | 'timeout' | 'reset_peer' | 'limit_data';
  /** `upstream`: towards the server. */
  readonly stream: 'upstream' | 'downstream';
  /** The share of connections it meets; all unless given. */
  readonly toxicity?: number;
  readonly attributes: Readonly<Record<string, number>>;
}

/** A way to a server that can be spoilt. */
export interface SpoilableWay {
  readonly endpoint: string;
  /** Spoils the connections that exist and those to come. */
  spoil(...toxics: readonly Toxic[]): Promise<void>;
  heal(): Promise<void>;
}

export interface Toxiproxy {
  wayTo(endpoint: string): Promise<SpoilableWay>;
  stop(): Promise<void>;
}

/** Starts the proxy from its program, on loopback addresses of its own choice. */
export async function startToxiproxy(program: string): Promise<Toxiproxy> {
  const { url, stop } = await startGuarded({
    program,
    arguments: ({ address }) => {
      const [host = '', port = ''] = address.split(':');
      return ['-host', host, '-port', port];
    },
    env: { LOG_LEVEL: 'error' },
    healthPath: '/version',
  });
  let ways = 0;
  return {
    async wayTo(endpoint) {
      const name = `way-${++ways}`;
      const upstream = new URL(endpoint).host;
      const { listen } = await ask(url, 'POST', '/proxies', { name, upstream, listen: '127.0.0.1:0' });
      let spoilt: string[] = [];
      return {
        endpoint: `http://${String(listen)}`,
        async spoil(...toxics) {
          for (const toxic of toxics) {
            const added = await ask(url, 'POST', `/proxies/${name}/toxics`, toxic);
            spoilt.push(String(added['name']));
          }
        },
        async heal() {
          const toxics = spoilt;
          spoilt = [];
          for (const toxic of toxics) await ask(url, 'DELETE', `/proxies/${name}/toxics/${toxic}`);
        },
      };
    },
    stop,
  };
}

async function ask(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Toxiproxy answered ${response.status}: ${text}`);
  return text === '' ? {} : JSON.parse(text);
}
