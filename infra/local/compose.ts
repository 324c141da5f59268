import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { takeNotes } from './claude/note-taker.ts';
import { startScriptedClaude } from './claude/scripted-claude.ts';
import { startCloud } from './cloud.ts';
import { openRemoteFunction } from './lambda/remote-function.ts';
import type { Environment } from './programs/find-program.ts';
import { onInterruption, runUntil } from './terminal/interruption.ts';
import { giveTour } from './terminal/tour.ts';

// The part of the cloud in compose.yaml beside the servers and the bundle: makes the queues, the key and the bucket,
// plays the token service and Claude, feeds the functions, and gives the tour. The functions start when there is the
// file that names all this to them.

const ALL_ADDRESSES = '0.0.0.0';
const TIMEOUT_SECONDS = 60;

async function main(signal: AbortSignal): Promise<void> {
  const host = required('CLOUD_HOST');
  const [tokenPort, claudePort] = [
    Number(required('CLOUD_TOKEN_PORT')),
    Number(required('CLOUD_CLAUDE_PORT')),
  ];
  const apiKey = process.env['ANTHROPIC_API_KEY'];
  await using stack = new AsyncDisposableStack();
  let requests = 0;
  if (!apiKey) {
    const listen = { host: ALL_ADDRESSES, port: claudePort };
    stack.use(await startScriptedClaude({ ...listen, play: takeNotes, onRequest: () => requests++ }));
  }
  const minio = {
    name: 'minio',
    endpoint: required('CLOUD_S3'),
    region: 'us-east-1',
    accessKeyId: required('CLOUD_S3_USER'),
    secretAccessKey: required('CLOUD_S3_PASSWORD'),
    version: '',
    how: 'container',
  } as const;
  const moto = required('CLOUD_MOTO');
  const cloud = stack.use(
    await startCloud({
      minio,
      moto,
      timeoutSeconds: TIMEOUT_SECONDS,
      maxConcurrency: 1,
      claude: apiKey ? { apiKey } : { apiKey: 'scripted', url: `http://${host}:${claudePort}` },
      tokens: { host: ALL_ADDRESSES, port: tokenPort, url: `http://${host}:${tokenPort}` },
      async startFunctions(env) {
        await writeEnvironment(required('CLOUD_ENVIRONMENT_FILE'), env);
        const open = (name: string) =>
          openRemoteFunction({ origin: required(name), timeoutSeconds: TIMEOUT_SECONDS, signal });
        return { worker: await open('CLOUD_WORKER'), direct: await open('CLOUD_DIRECT_WORKER') };
      },
      onError: (error) => process.stderr.write(`event source: ${error}\n`),
    }),
  );
  const print = (text: string): void => void process.stdout.write(text);
  const claudeRequests = apiKey ? undefined : () => requests;
  if (!(await giveTour({ cloud, minio, moto, signal, print, claudeRequests }))) process.exitCode = 1;
  print(`\nGoing on until Ctrl-C. Turns go to ${cloud.resources.turns.url}\n`);
  if (!signal.aborted) await once(signal, 'abort');
}

/** Writes the environment as a file that a shell reads; the file appears whole or not at all. */
async function writeEnvironment(file: string, env: Environment): Promise<void> {
  const lines = Object.entries(env).map(
    ([name, value = '']) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`,
  );
  await writeFile(`${file}.new`, lines.join(''));
  await rename(`${file}.new`, file);
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; compose.yaml sets it`);
  return value;
}

await runUntil(onInterruption(), main);
