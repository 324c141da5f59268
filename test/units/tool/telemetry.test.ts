import { context, metrics, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  type HistogramMetricData,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { createTelemetry } from '../../../src/tool/telemetry.ts';

const rootKey = Buffer.alloc(32, 7).toString('base64');
const CANARY = 'canary-7f3a';
const path = `/memories/${CANARY}.md`;

describe('telemetry of a memory', () => {
  const spans = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });
  beforeAll(() => {
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
    );
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterAll(async () => {
    trace.disable();
    context.disable();
    metrics.disable();
    await reader.shutdown();
  });
  beforeEach(async () => {
    await reader.forceFlush();
    spans.reset();
    measured.reset();
  });

  async function within(work: (memory: Memory, options: MemoryOptions) => Promise<unknown>): Promise<void> {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const options = { store, tenant: 'acme', rootKey, onEvent: createTelemetry() };
    await using memory = await openMemory(options);
    await work(memory, options);
  }

  /** All points of a histogram since the test began, with the bounds of its buckets. */
  async function pointsOf(name: string) {
    await reader.forceFlush();
    const found = measured
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics: each }) => each)
      .filter(({ descriptor }) => descriptor.name === name) as HistogramMetricData[];
    return found.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => ({ unit: descriptor.unit, attributes, ...value })),
    );
  }

  it('names each operation as the conventions of GenAI do, and other calls by their own names', async () => {
    await within(async (memory, options) => {
      const { files } = memory;
      for (const input of [
        { command: 'create', path, file_text: 'one' },
        { command: 'view', path },
        { command: 'str_replace', path, old_str: 'one', new_str: 'two' },
        { command: 'insert', path, insert_line: 0, insert_text: 'zero' },
        { command: 'rename', old_path: path, new_path: `${path}2` },
        { command: 'delete', path: `${path}2` },
        { command: CANARY },
      ])
        await memory.execute(input);
      await files.write(path, 'x');
      await files.append(path, 'y');
      await files.read(path);
      await files.stat(path);
      await files.exists(path);
      for await (const _ of files.list('/memories'));
      await files.copy(path, `${path}3`);
      await files.rename(`${path}3`, `${path}4`);
      await files.remove(path);
      await using admin = await openAdmin(options);
      await admin.keyStatus();
      await admin.shred({ ttlMs: 0 });
    });
    expect(
      spans
        .getFinishedSpans()
        .map(({ name, attributes }) => `${attributes['sealed_memory.command']}: ${name}`)
        .join('\n'),
    ).toBe(`create: create_memory
view: search_memory
str_replace: update_memory
insert: update_memory
rename: update_memory
delete: delete_memory
invalid: invalid
files.write: upsert_memory
files.append: upsert_memory
files.read: search_memory
files.stat: search_memory
files.exists: search_memory
files.list: search_memory
files.copy: create_memory
files.rename: update_memory
files.remove: delete_memory
admin.keyStatus: admin.keyStatus
admin.shred: delete_memory_store`);
  });

  it('tells an operation with its cost, as a child of the span that was active at the call', async () => {
    const tracer = trace.getTracer('test');
    const before = Date.now();
    await within((memory) =>
      tracer.startActiveSpan('caller', async (span) => {
        await memory.execute({ command: 'create', path, file_text: 'four' });
        span.end();
      }),
    );
    const all = spans.getFinishedSpans();
    const caller = all.find(({ name }) => name === 'caller');
    const created = all.find(({ name }) => name === 'create_memory');
    expect(created?.attributes).toEqual({
      'gen_ai.operation.name': 'create_memory',
      'gen_ai.memory.store.id': 'acme',
      'sealed_memory.command': 'create',
      'sealed_memory.bytes_read': 0,
      'sealed_memory.bytes_written': 4,
      'sealed_memory.requests': expect.any(Number),
    });
    expect(created?.attributes['sealed_memory.requests']).toBeGreaterThan(0);
    expect(created?.kind).toBe(SpanKind.CLIENT);
    expect(created?.parentSpanContext?.spanId).toBe(caller?.spanContext().spanId);
    const [seconds = 0] = created?.startTime ?? [];
    expect(seconds).toBeGreaterThanOrEqual(Math.floor(before / 1_000));
    expect(created?.duration).not.toEqual([0, 0]);
  });

  it('makes a span an error where the operator has to act, and not where the model has', async () => {
    const telemetry = createTelemetry();
    const event = {
      tenant: 'acme',
      command: 'view',
      time: new Date(),
      durationMs: 1,
      bytesRead: 0,
      bytesWritten: 0,
      requests: {},
    } as const;
    for (const outcome of ['not_found', 'integrity', 'ok'] as const) telemetry({ ...event, outcome });
    expect(
      spans.getFinishedSpans().map(({ attributes, status }) => [attributes['error.type'], status.code]),
    ).toEqual([
      ['not_found', SpanStatusCode.UNSET],
      ['integrity', SpanStatusCode.ERROR],
      [undefined, SpanStatusCode.UNSET],
    ]);
  });

  it('is no error of the operator’s where a key failed that the tenant holds, and says so', () => {
    const telemetry = createTelemetry();
    const event = {
      tenant: 'acme',
      command: 'view',
      time: new Date(),
      durationMs: 1,
      bytesRead: 0,
      bytesWritten: 0,
      requests: {},
      outcome: 'key_unavailable',
    } as const;
    telemetry({ ...event, keyHolder: 'tenant' });
    telemetry(event);
    expect(
      spans
        .getFinishedSpans()
        .map(({ attributes, status }) => [attributes['sealed_memory.key_holder'], status.code]),
    ).toEqual([
      ['tenant', SpanStatusCode.UNSET],
      [undefined, SpanStatusCode.ERROR],
    ]);
  });

  it('counts duration, bytes and requests in histograms, which name no tenant', async () => {
    const telemetry = createTelemetry();
    telemetry({
      tenant: 'acme',
      command: 'create',
      time: new Date(),
      durationMs: 1_500,
      bytesRead: 300,
      bytesWritten: 70_000,
      requests: { get: 2, put: 1 },
      outcome: 'unavailable',
    });
    const attributes = {
      'gen_ai.operation.name': 'create_memory',
      'sealed_memory.command': 'create',
      'error.type': 'unavailable',
    };
    for (const [name, unit, sum] of [
      ['gen_ai.client.operation.duration', 's', 1.5],
      ['sealed_memory.operation.bytes_read', 'By', 300],
      ['sealed_memory.operation.bytes_written', 'By', 70_000],
      ['sealed_memory.operation.requests', '{request}', 3],
    ] as const) {
      const [point, ...others] = await pointsOf(name);
      expect(others).toEqual([]);
      expect(point).toMatchObject({ unit, attributes, sum, count: 1 });
      expect(Object.keys(point?.attributes ?? {}).sort()).toEqual(Object.keys(attributes).sort());
      // One value lies in the first bucket whose bound it does not exceed, and that bucket is not an end.
      const { boundaries = [], counts = [] } = point?.buckets ?? {};
      const bucket = counts.indexOf(1);
      expect(boundaries[bucket - 1]).toBeLessThan(sum);
      expect(boundaries[bucket]).toBeGreaterThanOrEqual(sum);
    }
  });

  it('names no path and no text, whatever the caller shows to its own events', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    await using memory = await openMemory({
      store,
      tenant: 'acme',
      rootKey,
      eventPaths: true,
      onEvent: createTelemetry(),
    });
    await memory.execute({ command: 'create', path, file_text: CANARY }, { actor: CANARY });
    await memory.close();
    await reader.forceFlush();
    const told = spans
      .getFinishedSpans()
      .map(({ name, attributes, events, status }) => JSON.stringify({ name, attributes, events, status }));
    const text = `${told.join('\n')}${JSON.stringify(measured.getMetrics())}`;
    expect(text).toContain('create_memory');
    expect(text).not.toContain(CANARY);
  });
});
