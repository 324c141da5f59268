// Metrics by tenant without another service: lines of CloudWatch's embedded metric format (EMF) in the worker's log.
import type { WorkerOptions } from 'sealed-memory/worker';

type Metrics = Readonly<Record<string, readonly [value: number, unit: 'Count' | 'Milliseconds']>>;

export interface TurnMetricsOptions {
  /** The deployment, as the dimension that all metrics have. */
  readonly service: string;
  /** Tells which tenants have metrics of their own: each costs as much as the whole service does. */
  readonly isWatched: (tenant: string) => boolean;
  /** Writes one line into the log. */
  readonly write: (line: string) => void;
}

/** Makes one EMF document: the metrics of the service, and of the tenant where it is watched. */
function emfOf(
  metrics: Metrics,
  { service, tenant, isWatched }: Pick<TurnMetricsOptions, 'service' | 'isWatched'> & { tenant: string },
): object {
  const entries = Object.entries(metrics);
  return {
    _aws: {
      Timestamp: Date.now(),
      CloudWatchMetrics: [
        {
          Namespace: 'SealedMemory',
          Dimensions: [['Service'], ...(isWatched(tenant) ? [['Service', 'Tenant']] : [])],
          Metrics: entries.map(([Name, [, Unit]]) => ({ Name, Unit })),
        },
      ],
    },
    Service: service,
    Tenant: tenant,
    ...Object.fromEntries(entries.map(([name, [value]]) => [name, value])),
  };
}

/** Makes `onTurn` of `createWorker`, and `write` of its `createJsonLogger`, which writes each line and reads the tokens. */
export function createTurnMetrics(options: TurnMetricsOptions): {
  readonly onTurn: NonNullable<WorkerOptions['onTurn']>;
  readonly write: (line: string) => void;
} {
  const tell = (tenant: string, metrics: Metrics): void =>
    options.write(JSON.stringify(emfOf(metrics, { ...options, tenant })));
  return {
    onTurn({ tenant }) {
      const began = performance.now();
      let isFirst = true;
      return {
        onText() {
          if (isFirst) tell(tenant, { FirstWord: [Math.round(performance.now() - began), 'Milliseconds'] });
          isFirst = false;
        },
        onToolUse: ({ outcome }) =>
          tell(tenant, { ToolUses: [1, 'Count'], ToolErrors: [outcome === 'error' ? 1 : 0, 'Count'] }),
      };
    },
    write(line) {
      options.write(line);
      const { tenant, inputTokens, outputTokens, durationMs } = JSON.parse(line);
      // The lines that end a delivery have its tokens.
      if (typeof tenant !== 'string' || typeof inputTokens !== 'number') return;
      tell(tenant, {
        InputTokens: [inputTokens, 'Count'],
        OutputTokens: [outputTokens, 'Count'],
        Duration: [durationMs, 'Milliseconds'],
      });
    },
  };
}
