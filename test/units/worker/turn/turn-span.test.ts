import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startLocalWorker, wordsOf } from '../../../../infra/local/lambda/local-worker.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { TurnAnswer } from '../../../../src/worker/turn/turn-answer.ts';
import { inTurnSpan } from '../../../../src/worker/turn/turn-span.ts';

const CANARY = 'canary-7f3a';
const traceOf = (span: ReadableSpan): string => span.spanContext().traceId;

describe('the spans of a turn', () => {
  const exporter = new InMemorySpanExporter();
  beforeAll(() => {
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    trace.setGlobalTracerProvider(provider);
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterAll(() => {
    trace.disable();
    context.disable();
  });
  beforeEach(() => exporter.reset());

  const own = (): readonly ReadableSpan[] =>
    exporter.getFinishedSpans().filter(({ instrumentationScope: { name } }) => name === 'sealed-memory');

  function ancestorsOf(span: ReadableSpan): readonly ReadableSpan[] {
    const parent = exporter
      .getFinishedSpans()
      .find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId);
    return parent === undefined ? [] : [parent, ...ancestorsOf(parent)];
  }

  async function runTurns(messages: readonly unknown[]): Promise<void> {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const path = `/memories/${CANARY}.md`;
    await using site = await startLocalWorker(store, (scene) => {
      const results = scene.messages.flatMap(({ content }) =>
        content.filter(({ type }) => type === 'tool_result'),
      );
      const inputs = [
        { command: 'create', path, file_text: wordsOf(scene) },
        { command: 'view', path: `/memories/${CANARY}-missing.md` },
        { command: CANARY },
      ];
      const input = inputs[results.length];
      return input === undefined ? { say: wordsOf(scene) } : { calls: [{ name: 'memory', input }] };
    });
    await site.deliver(messages);
  }

  it('are one for the delivery, and within it one for each operation of the memory', async () => {
    await runTurns([{ tenant: 'acme', turn: `${CANARY}-1`, prompt: CANARY }]);
    const turn = own().find(({ name }) => name === 'sealed_memory.turn');
    const operations = own().filter((span) => span !== turn);
    expect(turn?.attributes).toEqual({ tenant: 'acme', state: 'answered', code: 'answered' });
    expect(operations.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['create_memory', undefined],
      ['search_memory', 'not_found'],
      ['invalid', 'invalid_command'],
    ]);
    // Claude's client may have a span of its own for the call of a tool between the two.
    for (const operation of operations) expect(ancestorsOf(operation)).toContain(turn);
  });

  it('say that a turn failed, and nothing of the kind of one that goes on or may later', async () => {
    const answer = { outcome: 'answered' } as TurnAnswer;
    for (const [delivery, code, status] of [
      [{ state: 'failed', code: 'misconfigured' }, 'misconfigured', SpanStatusCode.ERROR],
      [{ state: 'later', code: 'running', afterSeconds: 5 }, 'running', SpanStatusCode.UNSET],
      [{ state: 'answered', answer, isFresh: true }, 'answered', SpanStatusCode.UNSET],
    ] as const) {
      exporter.reset();
      expect(await inTurnSpan('acme', async () => delivery)).toBe(delivery);
      const [span] = own();
      expect(span?.attributes).toEqual({ tenant: 'acme', state: delivery.state, code });
      expect(span?.status.code).toBe(status);
    }
  });

  it('stand apart for turns that run side by side', async () => {
    const tenants = ['acme', 'bolt', 'core'];
    await runTurns(tenants.map((tenant) => ({ tenant, turn: '1', prompt: CANARY })));
    for (const tenant of tenants) {
      const spans = own().filter(({ attributes }) =>
        [attributes['tenant'], attributes['gen_ai.memory.store.id']].includes(tenant),
      );
      expect(spans).toHaveLength(4);
      expect(new Set(spans.map(traceOf)).size).toBe(1);
    }
    expect(new Set(own().map(traceOf)).size).toBe(3);
  });

  it('hold no path, no text and no turn, those of the client either', async () => {
    await runTurns([{ tenant: 'acme', turn: `${CANARY}-1`, prompt: CANARY }]);
    const told = exporter
      .getFinishedSpans()
      .map(({ name, attributes, events, links, status }) =>
        JSON.stringify({ name, attributes, events, links, status }),
      )
      .join('\n');
    expect(told).toContain('sealed_memory.turn');
    expect(told).not.toMatch(new RegExp(`${CANARY}|/memories`));
  });
});
