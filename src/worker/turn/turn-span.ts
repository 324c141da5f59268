import type { Delivery } from './delivery.ts';

const SCOPE = 'sealed-memory';

/**
 * Runs `work` with a span of one delivery that is active while it runs, so that spans of memory operations and of
 * Claude's client are its children. It is idle unless the process has `@opentelemetry/api` and a tracer. Names and texts
 * never enter it.
 */
export async function inTurnSpan(tenant: string, work: () => Promise<Delivery>): Promise<Delivery> {
  const telemetry = await import('@opentelemetry/api').catch(() => undefined);
  if (telemetry === undefined) return work();
  const { context, SpanStatusCode, trace } = telemetry;
  const around = context.active();
  const span = trace.getTracer(SCOPE).startSpan('sealed_memory.turn', { attributes: { tenant } }, around);
  // The SDK may bring another copy of the API, whose context is not the one in which memory operations look.
  return context.with(trace.setSpan(around, span), async () => {
    try {
      const delivery = await work();
      const keyHolder = delivery.state === 'later' ? delivery.keyHolder : undefined;
      span.setAttributes({
        state: delivery.state,
        code: codeOf(delivery),
        ...(keyHolder && { key_holder: keyHolder }),
      });
      if (delivery.state === 'failed') span.setStatus({ code: SpanStatusCode.ERROR });
      return delivery;
    } finally {
      span.end();
    }
  });
}

function codeOf(delivery: Delivery): string {
  return delivery.state === 'answered' ? delivery.answer.outcome : delivery.code;
}
