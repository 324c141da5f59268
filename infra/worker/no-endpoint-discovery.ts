// A stub in the bundle for the discovery of endpoints, which the client of DynamoDB leaves off unless it is asked for:
// a function asks the endpoint of its region.

/** Reads nothing; named, as all here, as in `@aws-sdk/middleware-endpoint-discovery`. */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: (): false => false,
  configFileSelector: (): false => false,
  default: false,
};

/** Answers the configuration as it is. */
export function resolveEndpointDiscoveryConfig<T>(config: T): T {
  return config;
}
