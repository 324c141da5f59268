import { once } from 'node:events';
import { WORKER_DEFAULTS } from '../../src/cdk/worker-settings.ts';
import { takeNotes } from './claude/note-taker.ts';
import { startScriptedClaude } from './claude/scripted-claude.ts';
import { startCloud } from './cloud.ts';
import { startLocalFunctions } from './lambda/local-function.ts';
import { findObstacles, getMinio, getPieces } from './pieces.ts';
import { commandsFor } from './terminal/commands.ts';
import { onInterruption, runUntil } from './terminal/interruption.ts';
import { readCall } from './terminal/program-call.ts';
import { block } from './terminal/screen.ts';
import { giveTour } from './terminal/tour.ts';

const USAGE = `npm run cloud [-- --stay] [-- --log]

Starts the deployment of infra/ on this machine: MinIO for S3, moto for SQS, KMS, Secrets Manager and DynamoDB, and the
worker's bundle under AWS's own runtime client. Sends turns of three tenants and shows the conversations, the receipts
and what the bucket holds. Claude is a script; with ANTHROPIC_API_KEY set it is Claude itself.

  --stay   goes on until Ctrl-C, for turns of your own
  --log    shows what the worker logs
  --help   shows this

What is missing is installed once into a cache folder: moto with Python's venv, the runtime client with npm, cmake,
g++, make, autoconf, automake and libtool, MinIO with Docker or Go.
`;

async function main(signal: AbortSignal): Promise<void> {
  const { values } = readCall(USAGE, { options: { stay: { type: 'boolean' }, log: { type: 'boolean' } } });
  const say = (line: string): void => print(`${line}\n`);
  const obstacles = await findObstacles(process.env);
  if (obstacles.length > 0) throw new Error(obstacles.join('; '));
  const install = { mayInstall: true, say, signal };
  await using stack = new AsyncDisposableStack();
  const found = await getMinio(process.env, install);
  if ('reason' in found) throw new Error(found.reason);
  stack.defer(found.stop);
  signal.throwIfAborted();
  const pieces = await getPieces(process.env, found.minio, install);
  if ('reasons' in pieces) throw new Error(pieces.reasons.join('; '));
  stack.use(pieces);
  signal.throwIfAborted();

  const { minio, moto } = pieces;
  const apiKey = process.env['ANTHROPIC_API_KEY'];
  const scripted = apiKey ? undefined : stack.use(await startScriptedClaude({ play: takeNotes }));
  const url = scripted?.url ?? process.env['ANTHROPIC_BASE_URL'];
  const lines: string[] = [];
  const onLine = (line: string): void => {
    lines.push(line);
    if (values.log) process.stderr.write(`${line}\n`);
  };
  const { timeoutSeconds, maxConcurrency } = WORKER_DEFAULTS;
  const times = { timeoutSeconds, maxConcurrency };
  const cloud = stack.use(
    await startCloud({
      minio,
      moto,
      ...times,
      claude: { apiKey: apiKey ?? 'scripted', ...(url !== undefined && { url }) },
      startFunctions: (env) =>
        startLocalFunctions({ ...pieces, ...times, env, region: minio.region, onLine }),
      onError: (error) => onLine(`event source: ${error instanceof Error ? error.message : error}`),
    }),
  );
  const claude = scripted ? 'a script, as ANTHROPIC_API_KEY is not set' : 'Claude itself';
  print(
    block([
      { text: 'The deployment, on this machine.\n', style: 'bold' },
      { text: `Claude   ${claude}`, hang: 9 },
      { text: `S3, STS  MinIO ${minio.version} (${minio.how})`, hang: 9 },
      { text: `SQS, KMS moto at ${moto}`, hang: 9 },
      { text: 'Worker   the bundle of infra/worker, under aws-lambda-ric', hang: 9 },
    ]),
  );
  const holds = await giveTour({
    cloud,
    minio,
    moto,
    signal,
    print,
    claudeRequests: () => claudeRequests(lines),
  });
  if (!holds) process.exitCode = 1;
  if (!values.stay) return;
  print(block([{ text: '\nGoing on until Ctrl-C. In another shell of this folder:\n', style: 'bold' }]));
  print(commandsFor({ ...cloud, minio, moto }));
  if (!signal.aborted) await once(signal, 'abort');
}

/** Counts the requests to Claude by the worker's own log. */
function claudeRequests(lines: readonly string[]): number {
  return lines
    .map((line) => /"claudeRequests":(\d+)/.exec(line)?.[1])
    .reduce((sum, count) => sum + Number(count ?? 0), 0);
}

function print(text: string): void {
  process.stdout.write(text);
}

await runUntil(onInterruption(), main);
