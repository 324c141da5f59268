import {
  type Attributes,
  context,
  type Histogram,
  metrics,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { isForTheOperator } from '../errors.ts';
import type { EventHandler, MemoryEvent } from './watch.ts';

const SCOPE = 'sealed-memory';
/** The bounds that the conventions advise for the duration of an operation (seconds). */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const BYTES = [0, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];
const REQUESTS = [0, 1, 2, 3, 5, 10, 20, 50, 100, 1_000];

/** The name of the operation for each call, where the conventions of GenAI have one that fits. */
const OPERATIONS: Readonly<Partial<Record<MemoryEvent['command'], string>>> = {
  view: 'search_memory',
  create: 'create_memory',
  str_replace: 'update_memory',
  insert: 'update_memory',
  rename: 'update_memory',
  delete: 'delete_memory',
  'files.read': 'search_memory',
  'files.list': 'search_memory',
  'files.stat': 'search_memory',
  'files.exists': 'search_memory',
  'files.write': 'upsert_memory',
  'files.append': 'upsert_memory',
  'files.copy': 'create_memory',
  'files.rename': 'update_memory',
  'files.remove': 'delete_memory',
  'admin.shred': 'delete_memory_store',
};

/**
 * Makes a handler for `onEvent` that tells OpenTelemetry about each operation of a memory: a span, and histograms of its
 * duration, its bytes and its requests to the store. The names are those of the semantic conventions for generative AI
 * (gen-ai-spans, "Memory", in development), and `sealed_memory.*` where these have none. A span is a child of the one
 * that was active where the call was made, and an error where the operator has to act. Neither holds a path or a text;
 * a span names the tenant, a histogram does not. Make it once in a process, and register the providers before the first
 * event: without them it tells nothing.
 */
export function createTelemetry(): EventHandler {
  const tracer = trace.getTracer(SCOPE);
  let instruments: Instruments | undefined;
  return (event) => {
    // A meter that is made before its provider is registered stays idle.
    instruments ??= createInstruments();
    const { tenant, command, outcome, keyHolder, time, durationMs, bytesRead, bytesWritten } = event;
    const operation = OPERATIONS[command] ?? command;
    const shared: Attributes = {
      'gen_ai.operation.name': operation,
      'sealed_memory.command': command,
      ...(outcome !== 'ok' && { 'error.type': outcome }),
      ...(keyHolder && { 'sealed_memory.key_holder': keyHolder }),
    };
    const requests = Object.values(event.requests).reduce((sum, count) => sum + count, 0);
    const startTime = time.getTime();
    const caller = context.active();
    const attributes: Attributes = {
      ...shared,
      'gen_ai.memory.store.id': tenant,
      'sealed_memory.bytes_read': bytesRead,
      'sealed_memory.bytes_written': bytesWritten,
      'sealed_memory.requests': requests,
    };
    const span = tracer.startSpan(operation, { kind: SpanKind.CLIENT, startTime, attributes }, caller);
    if (outcome !== 'ok' && keyHolder === undefined && isForTheOperator({ code: outcome }))
      span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(startTime + durationMs);
    // Exemplars name the span in this context.
    const around = trace.setSpan(caller, span);
    instruments.duration.record(durationMs / 1_000, shared, around);
    instruments.bytesRead.record(bytesRead, shared, around);
    instruments.bytesWritten.record(bytesWritten, shared, around);
    instruments.requests.record(requests, shared, around);
  };
}

type Instruments = Readonly<Record<'duration' | 'bytesRead' | 'bytesWritten' | 'requests', Histogram>>;

function createInstruments(): Instruments {
  const meter = metrics.getMeter(SCOPE);
  const histogram = (name: string, unit: string, bounds: readonly number[]): Histogram =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: [...bounds] } });
  return {
    duration: histogram('gen_ai.client.operation.duration', 's', SECONDS),
    bytesRead: histogram('sealed_memory.operation.bytes_read', 'By', BYTES),
    bytesWritten: histogram('sealed_memory.operation.bytes_written', 'By', BYTES),
    requests: histogram('sealed_memory.operation.requests', '{request}', REQUESTS),
  };
}
