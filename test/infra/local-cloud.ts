import { setTimeout as sleep } from 'node:timers/promises';
import { takeNotes } from '../../infra/local/claude/note-taker.ts';
import { startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { type Cloud, startCloud } from '../../infra/local/cloud.ts';
import { startLocalFunctions } from '../../infra/local/lambda/local-function.ts';
import type { Pieces } from '../../infra/local/pieces.ts';
import { type RawObject, readBucket, readReceipts } from '../../infra/local/terminal/store-report.ts';
import type { ScriptedScene } from '../../src/testing/claude/scripted-claude.ts';
import { type ProxiedRequest, type S3Proxy, startS3Proxy } from '../stage/s3-proxy.ts';

export interface TestCloudOptions {
  readonly timeoutSeconds: number;
  readonly visibilitySeconds: number;
  readonly maxConcurrency?: number;
}

interface Reply {
  readonly tenant: string;
  readonly turn: string;
  readonly outcome: string;
  readonly text: string;
}

/** The cloud on one machine with the note taker as Claude, and a proxy before each server of the worker. */
export interface TestCloud extends AsyncDisposable {
  readonly cloud: Cloud;
  /** The scenes that Claude was shown, request by request. */
  readonly scenes: readonly ScriptedScene[];
  readonly lines: readonly string[];
  /** Counts the processes of the worker that were started. */
  processesStarted(): number;
  readonly s3: S3Proxy;
  readonly sqs: S3Proxy;
  /** Kills every process of the worker, once, when it sends such a request, which does not reach the server. */
  killAt(proxy: S3Proxy, wanted: (request: ProxiedRequest) => boolean): { readonly happened: () => boolean };
  /** All replies so far, when there are at least so many. @throws Error when they do not come. */
  replies(atLeast: number, withinMs?: number): Promise<readonly Reply[]>;
  receipts(tenant: string): ReturnType<typeof readReceipts>;
  objects(): Promise<readonly RawObject[]>;
}

export async function startTestCloud(pieces: Pieces, options: TestCloudOptions): Promise<TestCloud> {
  const stack = new AsyncDisposableStack();
  const scenes: ScriptedScene[] = [];
  const lines: string[] = [];
  const taken: Reply[] = [];
  const claude = stack.use(
    await startScriptedClaude({
      play(scene) {
        scenes.push(scene);
        return takeNotes(scene);
      },
    }),
  );
  const s3 = stack.use(await startS3Proxy(pieces.minio.endpoint));
  const sqs = stack.use(await startS3Proxy(pieces.moto));
  const common = { ...pieces, ...options, maxConcurrency: options.maxConcurrency ?? 2 };
  let functions: ReturnType<typeof startLocalFunctions> | undefined;
  const cloud = stack.use(
    await startCloud({
      ...common,
      claude: { url: claude.url, apiKey: 'scripted' },
      through: { s3: s3.endpoint, sqs: sqs.endpoint },
      startFunctions(env) {
        const { region } = pieces.minio;
        functions = startLocalFunctions({ ...common, env, region, onLine: (line) => lines.push(line) });
        return functions;
      },
      onError(error) {
        throw error;
      },
    }),
  );
  const place = { cloud, minio: pieces.minio, moto: pieces.moto };
  return {
    cloud,
    scenes,
    lines,
    s3,
    sqs,
    processesStarted: () => functions?.worker.processesStarted ?? 0,
    killAt(proxy, wanted) {
      let happened = false;
      proxy.react((request) => {
        if (happened || !wanted(request)) return 'forward';
        happened = true;
        void functions?.worker.kill();
        return 'hang';
      });
      return { happened: () => happened };
    },
    async replies(atLeast, withinMs = 120_000) {
      for (const end = Date.now() + withinMs; ; ) {
        const bodies = await cloud.take(cloud.resources.replies);
        taken.push(...bodies.map((body) => JSON.parse(body) as Reply));
        if (taken.length >= atLeast) return taken;
        if (Date.now() > end) throw new Error(`${taken.length} of ${atLeast} replies came`);
        await sleep(500);
      }
    },
    receipts: (tenant) => readReceipts(place, tenant),
    objects: () => readBucket(place),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
