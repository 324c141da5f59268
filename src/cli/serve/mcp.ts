import { type Command, Option } from 'commander';
import { loadPeer, misconfigured } from '../../errors.ts';
import { openMemoryUntil } from '../../open/open-memory.ts';
import { type ChosenVerb, createOperatorLogger, failureLine, type Invocation } from '../run/invocation.ts';
import { readMemoryOptions } from '../run/settings.ts';
import { PORT, wholeNumber } from '../run/typed.ts';

/** The port at which MCP hosts find the memory, unless another is given. */
const MCP_PORT = 7391;

/** Declares `mcp`. */
export function declareMcp(program: Command, run: ChosenVerb<typeof runMcp>): void {
  program
    .command('mcp')
    .description('serve the memory to an MCP host over standard input and output; docs/mcp.md is the guide')
    .addOption(
      new Option('--http [port]', 'over HTTP on 127.0.0.1 instead, for any number of hosts; 0: any free port')
        .preset(String(MCP_PORT))
        .argParser(wholeNumber(PORT)),
    )
    .option('--token-file <file>', 'the bearer token of --http; without it one is made and printed')
    .option('--six-tools', 'a tool for each command instead of one for all')
    .action((options: McpArguments) => run(options));
}

interface McpArguments {
  /** The port of HTTP on loopback; without it standard input and output are served. */
  readonly http?: number;
  /** A file that holds the bearer token of HTTP. */
  readonly tokenFile?: string;
  readonly sixTools?: boolean;
}

/** Serves the memory to MCP clients: to one until standard input ends, or with `http` to any until a signal. */
export async function runMcp(
  { http, tokenFile, sixTools }: McpArguments,
  invocation: Invocation,
): Promise<number> {
  const { terminal, flags, signal } = invocation;
  if (tokenFile !== undefined && http === undefined) {
    throw misconfigured('--token-file goes with --http: standard input and output need no token.');
  }
  // Standard output belongs to the protocol, so each failure that is the operator's to mend is logged.
  const logger = createOperatorLogger(terminal, { verbose: flags.verbose, errors: true });
  const options = readMemoryOptions({ ...invocation, logger });
  const { createMemoryServer, serveHttp, serveLines } = await loadPeer(() => import('./mcp-serving.ts'), {
    name: '@modelcontextprotocol/server',
    of: '"sealed-memory mcp"',
  });
  await using memory = await openMemoryUntil(options, signal);
  const serving = {
    factory: () =>
      createMemoryServer(memory, {
        tools: sixTools === true ? 'six' : 'one',
        onFailure: (error) => terminal.complain(failureLine(error)),
      }),
    onRefused: (reason: string) => logger.debug('a message of a client was refused', { reason }),
  };
  if (http === undefined) {
    await serveLines({ ...serving, input: terminal.stdin, write: (line) => terminal.out(line) });
  } else {
    await serveHttp({ ...serving, port: http, tokenFile, signal, onListening: tellAddress(invocation) });
  }
  return 0;
}

function tellAddress({
  report,
}: Invocation): (address: { readonly url: string; readonly token?: string }) => Promise<void> {
  return async ({ url, token }) => {
    const lines = [
      `MCP is served at ${url}`,
      ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ];
    await report.entry({ url, ...(token !== undefined && { token }) }, lines.join('\n'));
  };
}
