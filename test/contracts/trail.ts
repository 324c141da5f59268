import { inspect } from 'node:util';
import { trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { LogFields, Logger } from '../../src/logger.ts';

/** Whatever leaves the library beside its answers: log lines of every level, errors in every shape, spans. */
export interface Trail {
  readonly logger: Logger;
  /** Remembers an error as a careless program would print or send it, its causes included. */
  note(error: unknown): void;
  readonly lines: readonly string[];
}

export function createTrail(): Trail {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (message: string, fields?: LogFields): void => {
      lines.push(`${level} ${message} ${JSON.stringify(fields)} ${inspect(fields)}`);
    };
  return {
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    lines,
    note(error) {
      lines.push(inspect(error, { depth: null }), String(error), JSON.stringify(error) ?? '');
      for (let cause = error; cause instanceof Error; cause = cause.cause) {
        lines.push(cause.message, cause.stack ?? '', JSON.stringify({ ...cause }), JSON.stringify(cause));
      }
    },
  };
}

/** The spans of this process from now on, of whatever origin. */
export interface SpanRecord extends AsyncDisposable {
  /** Each with its name, attributes, events, links and status. */
  texts(): readonly string[];
}

export function recordSpans(): SpanRecord {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  return {
    texts: () =>
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, events, links, status, resource }) =>
          JSON.stringify({ name, attributes, events, links, status, resource: resource.attributes }),
        ),
    async [Symbol.asyncDispose]() {
      trace.disable();
      await provider.shutdown();
    },
  };
}
