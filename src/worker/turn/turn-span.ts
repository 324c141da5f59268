import type { CommandReport } from '../../agent/turn-tool.ts';
import type { Delivery } from './delivery.ts';

/**
 * The span of one delivery; it is idle unless the process has `@opentelemetry/api` and a tracer. Names and texts never
 * enter it.
 */
export interface TurnSpan {
  /** Adds a child span for a memory command that has just ended. */
  command(report: CommandReport): void;
}

const SCOPE = 'sealed-memory';

/** Runs `work` with a span that is active while it runs. */
export async function inTurnSpan(
  tenant: string,
  work: (span: TurnSpan) => Promise<Delivery>,
): Promise<Delivery> {
  const telemetry = await import('@opentelemetry/api').catch(() => undefined);
  if (telemetry === undefined) return work({ command: () => {} });
  const { context, SpanStatusCode, trace } = telemetry;
  const tracer = trace.getTracer(SCOPE);
  return tracer.startActiveSpan('sealed_memory.turn', { attributes: { tenant } }, async (span) => {
    const turn: TurnSpan = {
      command({ command, durationMs, code }) {
        const endTime = Date.now();
        const child = tracer.startSpan(
          'sealed_memory.command',
          {
            startTime: endTime - durationMs,
            attributes: { tenant, command: command ?? 'invalid', code: code ?? 'ok' },
          },
          // Without a context manager no span is active.
          trace.setSpan(context.active(), span),
        );
        child.end(endTime);
      },
    };
    try {
      const delivery = await work(turn);
      span.setAttributes({ state: delivery.state, code: codeOf(delivery) });
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
