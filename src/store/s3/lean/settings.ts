import {
  booleanSelector,
  loadConfig,
  NODE_REGION_CONFIG_FILE_OPTIONS,
  NODE_REGION_CONFIG_OPTIONS,
  NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS,
  NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS,
  resolveRegionConfig,
  SelectorType,
} from '@smithy/core/config';
import { resolveEndpointConfig } from '@smithy/core/endpoints';
import {
  AdaptiveRetryStrategy,
  NODE_RETRY_MODE_CONFIG_OPTIONS,
  RETRY_MODES,
  StandardRetryStrategy,
} from '@smithy/core/retry';
import type { RetryStrategyV2 } from '@smithy/types';
import { once } from '../../../time.ts';
import type { S3StoreOptions } from '../connection.ts';
import { type Endpoint, resolveEndpoint } from './endpoint.ts';

/**
 * The settings that the AWS SDK finds in options, environment and profile files; each is looked up at its first use.
 */
export interface LeanSettings {
  readonly region: () => Promise<string>;
  readonly endpoint: () => Promise<Endpoint>;
  readonly correctsClock: () => Promise<boolean>;
  /** Keeps the budget of retries of all calls that share it. */
  readonly retrying: () => Promise<RetryStrategyV2>;
  /** Makes one attempt, whatever becomes of it. */
  readonly once: () => Promise<RetryStrategyV2>;
}

const ATTEMPTS = 3;
const CLOCK_VARIABLE = 'AWS_DISABLE_CLOCK_SKEW_CORRECTION';
const CLOCK_SETTING = 'disable_clock_skew_correction';

export function loadSettings(options: S3StoreOptions): LeanSettings {
  const custom = options.endpoint !== undefined;
  const ambient = loadConfig(NODE_REGION_CONFIG_OPTIONS, NODE_REGION_CONFIG_FILE_OPTIONS);
  const { region, useFipsEndpoint } = resolveRegionConfig({
    region: options.region ?? (custom ? () => ambient().catch(() => 'us-east-1') : ambient),
    useFipsEndpoint: loadConfig(NODE_USE_FIPS_ENDPOINT_CONFIG_OPTIONS),
  });
  const useDualstackEndpoint = loadConfig(NODE_USE_DUALSTACK_ENDPOINT_CONFIG_OPTIONS);
  const retryMode = loadConfig(NODE_RETRY_MODE_CONFIG_OPTIONS);
  const strategy = (maxAttempts: number): (() => Promise<RetryStrategyV2>) =>
    once(async () =>
      (await retryMode()) === RETRY_MODES.ADAPTIVE
        ? new AdaptiveRetryStrategy(maxAttempts, { maxAttempts })
        : new StandardRetryStrategy(maxAttempts),
    );
  return {
    region,
    endpoint: once(async () =>
      resolveEndpoint({
        bucket: options.bucket,
        region: await region(),
        endpoint: options.endpoint ?? (await configuredEndpoint()),
        forcePathStyle: options.forcePathStyle ?? custom,
        useFips: await useFipsEndpoint(),
        useDualstack: await useDualstackEndpoint(),
      }),
    ),
    correctsClock: loadConfig({
      environmentVariableSelector: (env) => not(booleanSelector(env, CLOCK_VARIABLE, SelectorType.ENV)),
      configFileSelector: (profile) => not(booleanSelector(profile, CLOCK_SETTING, SelectorType.CONFIG)),
      default: true,
    }),
    retrying: strategy(ATTEMPTS),
    once: strategy(1),
  };
}

function not(value: boolean | undefined): boolean | undefined {
  return value === undefined ? undefined : !value;
}

/** The URL that the environment or a profile names for S3. */
async function configuredEndpoint(): Promise<string | undefined> {
  const { serviceConfiguredEndpoint } = resolveEndpointConfig({
    serviceId: 'S3',
    urlParser: undefined,
    region: undefined,
    useFipsEndpoint: undefined,
  } as never) as { readonly serviceConfiguredEndpoint?: () => Promise<string | undefined> };
  return serviceConfiguredEndpoint?.();
}
